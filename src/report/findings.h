/* findings.h - the rules that findings.c asks one after the other. */
#ifndef LARDER_REPORT_FINDINGS_H
#define LARDER_REPORT_FINDINGS_H

#include "report/report_words.h"
#include "report/summary_of_run.h"

struct finding_list {
    struct report_finding *found;
    size_t count;
    bool failed; /* host memory ran out: something is missing */
};

/* Have both to be written to.  False, and noted: no host memory. */
bool finding_begin(struct finding_list *list, struct report_text *title,
                   struct report_text *text);
/* What was written becomes a finding. */
void finding_end(struct finding_list *list, struct report_text *title,
                 struct report_text *text);

/* findings_state.c: at the peak */
void find_unused(const struct run_summary *f, struct finding_list *list);
void find_rounding(const struct run_summary *f, struct finding_list *list);
void find_temporaries(const struct run_summary *f, struct finding_list *list);
void find_stranded(const struct run_summary *f, struct finding_list *list);
void find_pending(const struct run_summary *f, struct finding_list *list);

/* findings_time.c: over the run */
/* The least that each iteration has left behind, and the number of the largest
 * piece of it; 0: nothing. */
uint64_t finding_leak(const struct run_summary *f, uint32_t *largest);
void find_leaks(const struct run_summary *f, struct finding_list *list);
void find_growth(const struct run_summary *f, struct finding_list *list);
void find_late_frees(const struct run_summary *f, struct finding_list *list);
void find_driver_calls(const struct run_summary *f, struct finding_list *list);

#endif
