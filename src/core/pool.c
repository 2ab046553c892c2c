#include "core/pool.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/front.h"
#include "core/quick.h"
#include "core/tags.h"

void larder__pool_init(struct pool *pool, enum pool_kind kind,
                       struct private_pool *owner)
{
    *pool = (struct pool){
        .is_small = kind == POOL_SMALL,
        .stats = kind == POOL_SMALL ? STATS_SMALL : STATS_LARGE,
        .owner = owner,
    };
}

void larder__pool_destroy(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->heap_count; i++) {
        larder__host_free(pool->heaps[i]->quick);
        larder__host_free(pool->heaps[i]);
    }
    larder__host_free(pool->heaps);
    pool->heaps = NULL;
    pool->heap_count = 0;
    pool->last_heap = NULL;
}

/* The first heap whose stream is not below this one. */
static uint32_t pool_position(const struct pool *pool, larder_stream stream)
{
    uint32_t low = 0;
    uint32_t high = pool->heap_count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (pool->heaps[middle]->stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool pool_make_room(struct pool *pool)
{
    uint32_t capacity = pool->heap_capacity * 2 + 4;
    struct heap **heaps;

    if (pool->heap_count < pool->heap_capacity)
        return true;
    heaps = larder__host_resize(pool->heaps, capacity, sizeof *heaps);
    if (heaps == NULL)
        return false;
    pool->heaps = heaps;
    pool->heap_capacity = capacity;
    return true;
}

/* A heap without works as well, the long way. */
static void join_front(struct allocator *a, struct heap *heap)
{
    enum pool_kind kind = heap->pool->is_small ? POOL_SMALL : POOL_LARGE;

    heap->front = larder__front_make(a, heap->stream);
    if (heap->front == NULL)
        return;
    heap->front->heaps[kind] = heap;
    heap->front->quick[kind] = heap->quick;
}

static larder_result pool_add_heap(struct allocator *a, struct pool *pool,
                                   larder_stream stream, uint32_t at)
{
    struct heap *heap;

    if (!pool_make_room(pool))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    heap = larder__host_alloc(1, sizeof *heap);
    if (heap == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (a->policy->keep != NULL && pool->owner == NULL) {
        heap->quick = larder__host_alloc(1, sizeof *heap->quick);
        if (heap->quick == NULL) {
            larder__host_free(heap);
            return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
        }
        heap->bins.prefers_lists = a->is_paged;
    }
    heap->pool = pool;
    heap->stream = stream;
    if (a->is_paged && pool->owner == NULL)
        join_front(a, heap);
    for (uint32_t i = pool->heap_count; i > at; i--)
        pool->heaps[i] = pool->heaps[i - 1];
    pool->heaps[at] = heap;
    pool->heap_count++;
    return LARDER_OK;
}

larder_result larder__pool_heap(struct allocator *a, struct pool *pool,
                                larder_stream stream, struct heap **out)
{
    uint32_t at;
    larder_result r;

    if (pool->owner != NULL && pool->owner->tag != NULL &&
        (r = larder__tag_check(pool->owner->tag)) != LARDER_OK)
        return r;
    if (pool->last_heap != NULL && pool->last_heap->stream == stream) {
        *out = pool->last_heap;
        return LARDER_OK;
    }
    at = pool_position(pool, stream);
    if (at == pool->heap_count || pool->heaps[at]->stream != stream) {
        if ((r = larder__device_stream_check(a->device, stream)) != LARDER_OK ||
            (r = pool_add_heap(a, pool, stream, at)) != LARDER_OK)
            return r;
    }
    pool->last_heap = pool->heaps[at];
    *out = pool->last_heap;
    return LARDER_OK;
}

struct pool *larder__pool_for(struct allocator *a, uint64_t size,
                              larder_stream stream)
{
    enum pool_kind kind = size <= a->small_max_bytes ? POOL_SMALL : POOL_LARGE;

    for (const struct route *r = a->routes; r != NULL; r = r->next) {
        if (r->filter == NULL || r->filter(r->ctx, stream))
            return &r->to->pools[kind];
    }
    if (a->tag_frames > 0) {
        struct private_pool *tagged = larder__tag_pool(a);

        if (tagged != NULL)
            return &tagged->pools[kind];
    }
    return &a->pools[kind];
}
