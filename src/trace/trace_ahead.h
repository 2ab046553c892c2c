/* trace_ahead.h - a source read ahead: while a file is gone through on one
 * core, another fetches (and decompresses) what comes next. */
#ifndef LARDER_TRACE_TRACE_AHEAD_H
#define LARDER_TRACE_TRACE_AHEAD_H

#include "trace/trace_source.h"

struct trace_ahead; /* opaque */

/* Read `source` from now on through this; the source must outlive it.  NULL
 * where there is no memory or no thread for it: read on as before. */
struct trace_ahead *trace_ahead_start(struct trace_source *source);

/* As trace_source_read(). */
bool trace_ahead_read(struct trace_ahead *a, void *buffer, size_t capacity,
                      size_t *count, struct tool_error *error);

/* Takes NULL.  Waits for a read that is under way. */
void trace_ahead_stop(struct trace_ahead *a);

#endif
