/* trace_source.h - the bytes of a trace file, decompressed while reading. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace/tool_error.h"

struct trace_source; /* opaque */

/* Open a file ("-": the standard input) and inspect its first bytes: reads
 * decompress if it is a zstd file. `path` must outlive the source. */
bool trace_source_open(const char *path, struct trace_source **out,
                       struct tool_error *error);

/* The same for bytes in memory, which must outlive the source; messages name
 * them `path`. */
bool trace_source_open_memory(const void *bytes, size_t count, const char *path,
                              struct trace_source **out,
                              struct tool_error *error);

enum { TRACE_PEEK_BYTES = 64 };

/* The first bytes, TRACE_PEEK_BYTES if there are as many, without consuming
 * them.  Call it before reading. */
bool trace_source_peek(struct trace_source *s, const unsigned char **bytes,
                       size_t *count, struct tool_error *error);

/* Accepts NULL. */
void trace_source_close(struct trace_source *s);

/* Read up to `capacity` bytes, at least one; *count is 0 at the end.  Errors in
 * compressed data name the offset in the file. */
bool trace_source_read(struct trace_source *s, void *buffer, size_t capacity,
                       size_t *count, struct tool_error *error);
