/* recording_scope.c - what a recording covers, for verdicts. */
#include "recording_scope.h"

#include "report/summary_of_run.h"
#include "report/verdict.h"

enum { STEPS_MIN = 6 }; /* fewer show no trend */

/* The last one extends to the end of the recording, wherever that is.
 * Iterations that may be layers are not steps. */
static uint64_t whole_steps(const struct run_summary *r)
{
    return r->iterations.count > 0 && !r->may_be_layers
               ? r->iterations.count - 1
               : 0;
}

/* The minimum growth of memory from one step's beginning to the next; 0: some
 * step begins with less, or there are too few.  The first allocates state, and
 * the last two may be incomplete. */
static uint64_t find_growth(struct arena *arena, const struct run_summary *r)
{
    const struct lifetimes *l = r->lifetimes;
    const struct iterations *it = &r->iterations;
    uint64_t *curve =
        arena_take(arena, (size_t)l->event_count + 1, sizeof *curve);
    uint64_t least = UINT64_MAX;

    lifetimes_curve(l, CURVE_ALLOCATED, curve);
    for (size_t i = 2; i + 1 < it->count; i++) {
        uint64_t before = curve[it->begin[i - 1]];
        uint64_t now = curve[it->begin[i]];

        if (now <= before)
            least = 0;
        else if (now - before < least)
            least = now - before;
    }
    return !r->may_be_layers && it->count >= STEPS_MIN ? least : 0;
}

/* 0 as well if nothing failed. */
static uint64_t after_failure(const struct run_summary *r)
{
    uint32_t event = lifetimes_failure(r->lifetimes, r->lifetimes->event_count);

    return event != UINT32_MAX ? report_allocations_after(r, event) : 0;
}

bool recording_scope(const struct lifetimes *l, struct tune_scope *out,
                     struct tool_error *error)
{
    struct arena arena = {.error = error};
    struct run_summary r;

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    run_summary_make(&arena, l, &r);
    *out = (struct tune_scope){.steps = whole_steps(&r),
                               .next_bytes = report_next_step(&r),
                               .grows_bytes_per_step = find_growth(&arena, &r),
                               .after = after_failure(&r)};
    return arena_end(&arena, true);
}
