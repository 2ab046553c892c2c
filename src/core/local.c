#include "core/local.h"

#include "core/blocks.h"
#include "core/carve.h"
#include "core/pool.h"
#include "core/quick.h"
#include "core/trim_age.h"

enum {
    CANDIDATES = 1,
    QUICK_PART = 16, /* of a request: larger blocks are merged for it first */
    SMALL_GROWTH = 8 << 20 /* of the small pool, before lists are merged */
};

void larder__local_cut(struct allocator *a, struct request *q,
                       const struct place *place)
{
    struct block *b = place->block;

    heap_remove(b);
    q->block = b;
    if (b->segment->kind != SEGMENT_PAGED)
        return; /* cut, and counted as such, by larder__block_allocate() */
    if (place->addr > b->addr) {
        struct block *low = b;

        b = larder__block_split(a, low, place->addr - low->addr);
        heap_insert(low);
    }
    if (b->bytes > q->size)
        heap_insert(larder__block_split(a, b, q->size));
    b->state = BLOCK_UNUSED;
    trim_touch(a, b);
    q->block = b;
}

bool larder__local_take(struct allocator *a, struct request *q)
{
    struct place place;

    q->block = larder__carve(a, q->heap, q->size);
    if (q->block != NULL) {
        trim_touch(a, q->block);
        return true;
    }
    if (!larder__place_find_whole(q->heap, q->size, CANDIDATES, &place))
        return false;
    larder__local_cut(a, q, &place);
    return true;
}

/* Small blocks are many and hold little: what their lists are worth in time is
 * more than a few pages. */
static bool small_may_grow(const struct allocator *a, const struct heap *heap)
{
    const struct stats *st = &a->stats;

    return heap->pool->is_small &&
           st->reserved_bytes.current[STATS_SMALL] <
               st->active_bytes.peak[STATS_SMALL] * 2 + SMALL_GROWTH;
}

/* The largest blocks first. */
bool larder__local_take_merging(struct allocator *a, struct request *q)
{
    if (small_may_grow(a, q->heap))
        return false;
    for (uint64_t least = q->size; least > a->policy->unit_bytes;
         least /= QUICK_PART) {
        if (larder__quick_flush(a, q->heap, least) && larder__local_take(a, q))
            return true;
    }
    return larder__quick_flush(a, q->heap, 0) && larder__local_take(a, q);
}
