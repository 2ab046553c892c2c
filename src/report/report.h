/* report.h - reports on a snapshot, as text for people or JSON for programs. */
#pragma once

#include <stdio.h>

#include "report/frame_groups.h"
#include "report/verdict.h"
#include "snapshot/snapshot.h"

struct report_options {
    size_t top;        /* lines in each list; 0: 10 */
    enum report_by by; /* how lines are grouped */
    bool tree;         /* show the tree of callers */
    bool paths;        /* whole call paths */
    bool all;          /* also similar rows and other devices */
    bool ascii;        /* only ASCII characters */
    struct report_cure cure;
};

/* Write text about each device that has a history or segments. */
bool report_write_text(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error);

/* Write the first three lines about a device. */
bool report_write_verdict(FILE *out, const struct snapshot *s, size_t device,
                          const struct report_options *opt,
                          struct tool_error *error);

/* Write one JSON object on one line: figures of the whole snapshot (peaks are
 * those of the device with the highest peak), and `devices` with an object for
 * each. */
bool report_write_json(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error);

/* Compare two runs, device by device, as text or one JSON object. *same is
 * false if a relevant figure (peaks, failures, size of iterations) differs. */
bool report_write_diff(FILE *out, const char *const names[2],
                       const struct snapshot *const runs[2], bool json,
                       const struct report_options *opt, bool *same,
                       struct tool_error *error);
