/* kept.h - host memory that holds the contents of pages while they are
 * released.  Private to core. */
#ifndef LARDER_CORE_PAUSE_KEPT_H
#define LARDER_CORE_PAUSE_KEPT_H

#include "core/state/allocator.h"

/* Allocate host memory for `bytes`.  False: there is none, and k is empty. */
bool larder__kept_take(struct allocator *a, struct kept *k, uint64_t bytes);

/* Wait for the copies to and from it that were queued on the stream.  If the
 * wait fails it is marked as in flight. */
larder_result larder__kept_wait(struct allocator *a, struct kept *k,
                                larder_stream stream);

/* Free it; k is empty then.  False: it is in flight or the device fails to free
 * it, and it stays. */
bool larder__kept_free(struct allocator *a, struct kept *k);

#endif
