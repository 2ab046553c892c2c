/* next_step.c - what the step after the recorded ones begins with, and they did
 * not. */
#include "report/summary_of_run.h"

/* A smaller part of the peak is neither a forward pass nor significant
 * state. */
enum { PASS_PART = 100 };

struct optimizer_state {
    uint64_t at_peak;
    uint64_t at_end;
    uint32_t made; /* the event of the last of it */
};

static struct optimizer_state find_state(const struct run_summary *r)
{
    const struct lifetimes *l = r->lifetimes;
    struct optimizer_state s = {0, 0, 0};

    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        if (r->categories[i] != REPORT_OPTIMIZER)
            continue;
        if (lifetime_in_use(a, r->peak_state))
            s.at_peak += a->rounded;
        if (a->end != l->event_count)
            continue;
        s.at_end += a->rounded;
        if (a->start != LIFETIME_BEFORE)
            s.made = a->start;
    }
    return s;
}

/* Whether a forward pass followed the making of the state. */
static bool has_next(const struct run_summary *r, uint32_t made)
{
    const struct lifetimes *l = r->lifetimes;
    uint64_t bytes = 0;

    for (size_t i = l->before_count; i < l->alloc_count; i++) {
        if (l->allocs[i].start > made && r->categories[i] == REPORT_ACTIVATIONS)
            bytes += l->allocs[i].rounded;
    }
    return bytes > r->peak_allocated / PASS_PART;
}

/* State that the optimizer makes at the end of the first step is there in all
 * later ones.  A recording of one step has its peak before that. */
uint64_t report_next_step(const struct run_summary *r)
{
    struct optimizer_state s = find_state(r);

    if (r->counts[SNAPSHOT_OOM] > 0 || s.at_end <= s.at_peak ||
        s.at_end - s.at_peak <= r->peak_allocated / PASS_PART ||
        has_next(r, s.made))
        return 0;
    return s.at_end - s.at_peak;
}
