/* advice.h - one sentence on how to reduce the memory that a run needs, with
 * the bytes it saves. */
#pragma once

#include <stdio.h>

#include "report/shortage.h"
#include "report/summary_of_run.h"
#include "report/verdict.h"

/* Each writes to `out`. */

/* Advice after a failure; returns the bytes saved at that moment; 0: unknown.
 * `activations` is the line that held most of them, UINT32_MAX if unknown;
 * `why_none`, unless it is NULL, a sentence on the settings that were replayed,
 * none of which helps. */
uint64_t advice_for_failure(struct arena *arena, const struct run_summary *r,
                            const struct shortage *s, uint32_t activations,
                            const char *why_none, FILE *out);

/* What a cure found, if settings may help. */
struct setting_found {
    const char *words; /* NULL: none, or not looked for */
    uint64_t saves;
    const char *why_none; /* if it was looked for; or NULL */
};
struct setting_found advice_find_setting(const struct run_summary *r,
                                         const struct report_cure *cure,
                                         bool may_help);

/* What would lower the peak of the whole run the most, and beside a change of
 * code the setting that `cure` finds; sets v->saves and v->saves_by. */
void advice_for_peak(struct arena *arena, const struct run_summary *r,
                     const struct report_cure *cure, struct report_verdict *v,
                     FILE *out);

/* How to record what is missing. */
void advice_to_record(FILE *out);
