/* completion_bash.c - for bash: functions generated from the tables, and one
 * that reads the command line. */
#include "completion.h"
#include "option.h"

#include <string.h>

static const char reader[] =
    "# _larder_offer CURRENT WORDS: the candidates that match; `:files` among\n"
    "# them stands for file names.\n"
    "_larder_offer() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"${2/:files/}\" -- \"$1\")\n"
    "    if [[ $2 == *:files* ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "
    "\"$1\")\n"
    "    fi\n"
    "}\n"
    "\n"
    "_larder() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]}\n"
    "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} words\n"
    "\n"
    "    # bash splits words at an equals sign.\n"
    "    if [[ $current == '=' ]]; then\n"
    "        current=\n"
    "    elif [[ $before == '=' ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        command=\n"
    "    elif ((COMP_CWORD > 2)) &&\n"
    "        [[ -n $(_larder_options \"$command ${COMP_WORDS[2]}\") ]]; then\n"
    "        command=\"$command ${COMP_WORDS[2]}\"\n"
    "    fi\n"
    "    if words=$(_larder_value \"$command\" \"$before\"); then\n"
    "        _larder_offer \"$current\" \"$words\"\n"
    "        return\n"
    "    fi\n"
    "    words=$(_larder_operands \"$command\")\n"
    "    if [[ $current == -* || -z $words ]]; then\n"
    "        words=$(_larder_options \"$command\")\n"
    "    fi\n"
    "    _larder_offer \"$current\" \"$words\"\n"
    "}\n"
    "\n"
    "complete -F _larder larder\n";

static void put_options(FILE *out, const struct cli_command *command)
{
    fprintf(out, "    '%s') echo '", command->name);
    for (const struct cli_option *o = command->options;
         o != NULL && o->name != NULL; o++)
        fprintf(out, "%s%s ", cli_dashes(o), o->name);
    fputs("--help' ;;\n", out);
}

static void put_operands(FILE *out, const struct cli_command *command)
{
    fprintf(out, "    '%s') echo '", command->name);
    completion_put_operands(out, command);
    fprintf(out, "%s' ;;\n", completion_takes_files(command) ? ":files" : "");
}

static void put_values(FILE *out, const struct cli_command *command)
{
    for (const struct cli_option *o = command->options;
         o != NULL && o->name != NULL; o++) {
        if (!cli_takes_word(o))
            continue;
        fprintf(out, "    '%s %s%s') echo '", command->name, cli_dashes(o),
                o->name);
        if (completion_value_of(o) == COMPLETION_WORDS)
            completion_put_words(out, o);
        else if (completion_value_of(o) == COMPLETION_FILE)
            fputs(":files", out);
        fputs("' ;;\n", out);
    }
}

static void put_names(FILE *out, const struct cli_command *const *commands)
{
    fputs("    '') echo '", out);
    for (; *commands != NULL; commands++) {
        if (!(*commands)->is_hidden)
            fprintf(out, "%s ", (*commands)->name);
    }
    fputs("' ;;\n", out);
}

void completion_bash(FILE *out, const struct cli_command *const *commands)
{
    fputs("# Completion of larder for bash, made by `larder completion "
          "bash`.\n\n"
          "# _larder_options COMMAND: its options.\n"
          "_larder_options() {\n    case $1 in\n"
          "    '') echo '--help --version' ;;\n",
          out);
    completion_each(out, commands, put_options);
    fputs("    esac\n}\n\n"
          "# _larder_operands COMMAND: its parts and operands.\n"
          "_larder_operands() {\n    case $1 in\n",
          out);
    put_names(out, commands);
    completion_each(out, commands, put_operands);
    fputs("    esac\n}\n\n"
          "# _larder_value COMMAND OPTION: what the value can be, if it has "
          "one.\n"
          "_larder_value() {\n    case \"$1 $2\" in\n",
          out);
    completion_each(out, commands, put_values);
    fputs("    *) return 1 ;;\n    esac\n}\n\n", out);
    fputs(reader, out);
}
