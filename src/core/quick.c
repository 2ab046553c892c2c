#include "core/quick.h"

#include "base/bits.h"
#include "core/carve.h"
#include "core/pool.h"

enum {
    LOOKS = 4,       /* at the blocks of the request's own class */
    NEAR_CLASSES = 9 /* above it: 14 to 28 % larger */
};

/* ---- lists ---------------------------------------------------------------- */

/* The first list from `from` on, and not beyond `last`, that keeps blocks; NULL:
 * none does. */
static struct quick_list *next_list(struct quick *quick, unsigned from,
                                    unsigned last)
{
    for (unsigned w = from / 64; w <= last / 64 && w < BINS_WORDS; w++) {
        uint64_t bits = quick->used[w];

        if (w == from / 64)
            bits &= ~UINT64_C(0) << from % 64;
        for (; bits != 0; bits &= bits - 1) {
            unsigned i = w * 64 + bits_lowest(bits);

            if (i > last)
                return NULL;
            if (quick->lists[i].first != NULL)
                return &quick->lists[i];
            quick->used[w] &= ~(UINT64_C(1) << i % 64); /* it was emptied */
        }
    }
    return NULL;
}

/* ---- taking --------------------------------------------------------------- */

/* Of the first blocks of a list. */
static struct block *take_within(struct quick_list *list, uint64_t bytes,
                                 uint64_t most)
{
    struct block **link = &list->first;

    for (int looks = LOOKS; *link != NULL && looks > 0; looks--) {
        struct block *b = *link;

        if (b->bytes >= bytes && b->bytes <= most) {
            *link = b->left;
            return b;
        }
        link = &b->left;
    }
    return NULL;
}

struct block *larder__quick_take_near(struct quick *quick, uint64_t bytes,
                                      uint64_t most)
{
    unsigned i = bins_class(bytes);
    struct block *b = take_within(&quick->lists[i], bytes, most);
    struct quick_list *above;

    if (b != NULL || most == bytes)
        return b;
    above = next_list(quick, i + 1, i + NEAR_CLASSES);
    if (above == NULL || above->first->bytes > most)
        return NULL;
    b = above->first;
    above->first = b->left;
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
    struct quick_list *list;
    bool any = false;

    while (quick != NULL &&
           (list = next_list(quick, from, BINS_COUNT - 1)) != NULL) {
        any |= flush_list(a, list, least);
        from = (unsigned)(list - quick->lists) + 1;
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
