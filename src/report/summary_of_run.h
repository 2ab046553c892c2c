/* summary_of_run.h - the figures of a device's history that report and diff
 * show. */
#ifndef LARDER_REPORT_SUMMARY_OF_RUN_H
#define LARDER_REPORT_SUMMARY_OF_RUN_H

#include "report/explain.h"
#include "report/groups.h"
#include "report/iterations.h"
#include "report/moment.h"

/* Columns of the small pictures of memory over the run. */
enum { RUN_COLUMNS = 60 };

struct run_summary {
    const struct lifetimes *lifetimes; /* not owned */
    uint64_t peak_requested; /* each the highest, at a moment of its own */
    uint64_t peak_allocated;
    uint64_t peak_reserved;
    uint32_t peak_state; /* of allocated */
    /* The most in each part of the run. */
    uint64_t requested[RUN_COLUMNS];
    uint64_t allocated[RUN_COLUMNS];
    uint64_t reserved[RUN_COLUMNS];
    struct moment peak;
    uint8_t *categories; /* by allocation */
    bool trains;         /* a training step was recorded, or may have been */
    /* Whose most is alive at the peak; UINT32_MAX: nobody's that is known. */
    uint32_t main_activations;
    uint32_t main_temporaries;
    struct report_group *lines;
    size_t line_count;
    struct report_group *paths;
    size_t path_count;
    struct report_group *kinds; /* categories */
    size_t kind_count;
    struct iterations iterations;
    uint64_t *iteration_peaks; /* most allocated in each */
    bool steady; /* each of them begins with about as much allocated */
    uint64_t counts[SNAPSHOT_ACTION_MAX + 1]; /* of events */
    int64_t duration_us;                      /* 0: not known */
    int64_t peak_us;                          /* since the first event */
    uint64_t driver_ns;                       /* of segments, as estimated */
};

/* l has to stay.  False: no host memory; nothing is left to free. */
bool run_summary_make(const struct lifetimes *l, struct run_summary *out,
                      struct tool_error *error);
void run_summary_free(struct run_summary *r);

#endif
