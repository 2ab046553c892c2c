#include "convert_trace.h"

/* An operation is two events at most, but for segments, and those are not
 * taken or released more often than blocks. */
enum { EVENTS_PER_OP = 4, EVENTS_MORE = 1024 };

bool convert_trace_snapshot(const struct trace *t,
                            const struct replay_options *options,
                            const char *path, struct tool_error *error)
{
    struct replay_options with_history = *options;
    struct replay_result result;

    /* Who wants a snapshot wants to see what PyTorch would do. */
    if (with_history.policy == LARDER_POLICY_DEFAULT)
        with_history.policy = LARDER_POLICY_PYTORCH;
    with_history.snapshot = path;
    with_history.history_events = EVENTS_PER_OP * t->op_count + EVENTS_MORE;
    if (!replay_run(t, &with_history, &result, error))
        return false;
    replay_result_free(&result);
    return true;
}
