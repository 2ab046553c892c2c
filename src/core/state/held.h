/* held.h - what is held from the device: its limit, and counting it.  Private
 * to core. */
#ifndef LARDER_CORE_HELD_H
#define LARDER_CORE_HELD_H

#include "core/state/usage.h"

/* Whether the limit leaves room for so many more. */
static inline bool held_allows(const struct allocator *a, uint64_t bytes)
{
    return bytes <= a->allowed_bytes &&
           a->held_bytes <= a->allowed_bytes - bytes;
}

/* Whether so much is above all that was ever in use by more than a part. */
static inline bool held_is_above_use(const struct allocator *a, uint64_t bytes,
                                     unsigned percent)
{
    uint64_t used = (uint64_t)a->stats.active_bytes.peak_all;

    return bytes > used + used / 100 * percent;
}

/* Whether to hold so much would pass the garbage_collection_threshold. */
static inline bool held_passes_threshold(const struct allocator *a,
                                         uint64_t bytes)
{
    return a->fraction_is_set && a->conf.gc_threshold > 0 &&
           (double)bytes > a->conf.gc_threshold * (double)a->allowed_bytes;
}

/* One piece of `bytes` came from the device for this pool. */
static inline void held_add(struct allocator *a, const struct pool *pool,
                            uint64_t bytes)
{
    a->held_bytes += bytes;
    metric_add(&a->stats.reserved_bytes, pool->stats, bytes);
    usage_hold(pool, bytes);
    a->stats.num_device_alloc++;
}

/* One went back. */
static inline void held_sub(struct allocator *a, const struct pool *pool,
                            uint64_t bytes)
{
    a->held_bytes -= bytes;
    metric_sub(&a->stats.reserved_bytes, pool->stats, bytes);
    usage_drop(pool, bytes);
    a->stats.num_device_free++;
}

#endif
