/* replay_probe.c - answers questions about a trace under some settings, without
 * a full result. */
#include "replay/replay_probe.h"

#include "replay/replay_counters.h"
#include "replay/replay_session.h"

/* Probes are not part of the work that was announced. */
static struct replay_options quiet(const struct replay_options *options)
{
    struct replay_options o = *options;

    o.progress = NULL;
    return o;
}

bool replay_fits(const struct trace *t, const struct replay_options *options,
                 uint64_t capacity, bool *fits, struct tool_error *error)
{
    struct replay_options o = quiet(options);
    struct replay_work work = {&o, 0, 0};
    struct replay_session s;
    bool ok;

    if (!replay_session_open(t, &work, capacity, &s, error))
        return false;
    ok = replay_pass_probe(&s, fits, error);
    replay_session_close(&s);
    return ok;
}

bool replay_min_capacity(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         uint64_t *ops, struct tool_error *error)
{
    struct replay_options o = quiet(options);
    struct replay_work work = {&o, 0, 0};
    bool ok = replay_capacity_find(t, &work, out, error);

    if (ops != NULL)
        *ops = work.probed;
    return ok;
}

static bool take_figures(struct replay_session *s, struct replay_figures *out,
                         struct tool_error *error)
{
    larder_device_counters n;
    larder_stats st;

    larder_stats_init(&st);
    if (larder_stats_get(s->allocator, &st) != LARDER_OK)
        return tool_fail(error, "%s", larder_last_error());
    if (!replay_counters_get(s->device, &n, error))
        return false;
    out->peak_allocated_bytes = (uint64_t)st.allocated_bytes.all.peak;
    out->peak_reserved_bytes = (uint64_t)st.reserved_bytes.all.peak;
    out->driver_calls = replay_counters_calls(&n);
    out->driver_time_ns = n.time_ns;
    return true;
}

bool replay_get_figures(const struct trace *t,
                        const struct replay_options *options, uint64_t capacity,
                        struct replay_figures *out, struct tool_error *error)
{
    struct replay_options o = quiet(options);
    struct replay_work work = {&o, 0, 0};
    struct replay_session s;
    bool ok;

    if (!replay_session_open(t, &work, capacity, &s, error))
        return false;
    ok = replay_pass_probe(&s, &out->fits, error) &&
         take_figures(&s, out, error);
    out->ops = work.probed;
    replay_session_close(&s);
    return ok;
}

bool replay_device_bytes(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         struct tool_error *error)
{
    struct replay_options o = quiet(options);
    struct replay_work work = {&o, 0, 0};
    larder_device_props props = {.size = sizeof props};
    struct replay_session s;
    bool ok;

    if (!replay_session_open(t, &work, 0, &s, error))
        return false;
    ok = larder_device_get_props(s.device, &props) == LARDER_OK ||
         tool_fail(error, "%s", larder_last_error());
    *out = props.total_bytes > props.context_bytes
               ? props.total_bytes - props.context_bytes
               : 0;
    replay_session_close(&s);
    return ok;
}
