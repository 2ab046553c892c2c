/* report_writing.h - the parts of the text report on one device.  Private to
 * the report. */
#pragma once

#include "report/report.h"
#include "report/summary_of_run.h"

struct report_writing {
    struct arena *arena;
    FILE *out;
    const struct run_summary *r;
    const struct snapshot *s;
    const struct report_options *opt;
    size_t top;
};

/* report_lists.c: the holders at the peak, the segments, and what was free. */
void report_write_lists(const struct report_writing *w);
