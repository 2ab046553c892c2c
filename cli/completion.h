/* completion.h - scripts for shell completion, generated from the commands' tables, which
 * also produce --help. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "option.h"

/* ---- for the command ---- */

#define COMPLETION_SHELLS "bash|zsh|fish|table"

/* Write the script for a shell, or the table itself, for the manuals;
 * `commands` is ended by NULL.  False: there is no such shell. */
bool completion_write(FILE *out, const char *shell,
                      const struct cli_command *const *commands);

/* ---- for the writers of scripts ---- */

typedef void completion_fn(FILE *out, const struct cli_command *command);

/* Each visible command and each of its parts, in the order of help. */
void completion_each(FILE *out, const struct cli_command *const *commands,
                     completion_fn *fn);

/* Kinds of values that an option can have. */
enum completion_value {
    COMPLETION_ANY, /* nothing that a shell can complete */
    COMPLETION_FILE,
    COMPLETION_WORDS
};
enum completion_value completion_value_of(const struct cli_option *o);

/* Write the words, separated by blanks. */
void completion_put_words(FILE *out, const struct cli_option *o);

/* The same for operands: each word is followed by a blank. */
bool completion_takes_files(const struct cli_command *command);
void completion_put_operands(FILE *out, const struct cli_command *command);

/* Write a help text on one line for single quotes: a quote is written as
 * `quote`, and every character of `escaped` gets a backslash. */
void completion_put_text(FILE *out, const char *text, const char *escaped,
                         const char *quote);

/* A part's name without its command's; the whole name of a command. */
const char *completion_last_name(const struct cli_command *command);

/* The writers. */
void completion_bash(FILE *out, const struct cli_command *const *commands);
void completion_zsh(FILE *out, const struct cli_command *const *commands);
void completion_fish(FILE *out, const struct cli_command *const *commands);
