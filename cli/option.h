/* option.h - command line options: one table drives parsing and help. */
#ifndef LARDER_CLI_OPTION_H
#define LARDER_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table ends with an option without a name. */
struct cli_option {
    const char *name; /* without dashes */
    /* The name of its value in help; NULL: it has none; "[=FILE]": it may have
     * one, after an equals sign.  Shells complete FILE, VERSION (of PyTorch)
     * and words|like|these. */
    const char *argument;
    const char *help;
};

struct cli_command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* as shown in help; "": none */
    const char *text;     /* paragraphs of help after the options; or NULL */
    const struct cli_option *options; /* NULL: only --help */
    /* Words that operands can be, NULL after the last; or NULL. */
    const char *(*operand)(size_t index);
    bool is_hidden; /* internal: not in help's list, not completed */
    /* Its subcommands, named "NAME PART", ended by NULL; or NULL. */
    const struct cli_command *const *parts;
    /* argv[0] is the command's name; returns the exit status. */
    int (*run)(const struct cli_command *self, int argc, char **argv);
};

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NO = 1, /* the answer to the question is no */
    CLI_EXIT_BAD = 2 /* bad usage or bad input */
};

/* Results of cli_next() that are not a row of the table. */
enum {
    CLI_END = -1,
    CLI_OPERAND = -2,
    CLI_HELP = -3,
    CLI_WRONG = -4 /* reported on the standard error */
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

/* Returns the next option's row, or one of the results above.  Options and
 * operands may be mixed; `--name=value` and `--name value` are equivalent. */
int cli_next(struct cli_args *a);

/* Accepts an option (its row) or an operand (CLI_OPERAND), whose value is in a.
 * False: it has reported an error. */
typedef bool cli_take(void *ctx, const struct cli_args *a, int got);

/* Read the whole command line, and answer --help.  Returns an exit status, or
 * -1 to continue. */
int cli_read(const struct cli_command *command, int argc, char **argv,
             cli_take *take, void *ctx);

/* Whether the word after an option is its value. */
bool cli_takes_word(const struct cli_option *o);

/* The dashes before an option's name: one for a letter, otherwise two. */
const char *cli_dashes(const struct cli_option *o);

/* Report an error as `larder COMMAND: ...`, with a hint to the help.  Returns
 * CLI_EXIT_BAD. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cli_bad_usage(const struct cli_command *command, const char *format, ...);

/* Read an option's value as a number from low to high.  False: it is not, which
 * is reported. */
bool cli_number(const struct cli_args *a, int row, uint64_t low, uint64_t high,
                uint64_t *out);

/* Check that the standard input, `-`, is among the paths at most once.  Returns
 * an exit status. */
int cli_check_inputs(const struct cli_command *command,
                     const char *const *paths, size_t count);

/* Check that `output` is none of the inputs, which writing would replace.
 * Returns an exit status. */
int cli_check_output(const struct cli_command *command, const char *output,
                     const char *const *inputs, size_t count);

/* The entry of `names` (ended by NULL) most similar to `word`.  NULL: none
 * is. */
const char *cli_nearest(const char *word, const char *const *names);

#endif
