/* read_file.h - reads a trace, a snapshot or lines from a file. */
#pragma once

#include "snapshot/snapshot.h"
#include "trace/trace.h"
#include "trace/trace_lines.h"
#include "trace/trace_source.h"

static inline bool trace_read(const char *path, struct trace *out,
                              struct tool_error *error)
{
    struct trace_source *source;

    trace_init(out);
    return trace_source_open(path, &source, error) &&
           trace_read_source(source, path, out, error);
}

static inline bool snapshot_read(const char *path,
                                 const struct snapshot_read_options *options,
                                 struct snapshot **out,
                                 struct tool_error *error)
{
    struct trace_source *source;

    *out = NULL;
    return trace_source_open(path, &source, error) &&
           snapshot_read_source(source, path, options, out, error);
}

static inline bool trace_lines_open(const char *path, struct trace_lines *l,
                                    struct tool_error *error)
{
    struct trace_source *source = NULL;
    bool ok = trace_source_open(path, &source, error);

    trace_lines_begin(ok ? source : NULL, path, l);
    return ok;
}
