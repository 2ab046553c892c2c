#include "core/fast.h"

#include "core/blocks.h"
#include "core/local.h"
#include "core/pool.h"

struct block *larder__fast_cut(struct allocator *a, struct heap *heap,
                               uint64_t size)
{
    struct request q = {.size = size, .heap = heap};

    if (a->is_tight || heap->front->header_count < FRONT_HEADERS)
        return NULL;
    if (!larder__local_take(a, &q) && !larder__local_take_merging(a, &q))
        return NULL;
    return q.block;
}

void larder__fast_merge(struct allocator *a, struct block *b)
{
    struct merged merged = {0};

    (void)map_take(&a->map, b->addr);
    b->state = BLOCK_FREE;
    heap_insert(larder__block_merge(a, b, &merged));
}
