/* replay_capacity.c - finds the smallest device that a trace runs on.
 *
 * No device below the peak of requested bytes is enough, so the search is
 * between that and what a large device had reserved at its peak.  Whether a
 * size fits is almost monotone, but not quite: bisection finds a boundary, then
 * the few sizes below it are tried one by one. */
#include "replay/replay_probe.h"
#include "trace/arena.h"

#define STEP_BYTES (UINT64_C(2) << 20)

enum { TRIED_BELOW = 8 };

struct search {
    const struct trace *trace;
    struct replay_work *work;
    struct arena arena; /* to fail; nothing is taken */
};

static bool fits_on(struct search *s, uint64_t capacity)
{
    struct replay_figures f;

    arena_check(&s->arena,
                replay_probe(s->trace, s->work, capacity, &f, s->arena.error));
    return f.fits;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

/* The first size from `high` on, in growing steps, that fits; `sufficient`
 * does. */
static uint64_t raise_high(struct search *s, uint64_t sufficient, uint64_t high)
{
    for (uint64_t more = STEP_BYTES; high < sufficient; more *= 2) {
        if (fits_on(s, high))
            return high;
        high += more;
    }
    return sufficient;
}

/* A boundary from `low` to `high`, which fits. */
static uint64_t bisect(struct search *s, uint64_t low, uint64_t high)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / STEP_BYTES / 2 * STEP_BYTES;

        if (fits_on(s, middle))
            high = middle;
        else
            low = middle + STEP_BYTES;
    }
    return high;
}

/* The smallest of `high`, which fits, and the sizes just below it, tried one by
 * one. */
static uint64_t try_below(struct search *s, uint64_t low, uint64_t high)
{
    uint64_t smallest = high;

    for (unsigned i = 1; i <= TRIED_BELOW && high >= low + i * STEP_BYTES;
         i++) {
        if (fits_on(s, high - i * STEP_BYTES))
            smallest = high - i * STEP_BYTES;
    }
    return smallest;
}

static uint64_t find(struct search *s)
{
    struct replay_figures f;
    uint64_t low;
    uint64_t high;
    uint64_t sufficient;

    arena_need(&s->arena, trace_peak_requested(s->trace, &low));
    arena_check(&s->arena, replay_probe_roomy(s->trace, s->work, low, &f,
                                              &sufficient, s->arena.error));
    if (!f.fits)
        return 0;
    low = round_up(low > 0 ? low : 1);
    high = f.context_bytes + f.peak_reserved_bytes;
    high = raise_high(s, sufficient, round_up(high > low ? high : low));
    return try_below(s, low, bisect(s, low, high));
}

bool replay_capacity_find(const struct trace *t, struct replay_work *work,
                          uint64_t *out, struct tool_error *error)
{
    struct search s = {.trace = t, .work = work, .arena = {.error = error}};

    if (setjmp(s.arena.failed) != 0)
        return arena_end(&s.arena, false);
    *out = find(&s);
    return arena_end(&s.arena, true);
}
