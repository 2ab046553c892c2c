/* kept.h - host memory that holds the contents of pages while they are
 * released.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Allocate host memory for `bytes`.  False: there is none. */
bool larder__kept_take(struct allocator *a, struct kept *k, uint64_t bytes);

/* Wait for the copies to and from it that were queued on the stream.  If the
 * wait fails it is marked as in flight. */
larder_result larder__kept_wait(struct allocator *a, struct kept *k,
                                larder_stream stream);

/* Free it, and what the device refused to free before; k is empty then, and can
 * be taken again.  False: it is in flight, and stays; or the device refuses, and
 * the next call tries again. */
bool larder__kept_free(struct allocator *a, struct kept *k);

/* The same at the end, when no work is queued: what the device refuses to free is
 * left to it. */
void larder__kept_leave(struct allocator *a, struct kept *k);
