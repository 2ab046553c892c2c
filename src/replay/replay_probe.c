/* replay_probe.c - passes up to the first failed allocation. */
#include "replay/replay_probe.h"

#include "replay/replay_session.h"

/* Large devices: the first, and the largest that can be simulated. */
#define ROOMY_BYTES (UINT64_C(80) << 30)
#define ROOMY_MAX_BYTES (UINT64_C(16) << 40)

static bool run_pass(struct replay_session *s, bool *fits,
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

bool replay_probe(const struct trace *t, struct replay_work *work,
                  uint64_t capacity, struct replay_figures *out,
                  struct tool_error *error)
{
    struct replay_session s;
    struct replay_reading now;
    bool ok;

    if (!replay_session_open(t, work, capacity, &s, error))
        return false;
    ok = run_pass(&s, &out->fits, error) && replay_read(&s, &now, error);
    replay_session_close(&s);
    if (!ok)
        return false;
    out->peak_allocated_bytes = (uint64_t)now.stats.allocated_bytes.all.peak;
    out->peak_reserved_bytes = (uint64_t)now.stats.reserved_bytes.all.peak;
    out->context_bytes = now.props.context_bytes;
    out->driver_calls = now.driver_calls;
    out->driver_time_ns = now.counters.time_ns;
    return true;
}

bool replay_probe_roomy(const struct trace *t, struct replay_work *work,
                        uint64_t low, struct replay_figures *out,
                        uint64_t *capacity, struct tool_error *error)
{
    out->fits = false;
    for (uint64_t size = ROOMY_BYTES;; size *= 2) {
        *capacity = size < ROOMY_MAX_BYTES ? size : ROOMY_MAX_BYTES;
        if (*capacity >= low && !replay_probe(t, work, *capacity, out, error))
            return false;
        if (out->fits || *capacity == ROOMY_MAX_BYTES)
            return true;
    }
}
