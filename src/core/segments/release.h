/* release.h - the path from a free by the caller to a release to the device.
 * Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Retire a live block that is no longer in the map: it becomes free at once, or
 * pending while recorded streams use it. */
void larder__block_retire(struct allocator *a, struct block *b);

/* Release every unused segment and page of the pool.  Continues after an error
 * of the device, and returns the first. */
larder_result larder__release_pool(struct allocator *a, struct pool *pool);

/* Release oversize blocks of the request's heap, but only as much as it needs.
 * Returns whether that was enough; without max_split_size_mb, always false. */
bool larder__release_available(struct allocator *a, const struct request *q);

/* Total size of whole unused segments of the default pools. */
uint64_t larder__unused_bytes(const struct allocator *a);

/* Release such segments of at least `bytes` in all: the smallest that is enough
 * alone, otherwise the largest first.  Returns how many bytes were released. */
uint64_t larder__release_unused(struct allocator *a, uint64_t bytes);

/* Release the oldest unused segments of the large pool until no more is held
 * than garbage_collection_threshold allows. */
void larder__collect_garbage(struct allocator *a);

/* ---- everything cached (cached.c) ---------------------------------------- */

/* Wait for all recorded streams, then release every unused segment and page of
 * the default pools and of private pools without users.  Continues after an
 * error of the device, and returns the first. */
larder_result larder__release_cached(struct allocator *a);

/* The same without waiting: pending blocks stay. */
larder_result larder__release_idle(struct allocator *a);

/* Release the unused memory of one pool. */
larder_result larder__private_release_cached(struct allocator *a,
                                             struct private_pool *p);

/* Release the unused memory of pools without users, and remove those pools that
 * have no memory left. */
larder_result larder__private_release_unused(struct allocator *a);
