/* completion.c - scripts for shell completion, generated from the tables of
 * options. */
#include "completion.h"

#include <string.h>

#include <larder/larder.h>
#include <larder/sim.h>

static void completion_table(FILE *out,
                             const struct cli_command *const *commands);

static const struct {
    const char *name;
    void (*write)(FILE *out, const struct cli_command *const *commands);
} shells[] = {
    {"bash", completion_bash},
    {"zsh", completion_zsh},
    {"fish", completion_fish},
    {"table", completion_table},
};

bool completion_write(FILE *out, const char *shell,
                      const struct cli_command *const *commands)
{
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        shells[i].write(out, commands);
        return true;
    }
    return false;
}

/* ---- the tables ---------------------------------------------------------- */

void completion_each(FILE *out, const struct cli_command *const *commands,
                     completion_fn *fn)
{
    for (; *commands != NULL; commands++) {
        if ((*commands)->is_hidden)
            continue;
        fn(out, *commands);
        if ((*commands)->parts != NULL)
            completion_each(out, (*commands)->parts, fn);
    }
}

/* "larder|pytorch|direct": words to be typed literally; an argument in capitals
 * is a placeholder. */
static bool is_choice(const char *argument)
{
    return strchr(argument, '|') != NULL && argument[0] >= 'a' &&
           argument[0] <= 'z';
}

static bool is_settings(const struct cli_option *o)
{
    return strcmp(o->argument, "K:V,...") == 0;
}

static bool is_card(const struct cli_option *o)
{
    return strcmp(o->name, "gpu") == 0;
}

enum completion_value completion_value_of(const struct cli_option *o)
{
    if (strcmp(o->argument, "FILE") == 0)
        return COMPLETION_FILE;
    if (is_choice(o->argument) || strcmp(o->argument, "VERSION") == 0 ||
        is_settings(o) || is_card(o))
        return COMPLETION_WORDS;
    return COMPLETION_ANY;
}

/* Names for the same thing are separated by commas: only the first is written. */
static void put_list(FILE *out, const char *(*name_of)(size_t index))
{
    const char *name;

    for (size_t i = 0; (name = name_of(i)) != NULL; i++)
        fprintf(out, "%s%.*s", i > 0 ? " " : "", (int)strcspn(name, ","), name);
}

void completion_put_words(FILE *out, const struct cli_option *o)
{
    if (is_choice(o->argument)) {
        for (const char *p = o->argument; *p != '\0'; p++)
            putc(*p == '|' ? ' ' : *p, out);
        return;
    }
    put_list(out, is_card(o)       ? larder_sim_card
                  : is_settings(o) ? larder_conf_key
                                   : larder_pytorch_release);
}

bool completion_takes_files(const struct cli_command *command)
{
    return command->operands[0] != '\0' &&
           (command->operand == NULL ||
            strstr(command->operands, "FILE") != NULL);
}

void completion_put_operands(FILE *out, const struct cli_command *command)
{
    const char *word;

    for (size_t i = 0; command->parts != NULL && command->parts[i] != NULL; i++)
        fprintf(out, "%s ", completion_last_name(command->parts[i]));
    for (size_t i = 0;
         command->operand != NULL && (word = command->operand(i)) != NULL; i++)
        fprintf(out, "%s ", word);
}

const char *completion_last_name(const struct cli_command *command)
{
    const char *blank = strrchr(command->name, ' ');

    return blank != NULL ? blank + 1 : command->name;
}

void completion_put_text(FILE *out, const char *text, const char *escaped,
                         const char *quote)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs(quote, out);
            continue;
        }
        if (strchr(escaped, *text) != NULL)
            putc('\\', out);
        putc(*text == '\n' ? ' ' : *text, out);
    }
}

/* ---- the table itself ----------------------------------------------------- */

/* Not for a shell: one line for each option, with tabs between command, name, value and
 * help.  tools/make_manuals.py generates the manual pages' option lists from it. */
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

static void completion_table(FILE *out,
                             const struct cli_command *const *commands)
{
    completion_each(out, commands, put_rows);
}
