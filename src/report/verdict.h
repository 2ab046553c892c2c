/* verdict.h - a device's run in three lines: what happened, who holds the
 * memory, what to do about it. */
#ifndef LARDER_REPORT_VERDICT_H
#define LARDER_REPORT_VERDICT_H

#include "report/summary_of_run.h"

/* Each a sentence or two without a line's end; the caller's to free(). */
struct report_verdict {
    char *what;
    char *who;
    char *advice;
    uint64_t saves; /* bytes that the advice is worth; 0: not known */
};

/* Somebody who knows settings under which a run that ran out of memory would
 * not have: words of advice, malloc'd, or NULL.  Asked only where memory was
 * not simply too little. */
struct report_cure {
    char *(*find)(void *ctx, const struct snapshot *s, size_t device);
    void *ctx;
};

/* `cure` may be NULL.
 * False: no host memory; nothing is left to free. */
bool report_verdict_make(const struct run_summary *r,
                         const struct report_cure *cure,
                         struct report_verdict *out, struct tool_error *error);
void report_verdict_free(struct report_verdict *v);

/* Whether anything but the snapshot's last state was recorded. */
bool report_has_history(const struct run_summary *r);

#endif
