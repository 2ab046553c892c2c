/* tune_report.h - the text output of `larder tune` and `larder fit`. */
#pragma once

#include "tune/tune.h"

/* The table of settings, the line to paste, and the reason.  False: no host
 * memory. */
bool tune_report_print(const struct tune *t, const char *card);

/* A setting's name: "now (expandable_segments:True)", "max_split_size_mb:21",
 * ...  Returns `out`. */
const char *tune_report_setting(const struct tune *t,
                                const struct tune_candidate *c, char *out,
                                size_t room);

/* Whether it fits; for several ranks the worst and the spread.  If it does not,
 * the cheapest setting with which it would.  False: no host memory. */
bool fit_report_print(const struct tune *t, const char *card);

/* What the verdict is about: how much was recorded. */
void fit_report_scope(const struct tune *t);
