/* findings.h - the rules that findings.c asks one after the other. */
#ifndef LARDER_REPORT_FINDINGS_H
#define LARDER_REPORT_FINDINGS_H

#include "report/summary_of_run.h"

struct finding_list {
    struct report_finding *found;
    size_t count;
    bool failed; /* host memory ran out: something is missing */
};

/* Takes both over; NULL stands for memory that could not be had. */
void finding_add(struct finding_list *list, char *title, char *text);

/* findings_state.c: at the peak */
void find_unused(const struct run_summary *f, struct finding_list *list);
void find_rounding(const struct run_summary *f, struct finding_list *list);
void find_temporaries(const struct run_summary *f, struct finding_list *list);
void find_stranded(const struct run_summary *f, struct finding_list *list);
void find_pending(const struct run_summary *f, struct finding_list *list);

/* findings_time.c: over the run */
void find_leaks(const struct run_summary *f, struct finding_list *list);
void find_growth(const struct run_summary *f, struct finding_list *list);
void find_late_frees(const struct run_summary *f, struct finding_list *list);
void find_driver_calls(const struct run_summary *f, struct finding_list *list);

#endif
