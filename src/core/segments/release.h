/* release.h - from given back by the caller to given back to the device.
 * Private to core. */
#ifndef LARDER_CORE_RELEASE_H
#define LARDER_CORE_RELEASE_H

#include "core/state/allocator.h"

/* A live block, which the map no longer names, is given back by its owner: it
 * is free at once, or waits for its recorded streams. */
void larder__give_back(struct allocator *a, struct block *b);

/* Give back every unused segment and page of the pool.  Goes on past what the
 * device refuses, and returns the first refusal. */
larder_result larder__release_pool(struct allocator *a, struct pool *pool);

/* Give back oversize blocks of the request's heap, but only enough for it.
 * Whether that was enough; never without max_split_size_mb. */
bool larder__release_available(struct allocator *a, const struct request *q);

/* Bytes of whole segments of the default pools that nothing uses. */
uint64_t larder__unused_bytes(const struct allocator *a);

/* Give back such segments until they come to `bytes`: the smallest that does
 * so alone, else the largest first.  How many bytes went. */
uint64_t larder__release_unused(struct allocator *a, uint64_t bytes);

/* Give back the oldest unused segments of the large pool until no more is
 * held than garbage_collection_threshold allows (gc.c). */
void larder__collect_garbage(struct allocator *a);

#endif
