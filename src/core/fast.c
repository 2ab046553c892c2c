#include "core/fast.h"

#include "core/carve.h"
#include "core/local.h"

struct block *larder__fast_cut(struct allocator *a, struct heap *heap,
                               uint64_t size)
{
    struct request q = {.size = size, .heap = heap};

    if (a->is_tight || heap->front->header_count < FRONT_HEADERS)
        return NULL;
    if (larder__local_take(a, &q))
        return q.block;
    /* What recorded streams no longer use comes before merging. */
    if (a->events.waiting != 0 || !larder__local_take_merging(a, &q))
        return NULL;
    return q.block;
}

void larder__fast_merge(struct allocator *a, struct block *b)
{
    (void)map_take(&a->map, b->addr);
    (void)larder__uncarve(a, b);
}
