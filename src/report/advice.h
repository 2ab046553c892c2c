/* advice.h - one sentence on how to reduce the memory that a run needs, with
 * the bytes it saves. */
#ifndef LARDER_REPORT_ADVICE_H
#define LARDER_REPORT_ADVICE_H

#include <stdio.h>

#include "report/shortage.h"
#include "report/summary_of_run.h"

/* Each writes to `out` and returns the bytes saved; 0: unknown. */

/* Advice after a failure. `activations` is the line that held most of them,
 * UINT32_MAX if unknown; `cure` as for report_verdict_make(). */
uint64_t advice_for_failure(const struct run_summary *r,
                            const struct shortage *s, const char *cure,
                            uint32_t activations, FILE *out);

/* What would lower the peak the most. */
uint64_t advice_for_peak(const struct run_summary *r, FILE *out);

/* How to record what is missing. */
void advice_to_record(FILE *out);

#endif
