/* completion_fish.c - for fish: one line for each option, with the condition
 * that its command was given. */
#include "completion.h"
#include "option.h"

static const char conditions[] =
    "# The command on the line, with its subcommand if there is one.\n"
    "function __larder_command\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    if contains -- \"$words[1] $words[2]\" $__larder_parts\n"
    "        echo \"$words[1] $words[2]\"\n"
    "    else\n"
    "        echo \"$words[1]\"\n"
    "    end\n"
    "end\n"
    "\n"
    "function __larder_in\n"
    "    test (__larder_command) = \"$argv\"\n"
    "end\n"
    "\n"
    "# Only the name was typed so far.\n"
    "function __larder_first\n"
    "    test (count (commandline -opc)) -eq $argv[1]\n"
    "end\n"
    "\n"
    "complete -c larder -f\n"
    "complete -c larder -n '__larder_in \"\"' -l help "
    "-d 'show this and exit'\n"
    "complete -c larder -n '__larder_in \"\"' -l version\n";

static void put_condition(FILE *out, const struct cli_command *command)
{
    fprintf(out, "complete -c larder -n '__larder_in %s'", command->name);
}

static void put_option(FILE *out, const struct cli_command *command,
                       const struct cli_option *o)
{
    put_condition(out, command);
    fprintf(out, " -%c %s", o->name[1] == '\0' ? 's' : 'l', o->name);
    if (cli_takes_word(o)) {
        enum completion_value value = completion_value_of(o);

        fputs(value == COMPLETION_FILE ? " -r -F" : " -x", out);
        if (value == COMPLETION_WORDS) {
            fputs(" -a '", out);
            completion_put_words(out, o);
            putc('\'', out);
        }
    }
    fputs(" -d '", out);
    completion_put_text(out, o->help, "\\", "\\'");
    fputs("'\n", out);
}

static void put_operands(FILE *out, const struct cli_command *command)
{
    if (completion_takes_files(command)) {
        put_condition(out, command);
        fputs(" -F\n", out);
    }
    if (command->operand != NULL) {
        put_condition(out, command);
        fputs(" -a '", out);
        completion_put_operands(out, command);
        fputs("'\n", out);
    }
}

static void put_name(FILE *out, const struct cli_command *command)
{
    const char *name = completion_last_name(command);
    int part_of = (int)(name - command->name) - 1;

    if (part_of < 0)
        fputs("complete -c larder -n '__larder_first 1'", out);
    else
        fprintf(out,
                "complete -c larder -n '__larder_in %.*s; and "
                "__larder_first 2'",
                part_of, command->name);
    fprintf(out, " -a %s -d '", name);
    completion_put_text(out, command->summary, "\\", "\\'");
    fputs("'\n", out);
}

static void put_command(FILE *out, const struct cli_command *command)
{
    putc('\n', out);
    put_name(out, command);
    for (const struct cli_option *o = command->options;
         o != NULL && o->name != NULL; o++)
        put_option(out, command, o);
    put_condition(out, command);
    fputs(" -l help -d 'show this and exit'\n", out);
    put_operands(out, command);
}

static void put_part(FILE *out, const struct cli_command *command)
{
    if (completion_last_name(command) != command->name)
        fprintf(out, " '%s'", command->name);
}

void completion_fish(FILE *out, const struct cli_command *const *commands)
{
    fputs("# Completion of larder for fish, made by `larder completion "
          "fish`.\n\nset -g __larder_parts",
          out);
    completion_each(out, commands, put_part);
    fputs("\n\n", out);
    fputs(conditions, out);
    completion_each(out, commands, put_command);
}
