/* verdict.h - a device's run in three lines: what happened, who holds the
 * memory, what to do. */
#ifndef LARDER_REPORT_VERDICT_H
#define LARDER_REPORT_VERDICT_H

#include "report/summary_of_run.h"

/* One or two sentences each, without a line end; the caller frees them. */
struct report_verdict {
    char *what;
    char *who;
    char *advice;
    uint64_t saves;       /* bytes saved by the advice; 0: unknown */
    const char *saves_by; /* remedy_name(), "setting", or "none"; static */
};

/* Finds settings by replaying the run: those under which it gets past the
 * request that failed, or else those with which it needs less.  Called only if a
 * setting could help, or is to stand beside a change of code. */
struct report_cure {
    /* Advice with its price, malloc'd, or NULL; *saves is how much less the run
     * needs. */
    char *(*find)(void *ctx, const struct snapshot *s, size_t device,
                  uint64_t *saves);
    void *ctx;
    /* After find() gave NULL: a sentence that says why, malloc'd, or NULL.  May
     * be NULL itself. */
    char *(*why_none)(void *ctx);
};

/* `cure` may be NULL.  False: no host memory; nothing needs to be freed. */
bool report_verdict_make(const struct run_summary *r,
                         const struct report_cure *cure,
                         struct report_verdict *out, struct tool_error *error);
void report_verdict_free(struct report_verdict *v);

/* How many allocations were recorded after an event. */
uint64_t report_allocations_after(const struct run_summary *r, uint32_t event);

/* Whether more than the snapshot's last state was recorded. */
bool report_has_history(const struct run_summary *r);

#endif
