/* completion_table.c - not for a shell: one line for each option, with tabs
 * between command, name, value and help. tools/make_manuals.py generates the
 * manual pages' option lists from it. */
#include "completion_tables.h"

static void put_rows(FILE *out, const struct cli_command *command)
{
    const struct cli_option *o = command->options;

    for (; o != NULL && o->name != NULL; o++) {
        fprintf(out, "%s\t%s%s\t%s\t", command->name, cli_dashes(o), o->name,
                o->argument != NULL ? o->argument : "");
        completion_put_text(out, o->help, "", "'");
        putc('\n', out);
    }
}

void completion_table(FILE *out, const struct cli_command *const *commands)
{
    completion_each(out, commands, put_rows);
}
