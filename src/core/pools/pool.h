/* pool.h - pools and their heaps.  Private to core. */
#pragma once

#include "core/pools/tags.h"

/* All POOL_KINDS pools of an allocator, or of a private pool. */
void larder__pools_init(struct pool *pools, struct private_pool *owner);
void larder__pools_destroy(struct pool *pools);

/* Find the stream's heap, or make it.  ERR_NO_HOST_MEMORY; ERR_UNKNOWN_STREAM
 * from the device; ERR_PAUSED. */
larder_result larder__pool_find_heap(struct allocator *a, struct pool *pool,
                                     larder_stream stream, struct heap **out);

/* The same, fast for the common case: the heap found last, in a pool that is
 * not paused. */
static inline larder_result pool_heap(struct allocator *a, struct pool *pool,
                                      larder_stream stream, struct heap **out)
{
    struct heap *last = pool->last_heap;

    if ((pool->owner != NULL && pool->owner->is_paused) || last == NULL ||
        last->stream != stream)
        return larder__pool_find_heap(a, pool, stream, out);
    *out = last;
    return LARDER_OK;
}

/* The index of the stream's heap in a list sorted by stream, or where it would
 * be inserted. */
uint32_t larder__heap_position(struct heap *const *heaps, uint32_t count,
                               larder_stream stream);

/* The private pool that the routes and tags in effect give this stream.  NULL:
 * none. */
struct private_pool *larder__pool_routed(struct allocator *a,
                                         larder_stream stream);

/* The same, fast for the common case that no route or tag is in effect. */
static inline struct private_pool *pool_owner_for(struct allocator *a,
                                                  larder_stream stream)
{
    return a->routes == NULL && a->tag_frames == 0
               ? NULL
               : larder__pool_routed(a, stream);
}

/* The pool for a request of this rounded size on this stream. */
static inline struct pool *pool_for(struct allocator *a, uint64_t size,
                                    larder_stream stream, larder_hint hint)
{
    enum pool_kind kind = size <= a->small_max_bytes ? POOL_SMALL : POOL_LARGE;
    struct private_pool *owner = pool_owner_for(a, stream);

    if (owner != NULL)
        return &owner->pools[kind];
    if (a->is_paged && kind == POOL_LARGE && hint == LARDER_HINT_LONG &&
        a->conf.lifetimes != CONF_LIFETIMES_OFF)
        kind = POOL_LONG;
    return &a->pools[kind];
}

/* ---- heaps that may have memory to release (stocked.c) ------------------- */

/* A heap is stocked from the moment a free block is inserted until a search of
 * it finds nothing.  So when memory is short only heaps that hold some are
 * visited, not one for each stream there ever was.  A heap with a shard always
 * stays stocked, because frees on the fast path do not report here (fast.h).
 *
 * Rule, checked by larder_check():
 *   B7  a heap that has memory to release is stocked. */

/* Insert a heap in order; it must not be stocked.  The list has room for all
 * heaps. */
void larder__stocked_add(struct heap *heap);

static inline void heap_stock(struct heap *heap)
{
    if (__builtin_expect(!heap->is_stocked, 0))
        larder__stocked_add(heap);
}

/* Drop heaps that have nothing to release; call it before visiting all. */
void larder__stocked_tidy(struct pool *pool);

/* The same after all of them were made to release everything. */
void larder__stocked_empty(struct pool *pool);

/* ---- the blocks of a heap -------------------------------------------------- */

/* Insert a free block into its heap's index, or remove it. */
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

/* The same for unmapped blocks. */
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
