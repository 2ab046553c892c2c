/* option.c - command line options: one table drives parsing and help. */
#include "option.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 32, OPTIONS_MAX = 32 };

/* What the next word of the command line can be. */
enum word { OPTION, OPERAND, HELP, END, WRONG /* reported */ };

int cli_bad_usage(const struct cli_command *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    cli_complain_list(command->name, format, args);
    va_end(args);
    fprintf(stderr, "Try 'larder help %s'.\n", command->name);
    return CLI_EXIT_BAD;
}

int cli_no_memory(const char *command)
{
    return cli_fail(command, "out of host memory");
}

/* ---- nearest name ------------------------------------------------------ */

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* The number of letters to insert, delete or replace to turn a into b; b has at
 * most NAME_MAX_LENGTH letters. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[NAME_MAX_LENGTH + 1];
    size_t columns = strlen(b);

    for (unsigned j = 0; j <= columns; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = smallest(row[j] + 1, row[j - 1] + 1, change);
        }
    }
    return row[columns];
}

const char *cli_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    unsigned best = (unsigned)strlen(word) / 3 + 1;

    for (; *names != NULL; names++) {
        unsigned distance;

        if (strlen(*names) > NAME_MAX_LENGTH)
            continue;
        if (strlen(word) > 2 && strncmp(word, *names, strlen(word)) == 0)
            return *names;
        distance = edit_distance(word, *names);
        if (distance <= best) {
            best = distance - (distance > 0);
            nearest = *names;
        }
    }
    return nearest;
}

/* ---- commands ------------------------------------------------------------- */

const char *cli_last_name(const struct cli_command *command)
{
    const char *blank = strrchr(command->name, ' ');

    return blank != NULL ? blank + 1 : command->name;
}

const struct cli_command *cli_find_part(const struct cli_command *command,
                                        const char *name)
{
    const struct cli_command *const *part = command->parts;

    for (; part != NULL && *part != NULL; part++) {
        if (strcmp(cli_last_name(*part), name) == 0)
            return *part;
    }
    return NULL;
}

/* ---- help ----------------------------------------------------------------- */

enum { HELP_COLUMN = 24 };

const struct cli_option cli_help_option = {.name = "help",
                                           .help = "show this and exit"};

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
    const struct cli_option *o = command->options;

    printf("Usage: larder %s%s%s%s\n%s\n\n", command->name,
           o != NULL ? " [OPTION...]" : "",
           command->operands[0] != '\0' ? " " : "", command->operands,
           command->summary);
    puts("Options:");
    for (; o != NULL && o->name != NULL; o++)
        print_option(o);
    print_option(&cli_help_option);
    if (command->text != NULL)
        printf("\n%s", command->text);
}

/* ---- parsing ----------------------------------------------------------- */

const char *cli_dashes(const struct cli_option *o)
{
    return o->name[1] == '\0' ? "-" : "--";
}

bool cli_takes_word(const struct cli_option *o)
{
    return o->argument != NULL && o->argument[0] != '[';
}

const struct cli_option *cli_find_option(const struct cli_command *command,
                                         const char *word)
{
    const struct cli_option *o = command->options;
    size_t dashes = strncmp(word, "--", 2) == 0 ? 2 : 1;
    size_t length = dashes == 2 ? strcspn(word + dashes, "=") : 1;

    for (; o != NULL && o->name != NULL; o++) {
        if (word[0] == '-' && strlen(o->name) == length &&
            memcmp(o->name, word + dashes, length) == 0)
            return o;
    }
    return NULL;
}

static enum word unknown_option(struct cli_args *a, const char *word)
{
    const char *names[OPTIONS_MAX + 2];
    const struct cli_option *o = a->command->options;
    const char *nearest;
    char name[2 * NAME_MAX_LENGTH];
    int n = 0;

    for (; o != NULL && o->name != NULL && n < OPTIONS_MAX; o++) {
        if (o->name[1] != '\0')
            names[n++] = o->name;
    }
    names[n++] = "help";
    names[n] = NULL;
    word += strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    nearest = cli_nearest(name, names);
    if (nearest != NULL)
        cli_bad_usage(a->command, "unknown option '%s'; did you mean '--%s'?",
                      a->words[a->next - 1], nearest);
    else
        cli_bad_usage(a->command, "unknown option '%s'", a->words[a->next - 1]);
    return WRONG;
}

