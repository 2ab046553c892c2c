/* fast.h - a request that a quick list answers, and the free that fills it.
 * Private to core.
 *
 * What larder__request() and larder__give_back() do, without what does not
 * apply: it must stay the same to the last statistic.  One header, one entry
 * of the map and five counters are touched. */
#ifndef LARDER_CORE_FAST_H
#define LARDER_CORE_FAST_H

#include "base/bits.h"
#include "core/events.h"
#include "core/quick.h"

/* Whether nothing but the quick lists has to be looked at. */
static inline bool fast_applies(const struct allocator *a)
{
    return a->is_fast && a->history == NULL && a->routes == NULL &&
           events_are_idle(&a->events);
}

static inline void fast_count(struct allocator *a, const struct block *b,
                              unsigned pool)
{
    struct stats *st = &a->stats;

    metric_add(&st->allocation, pool, 1);
    metric_add(&st->allocated_bytes, pool, b->bytes);
    metric_add(&st->active, pool, 1);
    metric_add(&st->active_bytes, pool, b->bytes);
    metric_add(&st->requested_bytes, pool, b->requested);
}

static inline bool fast_alloc(struct allocator *a, uint64_t bytes,
                              larder_stream stream, larder_addr *out)
{
    uint32_t unit = a->policy->unit_bytes;
    const struct pool *pool;
    uint64_t size;
    struct block *b;

    if (!fast_applies(a) || bytes > a->props.total_bytes)
        return false;
    size = bits_up(bytes, unit);
    pool =
        &a->pools[size <= a->policy->small_max_bytes ? POOL_SMALL : POOL_LARGE];
    if (pool->last_heap == NULL || pool->last_heap->stream != stream)
        return false;
    b = quick_take(pool->last_heap->quick, size);
    if (b == NULL)
        return false;
    b->state = BLOCK_LIVE;
    b->requested = bytes;
    b->uses = NULL;
    b->events = 0;
    fast_count(a, b, pool->stats);
    map_put(&a->map, b->addr, b->self);
    *out = b->addr;
    return true;
}

/* b was taken out of the map. */
static inline bool fast_free(struct allocator *a, struct block *b)
{
    struct stats *st = &a->stats;
    uint64_t requested = b->requested;
    const struct heap *heap = b->segment->heap;
    unsigned pool = heap->pool->stats;

    if (!a->is_fast || a->is_tight || a->history != NULL || b->uses != NULL ||
        b->segment->kind != SEGMENT_PAGED || !quick_keep(heap->quick, b))
        return false;
    metric_sub(&st->allocation, pool, 1);
    metric_sub(&st->allocated_bytes, pool, b->bytes);
    metric_sub(&st->active, pool, 1);
    metric_sub(&st->active_bytes, pool, b->bytes);
    metric_sub(&st->requested_bytes, pool, requested);
    return true;
}

#endif
