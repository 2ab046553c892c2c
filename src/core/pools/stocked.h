/* stocked.h - the heaps of a pool that may have memory to release.  Private to
 * core.
 *
 * A heap is stocked from the moment a free block is inserted until a search of
 * it finds nothing.  So when memory is short only heaps that hold some are
 * visited, not one for each stream there ever was.  A heap with a shard always
 * stays stocked, because frees on the fast path do not report here (fast.h).
 *
 * Rule, checked by larder_check():
 *   B7  a heap that has memory to release is stocked. */
#pragma once

#include "core/state/allocator.h"

/* Insert a heap in order; it must not be stocked.  The list has room for all
 * heaps. */
void larder__stocked_add(struct heap *heap);

static inline void heap_stock(struct heap *heap)
{
    if (__builtin_expect(!heap->is_stocked, 0))
        larder__stocked_add(heap);
}

/* Drop heaps that have nothing to release; call it before visiting all. */
void larder__stocked_tidy(struct pool *pool);

/* The same after all of them were made to release everything. */
void larder__stocked_empty(struct pool *pool);
