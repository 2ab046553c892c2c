/* help.c - what `larder help` and --help print. */
#include "help.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 24 };

static void print_option(const struct cli_option *o)
{
    const char *line = o->help;
    int used = printf("  %s%s%s%s", cli_dashes(o), o->name,
                      cli_takes_word(o) ? " " : "",
                      o->argument != NULL ? o->argument : "");

    if (used >= HELP_COLUMN) {
        putchar('\n');
        used = 0;
    }
    while (line != NULL) {
        const char *end = strchr(line, '\n');
        int length = end != NULL ? (int)(end - line) : (int)strlen(line);

        printf("%*s%.*s\n", HELP_COLUMN - used, "", length, line);
        line = end != NULL ? end + 1 : NULL;
        used = 0;
    }
}

void cli_help_command(const struct cli_command *command)
{
    static const struct cli_option help = {.name = "help",
                                           .help = "show this and exit"};
    const struct cli_option *o = command->options;

    printf("Usage: larder %s%s%s%s\n%s\n\n", command->name,
           o != NULL ? " [OPTION...]" : "",
           command->operands[0] != '\0' ? " " : "", command->operands,
           command->summary);
    puts("Options:");
    for (; o != NULL && o->name != NULL; o++)
        print_option(o);
    print_option(&help);
    if (command->text != NULL)
        printf("\n%s", command->text);
}
