/* input_list.h - inputs as given: files, and folders of files. */
#ifndef LARDER_CLI_INPUT_LIST_H
#define LARDER_CLI_INPUT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "option.h"

struct input_list {
    char **paths; /* each malloc'd */
    size_t count;
    size_t capacity;
};

/* Add the operand a->value: a file or, for a folder, the traces and snapshots
 * in it, sorted by name.  *out begins zeroed.  False, with a message: the
 * folder cannot be read, or contains none. */
bool input_list_take(struct input_list *out, const struct cli_args *a);
void input_list_free(struct input_list *list);

#endif
