/* input_list.h - inputs as they are given: files, and folders of them. */
#ifndef LARDER_CLI_INPUT_LIST_H
#define LARDER_CLI_INPUT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/tool_error.h"

struct input_list {
    char **paths; /* each malloc'd */
    size_t count;
    size_t capacity;
};

/* Add a file; of a folder, the traces and snapshots that lie in it, by name.
 * *out begins zeroed.  False: no such folder can be read, or it has none. */
bool input_list_add(struct input_list *out, const char *path,
                    struct tool_error *error);
void input_list_free(struct input_list *list);

#endif
