/* report.h - what a snapshot says, as text for people or JSON for programs. */
#ifndef LARDER_REPORT_REPORT_H
#define LARDER_REPORT_REPORT_H

#include <stdio.h>

#include "report/frame_groups.h"
#include "report/verdict.h"
#include "snapshot/snapshot.h"

struct report_options {
    size_t top;        /* lines of each list; 0: 10 */
    enum report_by by; /* what lines are put together by */
    bool tree;         /* who called whom for what is held */
    bool paths;        /* whole call paths */
    bool all;          /* rows that are alike, and other devices, too */
    bool ascii;        /* no characters beyond ASCII */
    struct report_cure cure;
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
