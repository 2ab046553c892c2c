/* trace_ahead.h - reads ahead: while one thread processes a file, another reads
 * and decompresses the next part. */
#pragma once

#include "trace/trace_source.h"

struct trace_ahead; /* opaque */

/* Start reading `source` in another thread; the source must outlive this.
 * NULL: no memory or no thread; read the source directly. */
struct trace_ahead *trace_ahead_start(struct trace_source *source);

/* As trace_source_read(). */
bool trace_ahead_read(struct trace_ahead *a, void *buffer, size_t capacity,
                      size_t *count, struct tool_error *error);

/* Accepts NULL.  Waits for a read in progress. */
void trace_ahead_stop(struct trace_ahead *a);
