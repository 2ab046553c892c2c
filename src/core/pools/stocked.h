/* stocked.h - of a pool's heaps those that may have something to give back.
 * Private to core.
 *
 * A heap is stocked when a free block is put into it, and until it was looked
 * through and nothing was found: so what is done for lack of memory visits
 * heaps that hold some, and not one for each stream there ever was.  One with a
 * shard stays, as its blocks come back by a way that tells nobody (fast.h).
 *
 * Rule, checked by larder_check():
 *   B7  a heap that could give back something is stocked. */
#ifndef LARDER_CORE_POOLS_STOCKED_H
#define LARDER_CORE_POOLS_STOCKED_H

#include "core/state/allocator.h"

/* Put it in its place; not twice.  There is room for all heaps. */
void larder__stocked_add(struct heap *heap);

static inline void heap_stock(struct heap *heap)
{
    if (__builtin_expect(!heap->is_stocked, 0))
        larder__stocked_add(heap);
}

/* Drop those that have nothing to give back: before all are visited. */
void larder__stocked_tidy(const struct allocator *a, struct pool *pool);

/* The same, with those that were just made to give all they could. */
void larder__stocked_empty(struct pool *pool);

#endif
