/* verdict.h - a device's run in three lines: what happened, who holds the
 * memory, what to do. */
#pragma once

#include "report/summary_of_run.h"

/* One or two sentences each, without a line end. */
struct report_verdict {
    const char *what;
    const char *who;
    const char *advice;
    uint64_t saves;       /* bytes saved by the advice; 0: unknown */
    const char *saves_by; /* remedy_name(), "setting", or "none"; static */
};

/* Finds settings by replaying the run: those under which it gets past the
 * request that failed, or else those with which it needs less.  Called only if a
 * setting could help, or is to stand beside a change of code. */
struct report_cure {
    /* Advice with its price, or NULL; *saves is how much less the run needs. */
    const char *(*find)(void *ctx, const struct snapshot *s, size_t device,
                        uint64_t *saves);
    void *ctx; /* texts live in it until the next call */
    /* After find() gave NULL: a sentence that says why, or NULL.  May be NULL
     * itself. */
    const char *(*why_none)(void *ctx);
};

/* `cure` may be NULL. */
struct report_verdict report_verdict_make(struct arena *arena,
                                          const struct run_summary *r,
                                          const struct report_cure *cure);

/* How many allocations were recorded after an event. */
uint64_t report_allocations_after(const struct run_summary *r, uint32_t event);

/* Whether more than the snapshot's last state was recorded. */
bool report_has_history(const struct run_summary *r);
