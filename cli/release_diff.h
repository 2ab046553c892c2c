/* release_diff.h - a trace or snapshot under two releases of PyTorch: what changes
 * for this program. */
#ifndef LARDER_CLI_RELEASE_DIFF_H
#define LARDER_CLI_RELEASE_DIFF_H

#include <stdbool.h>

#include "trace/tool_error.h"

struct release_diff_options {
    const char *from; /* releases, as larder_pytorch_release() names them */
    const char *to;
    const char *conf; /* NULL: "", or what the snapshot recorded */
    bool json;
};

/* Write the comparison to the standard output.  False: why, in *error. */
bool release_diff_write(const char *path,
                        const struct release_diff_options *options, bool *same,
                        struct tool_error *error);

#endif
