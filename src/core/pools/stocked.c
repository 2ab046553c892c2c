/* stocked.c - the heaps of a pool that may have memory to release. */
#include "core/pools/pool.h"

#include <string.h>

#include "core/state/paged.h"

static bool has_stock(const struct heap *heap)
{
    return heap->fit != NULL ? larder__paged_has_movable(heap)
                             : heap->bins->some != 0;
}

void larder__stocked_add(struct heap *heap)
{
    struct pool *pool = heap->pool;
    struct heap **list = pool->stocked;
    uint32_t at =
        larder__heap_position(list, pool->stocked_count, heap->stream);

    memmove(&list[at + 1], &list[at],
            (pool->stocked_count - at) * sizeof list[0]);
    list[at] = heap;
    pool->stocked_count++;
    heap->is_stocked = true;
}

/* Keep heaps for which `keeps` returns true, and heaps with a shard. */
static void filter(struct pool *pool, bool (*keeps)(const struct heap *heap))
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < pool->stocked_count; i++) {
        struct heap *heap = pool->stocked[i];

        if (heap->shard != NULL || (keeps != NULL && keeps(heap)))
            pool->stocked[kept++] = heap;
        else
            heap->is_stocked = false;
    }
    pool->stocked_count = kept;
}

void larder__stocked_tidy(struct pool *pool)
{
    filter(pool, has_stock);
}

void larder__stocked_empty(struct pool *pool)
{
    filter(pool, NULL);
}
