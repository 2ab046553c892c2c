#include "replay/replay_probe.h"

#include "replay/replay_session.h"

/* The probes are no part of the work that was announced. */
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
    struct replay_work work = {&o, 0};
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
                         struct tool_error *error)
{
    struct replay_options o = quiet(options);
    struct replay_work work = {&o, 0};

    return replay_capacity_find(t, &work, out, error);
}

bool replay_device_bytes(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         struct tool_error *error)
{
    struct replay_options o = quiet(options);
    struct replay_work work = {&o, 0};
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
