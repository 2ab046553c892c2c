/* order.h - the queued work that may still use memory which a heap has free.
 * Private to core.
 *
 * Free memory of a heap is in order on the heap's stream: work queued there
 * from now on comes after all that used it.  Before it leaves that order (it is
 * released to the device, returned to a piece, mapped elsewhere, or handed out
 * on another stream) the work queued so far has to be waited for, with one of
 * the functions below.  Freeing a driver allocation waits by itself; unmapping
 * and returning memory to a piece do not.
 *
 * A private pool that is lent (larder_pool_lend()) serves requests of another
 * stream with blocks in place.  The pool's heaps are then in order on that
 * stream as well; three rules keep it to that one stream (lend.c):
 *   - a block is lent after the work on its heap's stream;
 *   - lending ends after the work on the stream lent to;
 *   - what leaves the pool meanwhile waits for both.
 *
 * Rules, checked by larder_check():
 *   L1  a block that is lent lies in a private pool; under the policy larder
 *       that pool has lent;
 *   L2  only a pool that is lent has lent. */
#pragma once

#include "core/state/allocator.h"

/* The stream that the live or pending block was allocated on. */
static inline larder_stream block_stream(const struct block *b)
{
    const struct heap *heap = b->segment->heap;
    const struct private_pool *owner = heap->pool->owner;

    return b->is_lent && owner->has_lent ? owner->lent_stream : heap->stream;
}

/* Wait with an event until all work queued so far on the streams of the heap's
 * free memory has completed. */
larder_result larder__order_pass(struct allocator *a, const struct heap *heap);

/* The same by waiting for the whole streams, for releases that stand for a
 * driver's free.  (On a simulated device whose streams the program advances,
 * that completes nothing, as a free does not.)  Memory of the host needs no
 * wait: its only streams are recorded ones. */
larder_result larder__order_sync(struct allocator *a, const struct heap *heap);
