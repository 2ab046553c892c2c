/* pool.h - pools and their heaps.  Private to core. */
#ifndef LARDER_CORE_POOL_H
#define LARDER_CORE_POOL_H

#include "core/allocator.h"

void larder__pool_init(struct pool *pool, enum pool_kind kind,
                       struct private_pool *owner);
void larder__pool_destroy(struct pool *pool);

/* The stream's heap, made if there was none.  ERR_NO_HOST_MEMORY;
 * ERR_UNKNOWN_STREAM from the device. */
larder_result larder__pool_heap(struct allocator *a, struct pool *pool,
                                larder_stream stream, struct heap **out);

/* Where a request of this rounded size on this stream goes. */
struct pool *larder__pool_for(struct allocator *a, uint64_t size,
                              larder_stream stream);

/* Put a free block into its heap's index, or take it out. */
static inline void heap_insert(struct block *b)
{
    struct heap *heap = b->segment->heap;

    b->state = BLOCK_FREE;
    b->born = heap->pool->searches;
    larder__bins_insert(&heap->bins, b);
}

static inline void heap_remove(struct block *b)
{
    larder__bins_remove(&b->segment->heap->bins, b);
}

/* The same for addresses without memory. */
static inline void heap_insert_unmapped(struct block *b)
{
    b->state = BLOCK_UNMAPPED;
    tree_insert(&b->segment->heap->unmapped, TREE_BY_ADDRESS, b);
}

static inline void heap_remove_unmapped(struct block *b)
{
    tree_remove(&b->segment->heap->unmapped, TREE_BY_ADDRESS, b);
}

#endif
