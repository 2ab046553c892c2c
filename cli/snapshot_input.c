/* snapshot_input.c - a snapshot, or the one that replaying a trace produces,
 * for report, diff, view and convert. */
#include "snapshot_input.h"

#include <stdio.h>
#include <stdlib.h>

#include "snapshot/notes_as_stacks.h"
#include "trace/trace_source.h"

/* An operation causes at most two events, except for segments, and those are
 * not acquired or released more often than blocks. */
enum { EVENTS_PER_OP = 4, EVENTS_MORE = 1024 };

static bool run(const struct trace *t, struct replay_options *options,
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

bool snapshot_input_write(const struct trace *t,
                          const struct replay_options *options,
                          const char *path, struct tool_error *error)
{
    struct replay_options o = *options;

    o.snapshot = path;
    return run(t, &o, error);
}

static int put(void *ctx, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, ctx) != count;
}

static bool make_pickle(const struct trace *t,
                        const struct replay_options *options, char **out,
                        size_t *size, struct tool_error *error)
{
    struct replay_options o = *options;
    FILE *file = open_memstream(out, size);
    bool ok;

    if (file == NULL)
        return tool_fail(error, "out of host memory");
    o.take_snapshot = put;
    o.take_snapshot_ctx = file;
    ok = run(t, &o, error);
    if (fclose(file) != 0 && ok)
        ok = tool_fail(error, "out of host memory");
    if (!ok)
        free(*out);
    return ok;
}

static bool read_memory(const void *bytes, size_t size, const char *name,
                        struct snapshot **out, struct tool_error *error)
{
    struct trace_source *source;

    return trace_source_open_memory(bytes, size, name, &source, error) &&
           snapshot_read_source(source, name, NULL, out, error);
}

bool snapshot_input_replay(const struct trace *t, const char *path,
                           const struct replay_options *options,
                           struct snapshot **out, struct tool_error *error)
{
    struct tool_error inner;
    char *pickle;
    size_t size;
    bool ok;

    if (!make_pickle(t, options, &pickle, &size, &inner))
        return tool_fail(error, "%s: %s", path, inner.text);
    ok = read_memory(pickle, size, path, out, error);
    free(pickle);
    return ok;
}

static bool read_either(const char *path, struct snapshot **out,
                        struct tool_error *error)
{
    struct replay_options options = {.policy = LARDER_POLICY_PYTORCH};
    struct replay_input in;
    struct trace t;
    bool ok;

    if (!replay_check(&options, error) || !replay_input_open(path, &in, error))
        return false;
    if (in.is_snapshot)
        return snapshot_read_source(in.source, path, NULL, out, error);
    if (!trace_read_source(in.source, path, &t, error))
        return false;
    /* An empty input is what a failed command leaves in a pipe. */
    ok = t.op_count > 0
             ? snapshot_input_replay(&t, path, &options, out, error)
             : tool_fail(error,
                         "%s: empty; expected a memory snapshot or a "
                         "trace",
                         path);
    trace_free(&t);
    return ok;
}

bool snapshot_input_read_memory(const void *bytes, size_t size,
                                const char *name, struct snapshot **out,
                                struct tool_error *error)
{
    return read_memory(bytes, size, name, out, error) &&
           snapshot_notes_as_stacks(*out, error);
}

bool snapshot_input_read(const char *path, struct snapshot **out,
                         struct tool_error *error)
{
    return read_either(path, out, error) &&
           snapshot_notes_as_stacks(*out, error);
}
