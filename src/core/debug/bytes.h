/* bytes.h - reads and writes the device's bytes, through its own table of
 * functions.  Private to core. */
#pragma once

#include "core/debug/debug.h"

enum { BYTES_READ_MAX = 256 << 10 /* at once */ };

/* A range of the device's memory. */
struct bytes_range {
    larder_addr addr;
    uint64_t bytes;
};

/* Whether work may be queued on the stream and waited for: not if it would
 * become part of a graph. */
bool larder__bytes_may(struct allocator *a, larder_stream stream);

/* Queue a fill of the range with `value` on the stream; the device's errors. */
larder_result larder__bytes_fill(struct allocator *a, struct bytes_range range,
                                 unsigned char value, larder_stream stream);

/* Read the ranges, in order, together at most BYTES_READ_MAX, after all work
 * queued on the stream.  Valid until the next read.  NULL: they cannot be
 * read. */
const unsigned char *larder__bytes_read(struct allocator *a,
                                        const struct bytes_range *ranges,
                                        size_t count, larder_stream stream);

/* The offset of the first byte that is not `value`; `bytes` if there is
 * none. */
uint64_t larder__bytes_differ(const unsigned char *at, uint64_t bytes,
                              unsigned char value);

/* Call it when `d` is destroyed. */
void larder__bytes_end(struct debug *d);
