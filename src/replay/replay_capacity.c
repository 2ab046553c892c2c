/* replay_capacity.c - finds the smallest device that a trace runs on.
 *
 * No device below the peak of requested bytes is enough, so the search is
 * between that and what a large device had reserved at its peak.  Whether a
 * size fits is almost monotone, but not quite: bisection finds a boundary, then
 * the few sizes below it are tried one by one. */
#include "replay/replay_probe.h"

#define STEP_BYTES (UINT64_C(2) << 20)

enum { TRIED_BELOW = 8 };

struct search {
    const struct trace *trace;
    struct replay_work *work;
    struct tool_error *error;
};

static bool fits_on(struct search *s, uint64_t capacity, bool *fits)
{
    struct replay_figures f;
    bool ok = replay_probe(s->trace, s->work, capacity, &f, s->error);

    *fits = ok && f.fits;
    return ok;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

/* Increase *high in growing steps until it fits; `sufficient` does. */
static bool raise_high(struct search *s, uint64_t sufficient, uint64_t *high)
{
    bool fits = false;

    for (uint64_t more = STEP_BYTES; *high < sufficient; more *= 2) {
        if (!fits_on(s, *high, &fits))
            return false;
        if (fits)
            return true;
        *high += more;
    }
    *high = sufficient;
    return true;
}

/* Lower *high, which fits, to a boundary above `low`. */
static bool bisect(struct search *s, uint64_t low, uint64_t *high)
{
    while (low < *high) {
        uint64_t middle = low + (*high - low) / STEP_BYTES / 2 * STEP_BYTES;
        bool fits = false;

        if (!fits_on(s, middle, &fits))
            return false;
        if (fits)
            *high = middle;
        else
            low = middle + STEP_BYTES;
    }
    return true;
}

/* Try the sizes just below *high one by one, and keep the smallest that
 * fits. */
static bool try_below(struct search *s, uint64_t low, uint64_t *high)
{
    uint64_t from = *high;

    for (unsigned i = 1; i <= TRIED_BELOW; i++) {
        uint64_t size = from - i * STEP_BYTES;
        bool fits = false;

        if (from < low + i * STEP_BYTES)
            break;
        if (!fits_on(s, size, &fits))
            return false;
        if (fits)
            *high = size;
    }
    return true;
}

bool replay_capacity_find(const struct trace *t, struct replay_work *work,
                          uint64_t *out, struct tool_error *error)
{
    struct search s = {.trace = t, .work = work, .error = error};
    struct replay_figures f;
    uint64_t low;
    uint64_t high;
    uint64_t sufficient;

    *out = 0;
    if (!trace_peak_requested(t, &low))
        return tool_fail(error, "out of host memory");
    if (!replay_probe_roomy(t, work, low, &f, &sufficient, error))
        return false;
    if (!f.fits)
        return true;
    low = round_up(low > 0 ? low : 1);
    high = f.context_bytes + f.peak_reserved_bytes;
    high = round_up(high > low ? high : low);
    if (!raise_high(&s, sufficient, &high) || !bisect(&s, low, &high) ||
        !try_below(&s, low, &high))
        return false;
    *out = high;
    return true;
}