/* Take the value of an option that has one, or check that none was given. */
static enum word take_value(struct cli_args *a, const struct cli_option *o,
                            const char *equals)
{
    a->option = o;
    a->value = equals != NULL ? equals + 1 : NULL;
    if (o->argument == NULL && equals != NULL) {
        cli_bad_usage(a->command, "'%s%s' takes no value, but '%s' was given",
                      cli_dashes(o), o->name, a->value);
        return WRONG;
    }
    if (cli_takes_word(o) && equals == NULL) {
        if (a->next == a->count) {
            cli_bad_usage(a->command, "'%s%s' needs a value: %s%s %s",
                          cli_dashes(o), o->name, cli_dashes(o), o->name,
                          o->argument);
            return WRONG;
        }
        a->value = a->words[a->next++];
    }
    return OPTION;
}

/* `--name VALUE` or `--name=VALUE`, `-o VALUE` or `-oVALUE`. */
static enum word find_option(struct cli_args *a, const char *word)
{
    const struct cli_option *o;
    bool is_letter = word[1] != '-';

    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return HELP;
    o = cli_find_option(a->command, word);
    if (o == NULL || (is_letter && word[2] != '\0' && !cli_takes_word(o)))
        return unknown_option(a, word);
    if (is_letter)
        return take_value(a, o, word[2] != '\0' ? word + 1 : NULL);
    return take_value(a, o, strchr(word, '='));
}

static enum word next_word(struct cli_args *a)
{
    const char *word;

    if (a->next == a->count)
        return END;
    word = a->words[a->next++];
    if (!a->operands_only && strcmp(word, "--") == 0) {
        a->operands_only = true;
        return next_word(a);
    }
    if (a->operands_only || word[0] != '-' || word[1] == '\0') {
        a->value = word;
        return OPERAND;
    }
    return find_option(a, word);
}

/* Take an option or an operand. */
static bool take(struct cli_args *a, enum word got)
{
    const struct cli_command *c = a->command;
    cli_take_fn *fn = got == OPTION ? a->option->take : c->take;
    size_t at = got == OPTION ? a->option->at : c->at;

    if (fn != NULL)
        return fn(a, (char *)c->settings + at);
    return got == OPTION || cli_refuse(a, "unexpected '%s'", a->value);
}

int cli_run(const struct cli_command *command, int count, char **words)
{
    struct cli_args a = {.command = command, .count = count, .words = words};
    enum word got;

    while ((got = next_word(&a)) == OPTION || got == OPERAND) {
        if (!take(&a, got))
            return CLI_EXIT_BAD;
    }
    if (got == HELP) {
        cli_help_command(command);
        return CLI_EXIT_OK;
    }
    if (got == WRONG ||
        (command->check != NULL && !command->check(command, command->settings)))
        return CLI_EXIT_BAD;
    return command->run(&a);
}

/* ---- values ------------------------------------------------------------- */

bool cli_take_flag(struct cli_args *a, void *out)
{
    (void)a;
    *(bool *)out = true;
    return true;
}

bool cli_take_text(struct cli_args *a, void *out)
{
    *(const char **)out = a->value;
    return true;
}

bool cli_take_number(struct cli_args *a, void *out)
{
    const struct cli_option *o = a->option;
    uint64_t value = 0;
    const char *p = a->value;

    for (; *p >= '0' && *p <= '9' && value <= o->high / 10; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    if (p == a->value || *p != '\0' || value < o->low || value > o->high)
        return cli_refuse(
            a, "--%s '%s' is not a number from %" PRIu64 " to %" PRIu64,
            o->name, a->value, o->low, o->high);
    *(uint64_t *)out = value;
    return true;
}

bool cli_take_program(struct cli_args *a, void *out)
{
    *(char ***)out = &a->words[a->next - 1];
    a->next = a->count;
    return true;
}
