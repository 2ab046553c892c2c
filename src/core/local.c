#include "core/local.h"

#include "core/blocks.h"
#include "core/carve.h"
#include "core/held.h"
#include "core/physical.h"
#include "core/pool.h"
#include "core/quick.h"
#include "core/trim_age.h"

enum {
    CANDIDATES = 3,
    QUICK_PART = 16, /* of a request: larger blocks are merged for it first */
    SMALL_GROWTH = 8 << 20, /* of the small pool, before lists are merged */

    /* For sizes given back before: beyond all that was ever in use, likewise;
     * and up to which part of what there is. */
    KNOWN_GROWTH_PERCENT = 33,
    KNOWN_HELD_EIGHTHS = 3
};

struct block *larder__local_cut(struct allocator *a, const struct place *place,
                                uint64_t size)
{
    struct block *b = place->block;

    heap_remove(b);
    if (b->segment->kind != SEGMENT_PAGED)
        return b; /* cut, and counted as such, by larder__block_allocate() */
    if (place->addr > b->addr) {
        struct block *low = b;

        b = larder__block_split(a, low, place->addr - low->addr);
        heap_insert(low);
    }
    if (b->bytes > size)
        heap_insert(larder__block_split(a, b, size));
    b->state = BLOCK_UNUSED;
    trim_touch(a, b);
    return b;
}

struct block *larder__local_take(struct allocator *a, struct heap *heap,
                                 uint64_t size)
{
    struct block *b = larder__carve(a, heap, size);

    if (b == NULL)
        return larder__local_place(a, heap, size);
    trim_touch(a, b);
    return b;
}

struct block *larder__local_place(struct allocator *a, struct heap *heap,
                                  uint64_t size)
{
    struct place place;
    struct block *b;

    if (!larder__place_find_whole(heap, size, CANDIDATES, &place))
        return NULL;
    b = larder__local_cut(a, &place, size);
    b->is_whole = b->segment->kind == SEGMENT_PAGED;
    return b;
}

/* The most that small blocks ever held.  What other fronts counted since it was
 * added up is left out. */
static int64_t small_peak(const struct allocator *a)
{
    const struct metric *bytes = &a->stats.active_bytes;
    int64_t now = bytes->current[STATS_SMALL] +
                  tally_highest(&a->fronts.tally.pools[STATS_SMALL].bytes);

    return now > bytes->peak[STATS_SMALL] ? now : bytes->peak[STATS_SMALL];
}

/* Small blocks are many and hold little: what their lists are worth in time is
 * more than a few pages.  Where the small pool has larger ones, too (grain.h),
 * that is not so of them. */
static bool small_may_grow(const struct allocator *a, const struct heap *heap,
                           uint64_t size)
{
    return heap->pool->is_small && size <= a->policy->small_max_bytes &&
           a->stats.reserved_bytes.current[STATS_SMALL] <
               small_peak(a) * 2 + SMALL_GROWTH;
}

/* Work that repeats itself settles so: it has what it needs for each of its
 * steps at last, and merges no more.  Not where somebody is asked for memory
 * before it grows, or a threshold would be passed, or pages could not move if
 * it fails.  Nor when it will soon be tight: then the less was had at random
 * the better. */
static bool known_may_grow(const struct allocator *a, const struct heap *heap,
                           uint64_t size)
{
    uint64_t held = a->held_bytes + size;

    return a->conf.defrag == CONF_DEFRAG_LIMIT && a->reclaims.count == 0 &&
           !allocator_is_routing(a) && !held_passes_threshold(a, held) &&
           quick_knows(heap->quick, size) &&
           !held_is_above_use(a, held, KNOWN_GROWTH_PERCENT) &&
           held <= larder__physical_most(a) / 8 * KNOWN_HELD_EIGHTHS;
}

/* The largest blocks first. */
struct block *larder__local_take_merging(struct allocator *a, struct heap *heap,
                                         uint64_t size)
{
    struct block *b = NULL;

    if (small_may_grow(a, heap, size) || known_may_grow(a, heap, size))
        return NULL;
    for (uint64_t least = size; b == NULL && least > a->policy->unit_bytes;
         least /= QUICK_PART) {
        if (larder__quick_flush(a, heap, least))
            b = larder__local_take(a, heap, size);
    }
    if (b == NULL && larder__quick_flush(a, heap, 0))
        b = larder__local_take(a, heap, size);
    return b;
}
