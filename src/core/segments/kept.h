/* kept.h - contents of memory that the host keeps while their pages are
 * released.  Private to core. */
#ifndef LARDER_CORE_KEPT_H
#define LARDER_CORE_KEPT_H

#include "core/state/allocator.h"

struct kept {
    char *host; /* NULL: nothing */
    uint64_t bytes;
    bool is_pinned;    /* `host` is the device's */
    bool is_in_flight; /* a copy may still read or write it */
};

/* Have memory for so many bytes; false: the host has none, and k is empty. */
bool larder__kept_take(struct allocator *a, struct kept *k, uint64_t bytes);

/* Wait for the copies to and from it that were queued on the stream.  If that
 * cannot be waited for, it is in flight. */
larder_result larder__kept_wait(struct allocator *a, struct kept *k,
                                larder_stream stream);

/* Free it; k is empty then.  False: it is in flight, or the device refuses,
 * and stays. */
bool larder__kept_free(struct allocator *a, struct kept *k);

#endif
