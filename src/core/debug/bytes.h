/* bytes.h - bytes of the device, by its own table.  Private to core. */
#ifndef LARDER_CORE_DEBUG_BYTES_H
#define LARDER_CORE_DEBUG_BYTES_H

#include "core/debug/debug.h"

enum { BYTES_READ_MAX = 256 << 10 /* at once */ };

/* Part of the device's memory. */
struct bytes_range {
    larder_addr addr;
    uint64_t bytes;
};

/* Whether work may be put on the stream and waited for: not if it would become
 * part of a graph. */
bool larder__bytes_may(struct allocator *a, larder_stream stream);

larder_result larder__bytes_fill(struct allocator *a, struct bytes_range range,
                                 unsigned char value, larder_stream stream);

/* Have what the ranges hold, one behind the other and together at most
 * BYTES_READ_MAX, once the stream has done what it was told.  Valid until the
 * next read; NULL: it cannot be had. */
const unsigned char *larder__bytes_read(struct allocator *a,
                                        const struct bytes_range *ranges,
                                        size_t count, larder_stream stream);

/* The first of the bytes that is not `value`; `bytes` if all are. */
uint64_t larder__bytes_differ(const unsigned char *at, uint64_t bytes,
                              unsigned char value);

/* Of the debug that goes. */
void larder__bytes_end(struct debug *d);

#endif
