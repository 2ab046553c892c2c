/* findings.c - what stands out in a run.  Each rule has a threshold below which
 * it reports nothing. */
#include <stdlib.h>

#include "report/findings.h"

/* ---- the list ------------------------------------------------------------------ */

bool finding_begin(struct finding_list *list)
{
    bool ok = report_text_begin(&list->title);

    ok = report_text_begin(&list->text) && ok;
    if (!ok) {
        free(report_text_take(&list->title));
        free(report_text_take(&list->text));
        list->failed = true;
    }
    return ok;
}

void finding_end(struct finding_list *list)
{
    char *title = report_text_take(&list->title);
    char *text = report_text_take(&list->text);
    struct report_finding *wider = NULL;

    if (title != NULL && text != NULL)
        wider = realloc(list->found, (list->count + 1) * sizeof(*wider));
    if (wider == NULL) {
        free(title);
        free(text);
        list->failed = true;
        return;
    }
    list->found = wider;
    list->found[list->count++] = (struct report_finding){title, text};
}

void report_findings_free(struct report_finding *findings, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        free(findings[i].title);
        free(findings[i].text);
    }
    free(findings);
}

/* ---- asking the rules -------------------------------------------------------------- */

bool report_findings(const struct run_summary *r, struct report_finding **out,
                     size_t *count, struct tool_error *error)
{
    static void (*const rules[])(const struct run_summary *,
                                 struct finding_list *) = {
        find_unused,   find_rounding,   find_temporaries,
        find_stranded, find_pending,    find_leaks,
        find_growth,   find_late_frees, find_driver_calls,
    };
    struct finding_list list = {0};
    size_t i;

    for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        rules[i](r, &list);
    if (list.failed) {
        report_findings_free(list.found, list.count);
        return tool_fail(error, "not enough host memory for the findings");
    }
    *out = list.found;
    *count = list.count;
    return true;
}
