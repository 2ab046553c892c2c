/* summary_of_run.h - the figures of a device's history that report and diff
 * use. */
#pragma once

#include "report/explain.h"
#include "report/groups.h"
#include "report/iterations.h"
#include "report/moment.h"

/* Columns of the small charts of memory over the run. */
enum { RUN_COLUMNS = 60 };

struct run_summary {
    const struct lifetimes *lifetimes; /* not owned */
    uint64_t peak_requested;           /* each peak is at a moment of its own */
    uint64_t peak_allocated;
    uint64_t peak_reserved;
    uint32_t peak_state; /* of allocated */
    /* Where the other maxima were: peak_state if they were reached there too. */
    uint32_t requested_state;
    uint32_t reserved_state;
    /* The maximum in each column. */
    uint64_t requested[RUN_COLUMNS];
    uint64_t allocated[RUN_COLUMNS];
    uint64_t reserved[RUN_COLUMNS];
    struct moment peak;
    uint64_t savable;    /* then, if segments could grow */
    uint8_t *categories; /* by allocation */
    bool trains;         /* a training step was, or may have been, recorded */
    /* The line with the largest live share at the peak; UINT32_MAX: unknown. */
    uint32_t main_activations;
    uint32_t main_temporaries;
    struct report_groups lines;
    struct report_groups paths;
    struct report_groups kinds; /* categories */
    struct iterations iterations;
    uint64_t *iteration_peaks; /* maximum allocated in each */
    bool steady;               /* each begins with about as much allocated */
    bool are_iterations; /* marked, or each is seen to be a step of training */
    bool may_be_layers;  /* there are call paths, and they do not tell */
    bool activations_known;                   /* those at the peak */
    uint64_t counts[SNAPSHOT_ACTION_MAX + 1]; /* number of events */
    int64_t duration_us;                      /* 0: unknown */
    int64_t peak_us;                          /* since the first event */
    int64_t requested_us;
    int64_t reserved_us;
    uint64_t driver_ns; /* estimated, for segments */
};

/* What an arena of reports says for lack of memory. */
#define REPORT_NO_MEMORY "not enough host memory for the report"

/* l must stay valid. */
void run_summary_make(struct arena *arena, const struct lifetimes *l,
                      struct run_summary *out);

/* Of a device, with its lifetimes. */
const struct run_summary *run_summary_of(struct arena *arena,
                                         const struct snapshot *s,
                                         size_t device);

/* The minimum that each iteration has leaked, and the number of its largest
 * allocation; 0: nothing (findings.c). */
uint64_t finding_leak(const struct run_summary *f, uint32_t *largest);
/* Whether an allocation was not freed that is not kept on purpose. */
bool finding_is_left(const struct run_summary *f, uint32_t number);

/* The bytes of optimizer state that the next step begins with, beyond those at
 * the peak; 0: none, or memory ran out first. */
uint64_t report_next_step(const struct run_summary *r);

/* The bytes in use at the peak whose category was recorded; those of the rest
 * are guesses (report_lists.c). */
uint64_t report_told_bytes(const struct run_summary *r);
