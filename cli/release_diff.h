/* release_diff.h - compares a trace or snapshot under two releases of
 * PyTorch. */
#pragma once

#include <stdbool.h>

#include "trace/tool_error.h"

struct release_diff_options {
    const char *from; /* releases, as larder_pytorch_release() names them */
    const char *to;
    const char *conf; /* NULL: "", or what the snapshot recorded */
    bool json;
};

/* The release, as larder_pytorch_release() names it, of a version as
 * torch.__version__ has it.  NULL: it is not known. */
const char *release_diff_find(const char *version);

/* Write the comparison to the standard output.  False: *error has the
 * reason. */
bool release_diff_write(const char *path,
                        const struct release_diff_options *options, bool *same,
                        struct tool_error *error);
