/* view.h - snapshots as one HTML page that needs nothing else. */
#ifndef LARDER_VIEW_VIEW_H
#define LARDER_VIEW_VIEW_H

#include <stdio.h>

#include "report/verdict.h"
#include "snapshot/snapshot.h"

struct view_run {
    const char *name; /* shown; a file's name */
    const struct snapshot *snapshot;
};

/* Write the page for one run, or for several on one axis; `cure`, for the words
 * on top, may be NULL.  False: host memory ran out, or writing failed (and the
 * error says why). */
bool view_write(FILE *out, const char *title, const struct view_run *runs,
                size_t run_count, const struct report_cure *cure,
                struct tool_error *error);

/* Write the page without data: it reads the snapshots that are dropped into it.
 * False: writing failed, and the error says why. */
bool view_write_app(FILE *out, struct tool_error *error);

#endif
