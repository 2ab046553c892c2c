/* findings.c - what stands out in a run.  Each rule has a threshold below which
 * it reports nothing. */
#include "report/findings.h"

void finding_begin(struct finding_list *list)
{
    list->title = report_text_open(list->hoard);
    list->text = report_text_open(list->hoard);
}

void finding_end(struct finding_list *list)
{
    HOARD_ROOM(list->hoard, list->found, list->capacity, list->count + 1);
    list->found[list->count++] = (struct report_finding){
        report_text_close(list->hoard, list->title),
        report_text_close(list->hoard, list->text),
    };
}

const struct report_finding *report_findings(struct hoard *h,
                                             const struct run_summary *r,
                                             size_t *count)
{
    static void (*const rules[])(const struct run_summary *,
                                 struct finding_list *) = {
        find_unused,   find_rounding,   find_temporaries,
        find_stranded, find_pending,    find_leaks,
        find_growth,   find_late_frees, find_driver_calls,
    };
    struct finding_list list = {.hoard = h};
    size_t i;

    for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        rules[i](r, &list);
    *count = list.count;
    return list.found;
}
