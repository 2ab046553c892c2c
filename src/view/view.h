/* view.h - writes snapshots as one self-contained HTML page. */
#pragma once

#include <stdio.h>

#include "report/verdict.h"
#include "snapshot/snapshot.h"

struct view_run {
    const char *name; /* displayed; a file's name */
    const struct snapshot *snapshot;
};

/* Write the page for one run, or for several on one axis; `cure`, for the texts
 * at the top, may be NULL.  False: no host memory, or writing failed; the error
 * has the reason. */
bool view_write(FILE *out, const char *title, const struct view_run *runs,
                size_t run_count, const struct report_cure *cure,
                struct tool_error *error);
