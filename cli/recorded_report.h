/* recorded_report.h - describes how a replayed snapshot compares with the
 * recording. */
#pragma once

#include "replay/replay.h"

/* Print a line: what a trace cannot express of a snapshot's device. */
void recorded_report_notes(FILE *out, const char *path, size_t device,
                           const struct snap_trace_notes *n);

/* Print a paragraph. */
void recorded_report_print(const char *path, const struct replay_snapshot *s);
