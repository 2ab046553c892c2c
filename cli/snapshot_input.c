#include "snapshot_input.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert_trace.h"
#include "snapshot/notes_as_stacks.h"

/* A name for a file that does not stay. */
static bool temporary_path(char path[PATH_MAX], struct tool_error *error)
{
    const char *folder = getenv("TMPDIR");
    int fd;

    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    if (snprintf(path, PATH_MAX, "%s/larder.XXXXXX", folder) >= PATH_MAX)
        return tool_fail(error, "TMPDIR: too long a name");
    fd = mkstemp(path);
    if (fd < 0)
        return tool_fail(error, "%s: %s", path, strerror(errno));
    close(fd);
    return true;
}

bool snapshot_input_replay(const struct trace *t, const char *path,
                           const struct replay_options *options,
                           struct snapshot **out, struct tool_error *error)
{
    char made[PATH_MAX];
    struct tool_error inner;
    bool ok;

    if (!temporary_path(made, error))
        return false;
    ok = convert_trace_snapshot(t, options, made, &inner);
    if (!ok)
        tool_set_error(error, "%s: %s", path, inner.text);
    ok = ok && snapshot_read(made, NULL, out, error);
    unlink(made);
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
    /* What a command that failed leaves in a pipe. */
    ok = t.op_count > 0
             ? snapshot_input_replay(&t, path, &options, out, error)
             : tool_fail(error,
                         "%s: nothing here; expected a memory snapshot or a "
                         "trace",
                         path);
    trace_free(&t);
    return ok;
}

bool snapshot_input_read(const char *path, struct snapshot **out,
                         struct tool_error *error)
{
    return read_either(path, out, error) &&
           snapshot_notes_as_stacks(*out, error);
}
