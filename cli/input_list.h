/* input_list.h - inputs as given: files, and folders of files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "option.h"

/* Lasts as long as the process. */
struct input_list {
    char **paths; /* each malloc'd */
    size_t count;
    size_t capacity;
};

/* For commands, into a struct input_list that begins zeroed: add the operand, a
 * file or, for a folder, the traces and snapshots in it, sorted by name.  False,
 * with a message: the folder cannot be read, or contains none. */
cli_take_fn input_list_take;
/* The same for commands that accept no folders. */
cli_take_fn input_list_take_file;

/* Whether the standard input, `-`, is in the list at most once; if not, that is
 * reported. */
bool input_list_check(const struct input_list *list,
                      const struct cli_command *command);

/* Whether `output` is none of the inputs, which writing would replace; if it is,
 * that is reported. */
bool input_list_spares(const struct input_list *list,
                       const struct cli_command *command, const char *output);

/* Whether both name the same existing file.  `-` and special files, which are
 * not replaced by writing, count as different. */
bool same_file(const char *a, const char *b);
