/* release.h - from freed by the caller to released to the device.
 * Private to core. */
#ifndef LARDER_CORE_RELEASE_H
#define LARDER_CORE_RELEASE_H

#include "core/state/allocator.h"

/* A live block, which the map no longer names, is freed by its owner: it
 * is free at once, or waits for its recorded streams. */
void larder__block_retire(struct allocator *a, struct block *b);

/* Release every unused segment and page of the pool.  Goes on past what the
 * device refuses, and returns the first refusal. */
larder_result larder__release_pool(struct allocator *a, struct pool *pool);

/* Release oversize blocks of the request's heap, but only enough for it.
 * Whether that was enough; never without max_split_size_mb. */
bool larder__release_available(struct allocator *a, const struct request *q);

/* Bytes of whole segments of the default pools that nothing uses. */
uint64_t larder__unused_bytes(const struct allocator *a);

/* Release such segments until they come to `bytes`: the smallest that does
 * so alone, else the largest first.  How many bytes went. */
uint64_t larder__release_unused(struct allocator *a, uint64_t bytes);

/* Release the oldest unused segments of the large pool until no more is
 * held than garbage_collection_threshold allows (gc.c). */
void larder__collect_garbage(struct allocator *a);

#endif
