/* trace_lines.h - reads a file as lines of text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"
#include "trace/trace_source.h"

struct trace_lines {
    const char *path;
    struct trace_source *source;
    uint64_t number; /* number of the line last returned, from 1 */
    bool at_end;     /* the source is exhausted */
    size_t begin;    /* buffer[begin, end) is not returned yet */
    size_t end;
    /* Twice the longest line, so that the rest is moved to the start of the
     * buffer at most once for every TRACE_LINE_MAX bytes. */
    char buffer[2 * (TRACE_LINE_MAX + 1)];
};

/* Read from an open source, which now belongs to the lines; `path` must outlive
 * them. */
void trace_lines_begin(struct trace_source *source, const char *path,
                       struct trace_lines *l);
void trace_lines_close(struct trace_lines *l);

/* The next line without its end (LF or CRLF); NULL after the last.  Valid until
 * the next call.  It is an error if the line is longer than TRACE_LINE_MAX. */
bool trace_lines_next(struct trace_lines *l, const char **line, size_t *length,
                      struct tool_error *error);
