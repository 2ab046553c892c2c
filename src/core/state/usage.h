/* usage.h - counts what each private pool has allocated.  Private to core.  For
 * default pools, which have no owner, this costs one branch. */
#pragma once

#include "core/block/block.h"
#include "core/state/allocator.h"

/* Count a block that became live, or was freed. */
static inline void usage_allocate(const struct block *b)
{
    const struct pool *pool = b->segment->heap->pool;

    if (pool->owner != NULL) {
        struct usage *u = &pool->owner->usage;

        u->allocations++;
        u->requested_bytes += b->requested;
        u->allocated_bytes += b->bytes;
        if (u->allocated_bytes > u->allocated_peak)
            u->allocated_peak = u->allocated_bytes;
    }
}

static inline void usage_free(const struct block *b)
{
    const struct pool *pool = b->segment->heap->pool;

    if (pool->owner != NULL) {
        struct usage *u = &pool->owner->usage;

        larder__assert(u->allocations > 0);
        larder__assert(u->requested_bytes >= b->requested);
        larder__assert(u->allocated_bytes >= b->bytes);
        u->allocations--;
        u->requested_bytes -= b->requested;
        u->allocated_bytes -= b->bytes;
    }
}

/* A tag's limit refused the request: releasing memory elsewhere cannot help. */
static inline bool usage_is_final(const struct request *q)
{
    return q->refused_by == REFUSED_BY_POOL &&
           q->heap->pool->owner->tag != NULL;
}
