/* recorded_report.h - how a replayed snapshot compares with what was recorded,
 * in words. */
#ifndef LARDER_CLI_RECORDED_REPORT_H
#define LARDER_CLI_RECORDED_REPORT_H

#include "replay/replay.h"

/* What of a snapshot a trace cannot say, as "; N ..." for each that is not 0:
 * nothing is printed if nothing is to be said. */
void recorded_report_notes(FILE *out, const struct snap_trace_notes *n);

/* Print a paragraph. */
void recorded_report_print(const char *path, const struct replay_snapshot *s);

#endif
