/* pool.c - pools and their heaps. */
#include "core/pools/pool.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/state/shard.h"

void larder__pools_init(struct pool *pools, struct private_pool *owner)
{
    for (int kind = 0; kind < POOL_KINDS; kind++)
        pools[kind] = (struct pool){
            .is_small = kind == POOL_SMALL,
            .stats = kind == POOL_SMALL ? STATS_SMALL : STATS_LARGE,
            .owner = owner,
        };
}

static void pool_destroy(struct pool *pool)
{
    larder__assert(pool->heap_count <= pool->heap_capacity);
    for (uint32_t i = 0; i < pool->heap_count; i++)
        larder__host_free(pool->heaps[i]);
    larder__host_free(pool->heaps);
    larder__host_free(pool->stocked);
    pool->heaps = pool->stocked = NULL;
    pool->heap_count = pool->stocked_count = 0;
    pool->last_heap = NULL;
}

void larder__pools_destroy(struct pool *pools)
{
    for (int kind = 0; kind < POOL_KINDS; kind++)
        pool_destroy(&pools[kind]);
}

/* The first heap whose stream is not below `stream`. */
uint32_t larder__heap_position(struct heap *const *heaps, uint32_t count,
                               larder_stream stream)
{
    uint32_t low = 0;
    uint32_t high = count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (heaps[middle]->stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    larder__assert(low == count || heaps[low]->stream >= stream);
    larder__assert(low == 0 || heaps[low - 1]->stream < stream);
    return low;
}

static bool pool_make_room(struct pool *pool)
{
    uint32_t capacity = pool->heap_capacity * 2 + 4;

    if (pool->heap_count < pool->heap_capacity)
        return true;
    if (!larder__host_grow(&pool->heaps, capacity, sizeof *pool->heaps) ||
        !larder__host_grow(&pool->stocked, capacity, sizeof *pool->stocked))
        return false;
    pool->heap_capacity = capacity;
    return true;
}

/* A heap without a shard works too, on the slow path. */
static void join_shard(struct allocator *a, struct heap *heap)
{
    size_t kind = (size_t)(heap->pool - a->pools);

    larder__assert(kind < POOL_KINDS);
    larder__assert(heap->shard == NULL);
    heap->shard = larder__shard_make(a, heap->stream);
    if (heap->shard == NULL)
        return;
    larder__assert(heap->shard->heaps[kind] == NULL);
    larder__assert(heap->shard->stream == heap->stream);
    heap->shard->heaps[kind] = heap;
    heap_stock(heap);
}

/* The bins of a paged heap, which are always empty. */
static struct bins no_bins;

/* Make a heap with its index behind it.  NULL: no host memory. */
static struct heap *heap_make(const struct allocator *a, bool is_paged)
{
    size_t index = is_paged ? sizeof(struct fit) : sizeof(struct bins);
    struct heap *heap = larder__host_alloc(1, sizeof *heap + index);

    if (heap == NULL)
        return NULL;
    heap->bins = is_paged ? &no_bins : (struct bins *)(void *)(heap + 1);
    heap->fit = is_paged ? (struct fit *)(void *)(heap + 1) : NULL;
    if (!is_paged)
        heap->bins->order = a->slab.has_serials ? TREE_BY_SERIAL : TREE_BY_SIZE;
    return heap;
}

static larder_result pool_add_heap(struct allocator *a, struct pool *pool,
                                   larder_stream stream, uint32_t at)
{
    bool is_own = pool->owner == NULL;
    bool is_paged = a->is_paged && (is_own || pool->owner->region != NULL);
    struct heap *heap;

    larder__assert(allocator_is_locked(a));
    larder__assert(at <= pool->heap_count);
    if (!pool_make_room(pool))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    heap = heap_make(a, is_paged);
    if (heap == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    heap->pool = pool;
    heap->stream = stream;
    for (uint32_t i = pool->heap_count; i > at; i--)
        pool->heaps[i] = pool->heaps[i - 1];
    pool->heaps[at] = heap;
    pool->heap_count++;
    larder__assert(pool->heap_count <= pool->heap_capacity);
    larder__assert((heap->fit != NULL) == is_paged);
    if (is_paged && is_own)
        join_shard(a, heap);
    return LARDER_OK;
}

larder_result larder__pool_find_heap(struct allocator *a, struct pool *pool,
                                     larder_stream stream, struct heap **out)
{
    uint32_t at;
    larder_result r;

    if (pool->owner != NULL && pool->owner->tag != NULL &&
        (r = larder__tag_check(pool->owner->tag)) != LARDER_OK)
        return r;
    at = larder__heap_position(pool->heaps, pool->heap_count, stream);
    if (at == pool->heap_count || pool->heaps[at]->stream != stream) {
        if ((r = larder__device_stream_check(a->device, stream)) != LARDER_OK ||
            (r = pool_add_heap(a, pool, stream, at)) != LARDER_OK)
            return r;
    }
    pool->last_heap = pool->heaps[at];
    larder__assert(pool->last_heap->stream == stream);
    larder__assert(pool->last_heap->pool == pool);
    *out = pool->last_heap;
    return LARDER_OK;
}

struct private_pool *larder__pool_routed(struct allocator *a,
                                         larder_stream stream)
{
    larder__assert(shards_common_is_held(a));
    for (const struct route *r = a->routes; r != NULL; r = r->next) {
        if (r->filter == NULL || r->filter(r->ctx, stream))
            return r->to;
    }
    return a->tag_frames > 0 ? larder__tag_pool(a) : NULL;
}
