/* findings.h - the rules that findings.c applies in turn. */
#ifndef LARDER_REPORT_FINDINGS_H
#define LARDER_REPORT_FINDINGS_H

#include "report/report_words.h"
#include "report/summary_of_run.h"

struct finding_list {
    struct hoard *hoard;
    struct report_finding *found;
    size_t count;
    size_t capacity;
    struct report_text *title; /* of the finding that is being written */
    struct report_text *text;
};

/* Open the texts for writing. */
void finding_begin(struct finding_list *list);
/* Make a finding of what was written. */
void finding_end(struct finding_list *list);

/* findings_state.c: at the peak */
void find_unused(const struct run_summary *f, struct finding_list *list);
void find_rounding(const struct run_summary *f, struct finding_list *list);
void find_temporaries(const struct run_summary *f, struct finding_list *list);
void find_stranded(const struct run_summary *f, struct finding_list *list);
void find_pending(const struct run_summary *f, struct finding_list *list);

/* findings_time.c: over the run */
/* The minimum that each iteration has leaked, and the number of its largest
 * allocation; 0: nothing. */
uint64_t finding_leak(const struct run_summary *f, uint32_t *largest);
/* Whether an allocation was not freed that is not kept on purpose. */
bool finding_is_left(const struct run_summary *f, uint32_t number);
void find_leaks(const struct run_summary *f, struct finding_list *list);
void find_growth(const struct run_summary *f, struct finding_list *list);
void find_late_frees(const struct run_summary *f, struct finding_list *list);
void find_driver_calls(const struct run_summary *f, struct finding_list *list);

#endif
