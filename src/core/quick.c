#include "core/quick.h"

#include <limits.h>

#include "base/bits.h"
#include "core/carve.h"
#include "core/physical.h"
#include "core/pool.h"

enum {
    LOOKS = 4,        /* at the blocks of the request's own class */
    NEAR_CLASSES = 8, /* above it: by an eighth to a quarter larger */

    /* Smaller requests are of few sizes: each has blocks of its own soon. */
    NEAR_LEAST = 1 << (BINS_EXACT_LOG2 + BINS_UNIT_LOG2),

    SPARE_PART = 64 /* of all there is, may be handed out unasked for */
};

/* ---- taking --------------------------------------------------------------- */

/* The first blocks of a list, those a request of `bytes` would take. */
static struct block *take_within(struct quick_list *list, uint64_t bytes)
{
    struct block **link = &list->first;

    for (int looks = LOOKS; *link != NULL && looks > 0; looks--) {
        struct block *b = *link;

        if (b->bytes >= bytes) {
            *link = b->left;
            return b;
        }
        link = &b->left;
    }
    return NULL;
}

/* Whether blocks may be handed out that are larger than what is asked for.
 * What other fronts counted since it was added up is left out. */
static bool may_spare(const struct allocator *a)
{
    const struct tally *t = &a->fronts.tally;
    int64_t spare = metric_all(&a->stats.allocated_bytes) -
                    metric_all(&a->stats.requested_bytes) + tally_spare(t);

    return (uint64_t)spare < larder__physical_most(a) / SPARE_PART;
}

/* The first class above i that keeps blocks; UINT_MAX: none is near. */
static unsigned next_kept(struct quick *quick, unsigned i)
{
    unsigned w = ++i / 64;
    uint64_t bits;

    if (w >= BINS_WORDS)
        return UINT_MAX;
    bits = quick->used[w] & (~UINT64_C(0) << i % 64);
    if (bits == 0 && ++w < BINS_WORDS)
        bits = quick->used[w];
    for (; bits != 0; bits &= bits - 1) {
        i = w * 64 + bits_lowest(bits);
        if (quick->lists[i].first != NULL)
            return i;
        quick->used[w] &= ~(UINT64_C(1) << i % 64); /* it was emptied */
    }
    return UINT_MAX;
}

struct block *larder__quick_take_near(const struct allocator *a,
                                      struct quick *quick, uint64_t bytes)
{
    unsigned i = bins_class(bytes);
    struct block *b = take_within(&quick->lists[i], bytes);
    unsigned above;

    if (b != NULL || bytes < NEAR_LEAST)
        return b;
    above = next_kept(quick, i);
    if (above - i > NEAR_CLASSES || !may_spare(a))
        return NULL;
    b = quick->lists[above].first;
    quick->lists[above].first = b->left;
    return b;
}

/* ---- merging -------------------------------------------------------------- */

void larder__quick_merge(struct allocator *a, struct block *b)
{
    map_remove(&a->map, b);
    (void)larder__uncarve(a, b);
}

/* Whether it held any of `least` bytes and more. */
static bool flush_list(struct allocator *a, struct quick_list *list,
                       uint64_t least)
{
    struct block **link = &list->first;
    bool any = false;

    while (*link != NULL) {
        struct block *b = *link;

        if (b->bytes < least) { /* in the class of `least` itself */
            link = &b->left;
            continue;
        }
        *link = b->left;
        larder__quick_merge(a, b);
        any = true;
    }
    return any;
}

bool larder__quick_flush(struct allocator *a, struct heap *heap, uint64_t least)
{
    struct quick *quick = heap->quick;
    unsigned from = bins_class(least);
    bool any = false;

    for (unsigned w = from / 64; quick != NULL && w < BINS_WORDS; w++) {
        uint64_t bits = quick->used[w];

        if (w == from / 64)
            bits &= ~UINT64_C(0) << from % 64;
        for (; bits != 0; bits &= bits - 1) {
            unsigned bit = bits_lowest(bits);
            struct quick_list *list = &quick->lists[w * 64 + bit];

            any |= flush_list(a, list, least);
            if (list->first == NULL)
                quick->used[w] &= ~(UINT64_C(1) << bit);
        }
    }
    return any;
}

bool larder__quick_flush_all(struct allocator *a, uint64_t least)
{
    bool any = false;

    for (int kind = 0; kind < POOL_KINDS; kind++) {
        const struct pool *pool = &a->pools[kind];

        for (uint32_t i = 0; i < pool->heap_count; i++)
            any |= larder__quick_flush(a, pool->heaps[i], least);
    }
    return any;
}
