/* held.h - the memory held from the device: its count and its limit.  Private
 * to core. */
#pragma once

#include "core/state/allocator.h"

/* The owner of the pool's memory. */
static inline struct holding *holding_of(struct allocator *a,
                                         const struct pool *pool)
{
    return pool->owner != NULL ? &pool->owner->holding : &a->account.cache;
}

/* Bytes reserved for owners other than the pool's. */
static inline uint64_t held_owed_to_others(const struct allocator *a,
                                           const struct pool *pool)
{
    return account_owed_to_others(&a->account, pool->owner != NULL
                                                   ? &pool->owner->holding
                                                   : &a->account.cache);
}

/* The maximum that may be held: the limit, or the device's size. */
static inline uint64_t held_capacity(const struct allocator *a)
{
    uint64_t device = a->props.total_bytes - a->props.context_bytes;

    return a->allowed_bytes < device ? a->allowed_bytes : device;
}

/* Whether the owner's limit, the allocator's limit and the other owners'
 * minimums leave room for `bytes` more.  The device alone would give away what
 * is kept for another owner, or for a failed move to be undone. */
static inline bool held_allows_owner(const struct allocator *a,
                                     const struct holding *h, uint64_t bytes)
{
    uint64_t owed = account_owed_to_others(&a->account, h);
    uint64_t capacity = a->allowed_bytes;

    if (owed > 0 || a->has_withheld)
        capacity = held_capacity(a);
    if (a->has_withheld) /* orphans are on the device, and not held */
        owed += a->account.refused_bytes;
    return holding_is_within(h, bytes) && owed <= capacity &&
           bytes <= capacity - owed && a->held_bytes <= capacity - owed - bytes;
}

/* The same for the current drawer: the cache, unless another is set. */
static inline bool held_allows(const struct allocator *a, uint64_t bytes)
{
    return held_allows_owner(a, account_drawer(&a->account), bytes);
}

/* Whether holding `bytes` would pass garbage_collection_threshold. */
static inline bool held_passes_threshold(const struct allocator *a,
                                         uint64_t bytes)
{
    return a->fraction_is_set && a->conf.gc_threshold > 0 &&
           (double)bytes > a->conf.gc_threshold * (double)a->allowed_bytes;
}

/* Count `bytes` for the pool's owner. */
static inline void held_draw(struct allocator *a, const struct pool *pool,
                             uint64_t bytes)
{
    struct holding *h = holding_of(a, pool);

    larder__assert(h->held_bytes + bytes <= a->held_bytes);
    holding_add(&a->account, h, bytes);
    if (pool->owner != NULL && h->held_bytes > pool->owner->usage.reserved_peak)
        pool->owner->usage.reserved_peak = h->held_bytes;
}

/* Count `bytes` for another pool's owner. */
static inline void held_move(struct allocator *a, const struct pool *from,
                             const struct pool *to, uint64_t bytes)
{
    if (from->owner == to->owner)
        return;
    larder__assert(holding_of(a, from)->held_bytes >= bytes);
    holding_sub(&a->account, holding_of(a, from), bytes);
    held_draw(a, to, bytes);
}

/* Count one allocation of `bytes` from the device. */
static inline void held_add(struct allocator *a, const struct pool *pool,
                            uint64_t bytes)
{
    larder__assert(bytes > 0);
    a->held_bytes += bytes;
    metric_add(&a->stats.reserved_bytes, pool->stats, bytes);
    held_draw(a, pool, bytes);
    larder__device_holds(a->device, bytes);
    a->stats.num_device_alloc++;
    larder__assert(a->held_bytes ==
                   (uint64_t)metric_all(&a->stats.reserved_bytes));
}

/* Count one release of `bytes` to the device. */
static inline void held_sub(struct allocator *a, const struct pool *pool,
                            uint64_t bytes)
{
    larder__assert(bytes > 0 && bytes <= a->held_bytes);
    a->held_bytes -= bytes;
    metric_sub(&a->stats.reserved_bytes, pool->stats, bytes);
    holding_sub(&a->account, holding_of(a, pool), bytes);
    larder__device_lacks(a->device, bytes);
    a->stats.num_device_free++;
    larder__assert(a->held_bytes ==
                   (uint64_t)metric_all(&a->stats.reserved_bytes));
}

/* ---- what a private pool has allocated ----------------------------------- */

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
