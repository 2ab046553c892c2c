/* trace_lines.h - a file as lines of text. */
#ifndef LARDER_TRACE_TRACE_LINES_H
#define LARDER_TRACE_TRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"
#include "trace/trace_source.h"

struct trace_lines {
    const char *path;
    struct trace_source *source;
    uint64_t number; /* of the line last returned, from 1 */
    bool at_end;     /* the source has no more */
    size_t begin;    /* buffer[begin, end) is still to be returned */
    size_t end;
    /* Twice a line, so that moving what is left to the front happens at most
     * once per TRACE_LINE_MAX bytes. */
    char buffer[2 * (TRACE_LINE_MAX + 1)];
};

/* `path` must outlive the lines. */
bool trace_lines_open(const char *path, struct trace_lines *l,
                      struct tool_error *error);
/* Of a source that is open, and becomes the lines'. */
void trace_lines_begin(struct trace_source *source, const char *path,
                       struct trace_lines *l);
void trace_lines_close(struct trace_lines *l);

/* The first bytes of the file, without taking them; for telling formats
 * apart before the first line is read. */
bool trace_lines_peek(struct trace_lines *l, const char **bytes, size_t *count,
                      struct tool_error *error);

/* The next line without its end (LF or CRLF); NULL after the last.  Valid
 * until the next call.  An error if it is longer than TRACE_LINE_MAX. */
bool trace_lines_next(struct trace_lines *l, const char **line, size_t *length,
                      struct tool_error *error);

#endif
