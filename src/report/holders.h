/* holders.h - the largest holders at a device's peak. */
#ifndef LARDER_REPORT_HOLDERS_H
#define LARDER_REPORT_HOLDERS_H

#include "report/report_words.h"
#include "report/summary_of_run.h"

struct report_holder {
    uint64_t bytes;
    uint64_t count; /* of allocations */
    char frame[REPORT_FRAME];
};

/* Up to `max` holders, largest first.  Returns their number. */
size_t report_holders_of(const struct run_summary *r, size_t max,
                         struct report_holder *out);

/* The same of a device; *count is their number.  False: no host memory. */
bool report_holders(const struct snapshot *s, size_t device, size_t max,
                    struct report_holder *out, size_t *count,
                    struct tool_error *error);

#endif
