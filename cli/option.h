/* option.h - options of a command: one table drives parsing and help. */
#ifndef LARDER_CLI_OPTION_H
#define LARDER_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table ends with an option without a name. */
struct cli_option {
    const char *name; /* without the dash, if one letter, or dashes */
    /* How help names its value, NULL: it has none.  Shells complete FILE,
     * VERSION (of PyTorch) and words|like|these. */
    const char *argument;
    const char *help;
};

struct cli_command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* as help shows them; "" if there are none */
    const char *text;     /* help's paragraphs after the options; or NULL */
    const struct cli_option *options; /* NULL: none but --help */
    /* Words that operands can be, NULL beyond the last; or NULL. */
    const char *(*operand)(size_t index);
    bool is_hidden; /* not for people: neither in help's list nor completed */
    /* Commands of its own, named "NAME PART"; ended by NULL, or NULL. */
    const struct cli_command *const *parts;
    /* argv[0] is the command's name; returns the exit status. */
    int (*run)(const struct cli_command *self, int argc, char **argv);
};

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NO = 1, /* the thing asked about is not so */
    CLI_EXIT_BAD = 2 /* bad usage or bad input */
};

/* Answers of cli_next() that are not a row of the table. */
enum {
    CLI_END = -1,
    CLI_OPERAND = -2,
    CLI_HELP = -3,
    CLI_WRONG = -4 /* said on the standard error */
};

struct cli_args {
    const struct cli_command *command;
    int count;
    char **words;
    int next;
    bool operands_only; /* after "--" */
    const char *value;  /* of the option or operand last returned */
};

void cli_args_init(struct cli_args *a, const struct cli_command *command,
                   int argc, char **argv);

/* The next option's row, or one of the answers above.  Options and operands
 * may be mixed; `--name=value` and `--name value` are the same. */
int cli_next(struct cli_args *a);

/* Takes an option (its row) or an operand (CLI_OPERAND), whose value is in a;
 * false after saying what is wrong. */
typedef bool cli_take(void *ctx, const struct cli_args *a, int got);

/* Read all that was given, answering --help: an exit status, or -1 to go
 * on. */
int cli_read(const struct cli_command *command, int argc, char **argv,
             cli_take *take, void *ctx);

/* What stands before an option's name: one dash for a letter, else two. */
const char *cli_dashes(const struct cli_option *o);

/* Say what is wrong, as `larder COMMAND: ...`, and point at the help.
 * Returns CLI_EXIT_BAD. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cli_bad_usage(const struct cli_command *command, const char *format, ...);

/* Read an option's value as a number from low to high; says what is wrong
 * and returns false if it is not. */
bool cli_number(const struct cli_args *a, int row, uint64_t low, uint64_t high,
                uint64_t *out);

/* The one of `names` (ended by NULL) most like `word`; NULL if none is. */
const char *cli_nearest(const char *word, const char *const *names);

#endif
