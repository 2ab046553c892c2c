/* snap_input.h - the decompressed bytes of a file through a moving window, with
 * the offset of each byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/snap_memory.h"
#include "trace/tool_error.h"
#include "trace/trace_ahead.h"
#include "trace/trace_source.h"

struct snap_input {
    const char *path;
    struct trace_source *source;
    struct trace_ahead *ahead; /* for large files; NULL: not used, or not yet */
    struct snap_memory *memory;
    uint64_t max_bytes;
    unsigned char *window;
    size_t capacity;
    uint64_t window_offset; /* of window[0] */
    /* [at, end) is read but not yet used.  Users advance `at`. */
    const unsigned char *at;
    const unsigned char *end;
    bool at_end; /* the file is exhausted */
    bool alone;  /* no thread could be created */
};

/* Path, source, memory and limit are set, and must outlive the input; it closes
 * the source.  False: no memory. */
bool snap_input_begin(struct snap_input *in);
void snap_input_close(struct snap_input *in);

/* Read on until `count` bytes from `at` on are available, or all up to the end
 * of the file; check `end`.  Moves the window: pointers into it become
 * invalid. */
bool snap_input_want(struct snap_input *in, size_t count,
                     struct tool_error *error);

static inline size_t snap_input_left(const struct snap_input *in)
{
    return (size_t)(in->end - in->at);
}

static inline uint64_t snap_input_offset(const struct snap_input *in,
                                         const unsigned char *p)
{
    return in->window_offset + (uint64_t)(p - in->window);
}
