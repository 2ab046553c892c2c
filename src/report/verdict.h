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
 * request that failed, or else those with which it needs less.  Returns advice
 * with its price, malloc'd, or NULL; *saves is how much less it needs.  Called
 * only if a setting could help: memory was not simply too small, or is held and
 * not in use. */
struct report_cure {
    char *(*find)(void *ctx, const struct snapshot *s, size_t device,
                  uint64_t *saves);
    void *ctx;
};

/* `cure` may be NULL.  False: no host memory; nothing needs to be freed. */
bool report_verdict_make(const struct run_summary *r,
                         const struct report_cure *cure,
                         struct report_verdict *out, struct tool_error *error);
void report_verdict_free(struct report_verdict *v);

/* Whether more than the snapshot's last state was recorded. */
bool report_has_history(const struct run_summary *r);

#endif
