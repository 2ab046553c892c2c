/* trace.h - an allocation trace in memory: a compact array of operations.
 *
 * The text form has one line for each operation; `#` starts a comment:
 *
 *   a ID BYTES [STREAM]   allocate; IDs are dense from 0, each allocated once
 *   f ID                  free
 *   r ID STREAM           ID is used on STREAM as well
 *   c STREAM              everything queued on STREAM so far has completed
 *   e                     empty the cache
 *   m LABEL               a mark
 *
 * Nothing here is thread safe; different traces are independent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/tool_error.h"

enum {
    TRACE_STREAMS = 65536, /* stream numbers are below this */
    TRACE_POOLS = 255,     /* private pools have numbers from 1 to this */
    TRACE_LINE_MAX = 65535 /* bytes in a line, without its end */
};

enum trace_kind {
    TRACE_ALLOC,
    TRACE_FREE,
    TRACE_RECORD,
    TRACE_COMPLETE,
    TRACE_EMPTY_CACHE,
    TRACE_MARK
};

/* 16 bytes, so that a cache line holds four.  Fields that a kind does not use
 * are 0. */
struct trace_op {
    uint64_t bytes; /* ALLOC: 0 to 2^63 - 1; MARK: offset of the label */
    uint32_t id;
    uint16_t stream;
    uint8_t kind; /* enum trace_kind */
    uint8_t pool; /* ALLOC: a private pool, or 0; not in the text form */
};

struct trace {
    struct trace_op *ops;
    size_t op_count;
    size_t op_capacity;
    size_t id_count;    /* IDs are 0 to id_count - 1 */
    size_t counted_ops; /* all except marks */
    size_t mark_count;
    bool orders_work; /* contains RECORD or COMPLETE */
    bool has_refused; /* of a snapshot: */
    uint32_t refused; /* ID of the last request that failed when recorded */
    char *labels;     /* labels of marks, each with a NUL */
    size_t label_bytes;
    size_t label_capacity;
};

/* Make an empty trace, which owns nothing yet. */
void trace_init(struct trace *t);

/* Free what the trace owns, and make it empty. */
void trace_free(struct trace *t);

/* Append an operation that is not a mark.  The caller follows the rules for
 * IDs.  False: no host memory; nothing was appended. */
bool trace_append(struct trace *t, const struct trace_op *op);

/* Append a mark.  False: no host memory; nothing was appended. */
bool trace_append_mark(struct trace *t, const char *label, size_t length);

/* The label of a mark; valid until the next append. */
const char *trace_label(const struct trace *t, const struct trace_op *op);

/* The maximum sum of live bytes if no allocation fails.  False: no host
 * memory. */
bool trace_peak_requested(const struct trace *t, uint64_t *out);

/* Read a trace from a source of text, which is closed; `path` is for messages.
 * Blank lines, comments and CRLF are accepted; an empty file is an empty trace.
 *
 * On failure *out is empty, and the error begins with "FILE:LINE: " if a line
 * caused it, otherwise with "FILE: ", then says what was found and what was
 * expected.  Cost: one pass, 16 bytes for each operation. */
struct trace_source;
bool trace_read_source(struct trace_source *source, const char *path,
                       struct trace *out, struct tool_error *error);

/* Write the trace as text that trace_read_source() reads back as the same operations.
 * Labels must not contain `#` or a line end, nor begin or end with a blank or a
 * carriage return.  False: writing failed, and errno says why; a part may have
 * been written. */
bool trace_write(const struct trace *t, FILE *out);
