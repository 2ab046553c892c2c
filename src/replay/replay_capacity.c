/* replay_capacity.c - finds the smallest device that a trace runs on.
 *
 * No device below the peak of requested bytes is enough, so the search is
 * between that and what a large device had reserved at its peak.  Whether a
 * size fits is almost monotone, but not quite: bisection finds a boundary, then
 * the few sizes below it are tried one by one. */
#include "replay/replay_session.h"
#include "replay/replay_spec.h"

#define STEP_BYTES (UINT64_C(2) << 20)
/* Large devices: the first, and the last before giving up, which is the largest
 * that can be simulated. */
#define ROOMY_BYTES (UINT64_C(80) << 30)
#define ROOMY_MAX_BYTES (UINT64_C(16) << 40)

enum { TRIED_BELOW = 8 };

struct search {
    const struct trace *trace;
    struct replay_work *work;
    struct tool_error *error;
};

bool replay_pass_probe(struct replay_session *s, bool *fits,
                       struct tool_error *error)
{
    const struct trace *t = s->trace;
    size_t i;

    *fits = true;
    for (i = 0; i < t->op_count; i++) {
        larder_result r = replay_step(s, &t->ops[i]);

        if (r == LARDER_ERR_OUT_OF_MEMORY && t->ops[i].kind == TRACE_ALLOC) {
            *fits = false;
            break;
        }
        if (r != LARDER_OK)
            return replay_op_fail(s, i, error);
    }
    s->work->probed += i;
    replay_work_done(s->work, t->op_count);
    return true;
}

/* The device memory in use at the peak: context and reserved bytes. */
static bool read_peak(struct search *s, struct replay_session *session,
                      uint64_t *out)
{
    larder_device_props props = {.size = sizeof props};
    larder_stats st;

    larder_stats_init(&st);
    if (larder_device_get_props(session->device, &props) != LARDER_OK ||
        larder_stats_get(session->allocator, &st) != LARDER_OK)
        return tool_fail(s->error, "%s", larder_last_error());
    *out = props.context_bytes + (uint64_t)st.reserved_bytes.all.peak;
    return true;
}

/* Replay on a device of this capacity.  `peak` may be NULL. */
static bool probe(struct search *s, uint64_t capacity, bool *fits,
                  uint64_t *peak)
{
    struct replay_session session;
    bool ok;

    if (!replay_session_open(s->trace, s->work, capacity, &session, s->error))
        return false;
    ok = replay_pass_probe(&session, fits, s->error);
    if (ok && peak != NULL)
        ok = read_peak(s, &session, peak);
    replay_session_close(&session);
    return ok;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

/* The peak on the first large device that fits, and that device's capacity;
 * both are 0 if none does. */
static bool find_sufficient(struct search *s, uint64_t low, uint64_t *peak,
                            uint64_t *sufficient)
{
    uint64_t size = ROOMY_BYTES;
    bool fits = false;

    for (;;) {
        *sufficient = size < ROOMY_MAX_BYTES ? size : ROOMY_MAX_BYTES;
        if (*sufficient >= low && !probe(s, *sufficient, &fits, peak))
            return false;
        if (fits)
            return true;
        if (*sufficient == ROOMY_MAX_BYTES)
            break;
        size *= 2;
    }
    *peak = 0;
    *sufficient = 0;
    return true;
}

/* Increase *high in growing steps until it fits; `sufficient` does. */
static bool raise_high(struct search *s, uint64_t sufficient, uint64_t *high)
{
    bool fits = false;

    for (uint64_t more = STEP_BYTES; *high < sufficient; more *= 2) {
        if (!probe(s, *high, &fits, NULL))
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

        if (!probe(s, middle, &fits, NULL))
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
        if (!probe(s, size, &fits, NULL))
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
    uint64_t low;
    uint64_t high;
    uint64_t sufficient;

    *out = 0;
    if (!trace_peak_requested(t, &low))
        return tool_fail(error, "out of host memory");
    if (low > ROOMY_MAX_BYTES)
        return true;
    low = round_up(low > 0 ? low : 1);
    if (!find_sufficient(&s, low, &high, &sufficient))
        return false;
    if (sufficient == 0)
        return true;
    high = round_up(high > low ? high : low);
    if (!raise_high(&s, sufficient, &high) || !bisect(&s, low, &high) ||
        !try_below(&s, low, &high))
        return false;
    *out = high;
    return true;
}
