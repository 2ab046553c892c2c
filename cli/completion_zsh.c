/* completion_zsh.c - for zsh: one function for each command, named after it. */
#include "completion.h"
#include "option.h"

/* `command` NULL: larder itself. */
static void put_function_name(FILE *out, const struct cli_command *command)
{
    fputs(command != NULL ? "_larder_" : "_larder", out);
    for (const char *p = command != NULL ? command->name : ""; *p != '\0'; p++)
        putc(*p == ' ' ? '_' : *p, out);
}

static void put_text(FILE *out, const char *text, const char *escaped)
{
    completion_put_text(out, text, escaped, "'\\''");
}

static void put_value(FILE *out, const struct cli_option *o)
{
    putc(':', out);
    put_text(out, o->argument, ":");
    putc(':', out);
    if (completion_value_of(o) == COMPLETION_FILE) {
        fputs("_files", out);
    } else if (completion_value_of(o) == COMPLETION_WORDS) {
        putc('(', out);
        completion_put_words(out, o);
        putc(')', out);
    }
}

/* '--name=[help]:ARGUMENT:what it can be' */
static void put_option(FILE *out, const struct cli_option *o)
{
    fprintf(out, " \\\n        '%s%s", cli_dashes(o), o->name);
    if (cli_takes_word(o))
        putc(o->name[1] == '\0' ? '+' : '=', out);
    putc('[', out);
    put_text(out, o->help, "[]:");
    putc(']', out);
    if (cli_takes_word(o))
        put_value(out, o);
    putc('\'', out);
}

static void put_operands(FILE *out, const struct cli_command *command)
{
    bool files = completion_takes_files(command);

    if (command->operand == NULL && !files)
        return;
    fputs(" \\\n        '*:", out);
    put_text(out, command->operands, ":");
    putc(':', out);
    if (command->operand == NULL) {
        fputs("_files'", out);
        return;
    }
    fputs(files ? "{ compadd - " : "(", out);
    completion_put_operands(out, command);
    fputs(files ? "; _files }'" : ")'", out);
}

/* Names and summaries, in the format of _describe. */
static void put_names(FILE *out, const struct cli_command *const *commands)
{
    for (; *commands != NULL; commands++) {
        if ((*commands)->is_hidden)
            continue;
        fprintf(out, "            '%s:", completion_last_name(*commands));
        put_text(out, (*commands)->summary, ":");
        fputs("'\n", out);
    }
}

/* Complete the given part; if there is none, the parts' names. */
static void put_parts(FILE *out, const struct cli_command *command,
                      const struct cli_command *const *parts)
{
    fputs("    local -a parts\n    local part=", out);
    put_function_name(out, command);
    fputs("_${words[2]}\n"
          "    if (( CURRENT > 2 && $+functions[$part] )); then\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "        $part\n"
          "        return\n"
          "    fi\n"
          "    if (( CURRENT == 2 )); then\n"
          "        parts=(\n",
          out);
    put_names(out, parts);
    fputs("        )\n        _describe command parts\n    fi\n", out);
}

static void put_command(FILE *out, const struct cli_command *command)
{
    putc('\n', out);
    put_function_name(out, command);
    fputs("() {\n", out);
    if (command->parts != NULL)
        put_parts(out, command, command->parts);
    fputs("    _arguments -s", out);
    for (const struct cli_option *o = command->options;
         o != NULL && o->name != NULL; o++)
        put_option(out, o);
    fputs(" \\\n        '--help[show this and exit]'", out);
    put_operands(out, command);
    fputs("\n}\n", out);
}

void completion_zsh(FILE *out, const struct cli_command *const *commands)
{
    fputs("#compdef larder\n"
          "# Completion of larder for zsh, made by `larder completion zsh`.\n",
          out);
    completion_each(out, commands, put_command);
    fputs("\n_larder() {\n", out);
    put_parts(out, NULL, commands);
    fputs("}\n\n"
          "# Autoloaded by compinit, the file is the function; sourced, it "
          "registers it.\n"
          "if [[ ${funcstack[1]} == _larder ]]; then\n"
          "    _larder \"$@\"\n"
          "else\n"
          "    compdef _larder larder\n"
          "fi\n",
          out);
}
