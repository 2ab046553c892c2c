/* pool.h - pools and their heaps.  Private to core. */
#ifndef LARDER_CORE_POOL_H
#define LARDER_CORE_POOL_H

#include "core/pools/stocked.h"

/* All POOL_KINDS pools of an allocator, or of a private pool. */
void larder__pools_init(struct pool *pools, struct private_pool *owner);
void larder__pools_destroy(struct pool *pools);

/* The stream's heap, made if there was none.  ERR_NO_HOST_MEMORY;
 * ERR_UNKNOWN_STREAM from the device. */
larder_result larder__pool_heap(struct allocator *a, struct pool *pool,
                                larder_stream stream, struct heap **out);

/* Where the stream's heap is among those, which ascend, or would be. */
uint32_t larder__heap_position(struct heap *const *heaps, uint32_t count,
                               larder_stream stream);

/* Whose private pool requests on this stream go to now; NULL: nobody's. */
struct private_pool *larder__pool_owner_for(struct allocator *a,
                                            larder_stream stream);

/* Where a request of this rounded size on this stream goes. */
struct pool *larder__pool_for(struct allocator *a, uint64_t size,
                              larder_stream stream, larder_hint hint);

/* Put a free block into its heap's index, or take it out. */
static inline void heap_insert(struct block *b)
{
    struct heap *heap = b->segment->heap;

    larder__assert(b->addr >= b->segment->addr);
    larder__assert(b->addr + b->bytes <= b->segment->addr + b->segment->bytes);
    b->state = BLOCK_FREE;
    b->born = heap->pool->searches;
    heap_stock(heap);
    if (heap->fit != NULL)
        fit_insert(heap->fit, b);
    else
        larder__bins_insert(heap->bins, b);
}

static inline void heap_remove(struct block *b)
{
    struct heap *heap = b->segment->heap;

    larder__assert(b->state == BLOCK_FREE);
    larder__assert(heap->fit != NULL || b->born <= heap->pool->searches);
    if (heap->fit != NULL)
        fit_remove(heap->fit, b);
    else
        larder__bins_remove(heap->bins, b);
}

/* The same for addresses without memory. */
static inline void heap_insert_unmapped(struct block *b)
{
    larder__assert(b->segment->pages != NULL);
    b->state = BLOCK_UNMAPPED;
    tree_insert(&b->segment->heap->unmapped, TREE_BY_ADDRESS, b);
}

static inline void heap_remove_unmapped(struct block *b)
{
    larder__assert(b->state == BLOCK_UNMAPPED);
    tree_remove(&b->segment->heap->unmapped, TREE_BY_ADDRESS, b);
}

#endif
