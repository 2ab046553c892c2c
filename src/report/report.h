/* report.h - what a snapshot says, as text for people or JSON for programs. */
#ifndef LARDER_REPORT_REPORT_H
#define LARDER_REPORT_REPORT_H

#include <stdio.h>

#include "snapshot/snapshot.h"

struct report_options {
    size_t top; /* lines of each list; 0: 10 */
    bool paths; /* whole call paths */
    bool ascii; /* no characters beyond ASCII */
};

/* Text about each device that has a history or segments. */
bool report_write_text(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error);

/* One JSON object on one line: the figures of the whole snapshot (peaks are
 * those of the device with the highest), and `devices`, an object each. */
bool report_write_json(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error);

/* How two runs differ, device by device, as text or as one JSON object.
 * *same is false where a figure that counts (peaks, failures, iterations'
 * size) differs. */
bool report_write_diff(FILE *out, const char *const names[2],
                       const struct snapshot *const runs[2], bool json,
                       const struct report_options *opt, bool *same,
                       struct tool_error *error);

#endif
