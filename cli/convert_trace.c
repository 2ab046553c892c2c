/* convert_trace.c - converts a trace to the snapshot of an allocator that ran
 * it. */
#include "convert_trace.h"

#include <stdio.h>
#include <stdlib.h>

/* An operation causes at most two events, except for segments, and those are
 * not acquired or released more often than blocks. */
enum { EVENTS_PER_OP = 4, EVENTS_MORE = 1024 };

static bool convert_trace_run(const struct trace *t,
                              struct replay_options *options,
                              struct tool_error *error)
{
    struct replay_result result;

    /* A snapshot should show what PyTorch would do. */
    if (options->policy == LARDER_POLICY_DEFAULT)
        options->policy = LARDER_POLICY_PYTORCH;
    options->history_events = EVENTS_PER_OP * t->op_count + EVENTS_MORE;
    if (!replay_run(t, options, &result, error))
        return false;
    replay_result_free(&result);
    return true;
}

bool convert_trace_snapshot(const struct trace *t,
                            const struct replay_options *options,
                            const char *path, struct tool_error *error)
{
    struct replay_options o = *options;

    o.snapshot = path;
    return convert_trace_run(t, &o, error);
}

static int convert_trace_put(void *ctx, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, ctx) != count;
}

bool convert_trace_pickle(const struct trace *t,
                          const struct replay_options *options, char **out,
                          size_t *size, struct tool_error *error)
{
    struct replay_options o = *options;
    FILE *file = open_memstream(out, size);
    bool ok;

    if (file == NULL)
        return tool_fail(error, "out of host memory");
    o.take_snapshot = convert_trace_put;
    o.take_snapshot_ctx = file;
    ok = convert_trace_run(t, &o, error);
    if (fclose(file) != 0 && ok)
        ok = tool_fail(error, "out of host memory");
    if (!ok)
        free(*out);
    return ok;
}
