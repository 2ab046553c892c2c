#include "core/quick.h"

#include "base/bits.h"
#include "core/carve.h"
#include "core/pool.h"

void larder__quick_merge(struct allocator *a, struct block *b)
{
    map_remove(&a->map, b);
    (void)larder__uncarve(a, b);
}

/* Whether it held any. */
static bool flush_list(struct allocator *a, struct quick_list *list)
{
    struct block *b = list->first;

    if (b == NULL)
        return false;
    do {
        list->first = b->left;
        larder__quick_merge(a, b);
        b = list->first;
    } while (b != NULL);
    return true;
}

bool larder__quick_flush(struct allocator *a, struct heap *heap, uint64_t least)
{
    struct quick *quick = heap->quick;
    bool any = false;

    for (unsigned w = 0; quick != NULL && w < QUICK_LISTS / 64; w++) {
        for (uint64_t bits = quick->used[w]; bits != 0; bits &= bits - 1) {
            unsigned bit = bits_lowest(bits);
            struct quick_list *list = &quick->lists[w * 64 + bit];

            if (list->bytes < least && list->first != NULL)
                continue;
            any |= flush_list(a, list);
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
