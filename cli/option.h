/* option.h - command line options: one table drives parsing and help. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "complain.h"

struct cli_args;

/* Reads an option's value, or an operand, into *out.  False: it has reported an
 * error. */
typedef bool cli_take_fn(struct cli_args *a, void *out);

/* A table ends with an option without a name. */
struct cli_option {
    const char *name; /* without dashes */
    /* The name of its value in help; NULL: it has none; "[=FILE]": it may have
     * one, after an equals sign.  Shells complete FILE, VERSION (of PyTorch)
     * and words|like|these. */
    const char *argument;
    const char *help;
    /* The function that takes the value, and its destination, an offset in the
     * command's settings.  NULL: the value is read elsewhere. */
    cli_take_fn *take;
    size_t at;
    uint64_t low; /* of a number */
    uint64_t high;
};

/* The last members of a row: how the value is stored in a member of the
 * settings; without a function, by the member's type. */
#define CLI_TAKE(fn, settings, member)                                         \
    .take = (fn), .at = offsetof(settings, member)
#define CLI_INTO(settings, member)                                             \
    CLI_TAKE(_Generic(((settings *)0)->member, bool: cli_take_flag,            \
                      const char *: cli_take_text, uint64_t: cli_take_number), \
             settings, member)
#define CLI_NUMBER(settings, member, from, to)                                 \
    CLI_INTO(settings, member), .low = (from), .high = (to)
#define CLI_UNREAD .take = NULL

struct cli_command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* as shown in help; "": none */
    const char *text;     /* paragraphs of help after the options; or NULL */
    const struct cli_option *options; /* NULL: only --help */
    /* Words that operands can be, NULL after the last; or NULL. */
    const char *(*operand)(size_t index);
    /* Takes each operand, as an option's value is taken; NULL: there are none. */
    cli_take_fn *take;
    size_t at;
    /* Checks the settings once all are read.  False: it has reported an error.
     * NULL: there is nothing to check. */
    bool (*check)(const struct cli_command *self, void *settings);
    void *settings; /* where the values go; set to the defaults */
    bool is_hidden; /* internal: not in help's list, not completed */
    /* Its subcommands, named "NAME PART", ended by NULL; or NULL. */
    const struct cli_command *const *parts;
    /* Runs it with the settings that were read: an exit status. */
    int (*run)(const struct cli_args *a);
};

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NO = 1, /* the answer to the question is no */
    CLI_EXIT_BAD = 2 /* bad usage or bad input */
};

struct cli_args {
    const struct cli_command *command;
    int count;
    char **words; /* after the command's name; ended by NULL */
    int next;
    bool operands_only;              /* after "--" */
    const struct cli_option *option; /* being taken */
    const char *value;               /* of the option, or the operand */
};

/* Read the command line, options and operands mixed, into the command's settings,
 * check them, and run the command; or answer --help.  `--name=value` and `--name
 * value` are equivalent.  Returns the exit status. */
int cli_run(const struct cli_command *command, int count, char **words);

/* For tables: true in *out, a bool; the value in *out, a const char *; as a number
 * from `low` to `high`, a uint64_t. */
cli_take_fn cli_take_flag;
cli_take_fn cli_take_text;
cli_take_fn cli_take_number;
/* The operand and all words that follow, ended by NULL, which belong to a program
 * of that name, in *out, a char **. */
cli_take_fn cli_take_program;

/* The option that a word names, as "-o" or "--output=FILE" do; NULL: none. */
const struct cli_option *cli_find_option(const struct cli_command *command,
                                         const char *word);

/* A part by its name without the command's, or a command; NULL: there is none. */
const struct cli_command *cli_find_part(const struct cli_command *command,
                                        const char *name);
const char *cli_last_name(const struct cli_command *command);

/* What every command has besides its table. */
extern const struct cli_option cli_help_option;

/* Whether the word after an option is its value. */
bool cli_takes_word(const struct cli_option *o);

/* The dashes before an option's name: one for a letter, otherwise two. */
const char *cli_dashes(const struct cli_option *o);

/* Help of one command, on the standard output. */
void cli_help_command(const struct cli_command *command);

/* Report an error as `larder COMMAND: ...`, with a hint to the help.  Returns
 * CLI_EXIT_BAD. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cli_bad_usage(const struct cli_command *command, const char *format, ...);

/* Report that there is no host memory.  Returns CLI_EXIT_BAD. */
int cli_no_memory(const char *command);

/* The same as an expression with value false, for what checks the settings or
 * takes a value. */
#define cli_wrong(command, ...) (cli_bad_usage((command), __VA_ARGS__), false)
#define cli_refuse(a, ...) cli_wrong((a)->command, __VA_ARGS__)

/* Report an error as an expression with value CLI_EXIT_BAD. */
#define cli_fail(command, ...)                                                 \
    (cli_complain((command), __VA_ARGS__), CLI_EXIT_BAD)

/* The entry of `names` (ended by NULL) most similar to `word`.  NULL: none
 * is. */
const char *cli_nearest(const char *word, const char *const *names);
