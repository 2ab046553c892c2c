/* trace_lines.c - reads a file as lines of text. */
#include "trace/trace_lines.h"

#include <inttypes.h>
#include <string.h>

void trace_lines_begin(struct trace_source *source, const char *path,
                       struct trace_lines *l)
{
    l->path = path;
    l->source = source;
    l->number = 0;
    l->at_end = false;
    l->begin = 0;
    l->end = 0;
}

void trace_lines_close(struct trace_lines *l)
{
    trace_source_close(l->source);
    l->source = NULL;
}

/* Read more bytes behind those in the buffer. */
static bool lines_fill(struct trace_lines *l, struct tool_error *error)
{
    size_t count;

    if (l->end == sizeof l->buffer) {
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    if (!trace_source_read(l->source, l->buffer + l->end,
                           sizeof l->buffer - l->end, &count, error))
        return false;
    l->end += count;
    l->at_end = count == 0;
    return true;
}

/* Return `length` bytes as a line, and skip `skip` bytes more. */
static void lines_take(struct trace_lines *l, size_t length, size_t skip,
                       const char **line, size_t *line_length)
{
    *line = l->buffer + l->begin;
    l->begin += length + skip;
    if (length > 0 && (*line)[length - 1] == '\r')
        length--;
    *line_length = length;
}

bool trace_lines_next(struct trace_lines *l, const char **line, size_t *length,
                      struct tool_error *error)
{
    size_t searched = 0;

    l->number++;
    for (;;) {
        size_t left = l->end - l->begin;
        char *from = l->buffer + l->begin;
        char *lf = memchr(from + searched, '\n', left - searched);
        size_t have = lf != NULL ? (size_t)(lf - from) : left;

        if (have > TRACE_LINE_MAX)
            return tool_fail(error,
                             "%s:%" PRIu64 ": a line of more than %d bytes; "
                             "expected one operation a line",
                             l->path, l->number, TRACE_LINE_MAX);
        if (lf != NULL) {
            lines_take(l, have, 1, line, length);
            return true;
        }
        if (l->at_end) {
            if (left == 0)
                *line = NULL;
            else
                lines_take(l, left, 0, line, length);
            return true;
        }
        searched = left;
        if (!lines_fill(l, error))
            return false;
    }
}
