/* snapshot_input.c - a snapshot, or the one that replaying a trace produces,
 * for report, diff and view. */
#include "snapshot_input.h"

#include <stdlib.h>

#include "convert_trace.h"
#include "snapshot/notes_as_stacks.h"
#include "trace/trace_source.h"

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

    if (!convert_trace_pickle(t, options, &pickle, &size, &inner))
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
