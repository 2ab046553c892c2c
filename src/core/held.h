/* held.h - counting what is held from the device.  Private to core. */
#ifndef LARDER_CORE_HELD_H
#define LARDER_CORE_HELD_H

#include "core/allocator.h"

/* One piece of `bytes` came from the device for this pool. */
static inline void held_add(struct allocator *a, const struct pool *pool,
                            uint64_t bytes)
{
    a->held_bytes += bytes;
    metric_add(&a->stats.reserved_bytes, pool->stats, bytes);
    a->stats.num_device_alloc++;
}

/* One went back. */
static inline void held_sub(struct allocator *a, const struct pool *pool,
                            uint64_t bytes)
{
    a->held_bytes -= bytes;
    metric_sub(&a->stats.reserved_bytes, pool->stats, bytes);
    a->stats.num_device_free++;
}

#endif
