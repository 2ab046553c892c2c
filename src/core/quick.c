#include "core/quick.h"

#include "base/bits.h"
#include "core/carve.h"
#include "core/pool.h"

void larder__quick_merge(struct allocator *a, struct quick *quick,
                         struct block *b)
{
    quick->count--;
    (void)map_take(&a->map, b->addr);
    (void)larder__uncarve(a, b);
}

static void flush_list(struct allocator *a, struct quick *quick,
                       struct quick_list *list)
{
    while (list->first != NULL) {
        struct block *b = list->first;

        list->first = b->left;
        larder__quick_merge(a, quick, b);
    }
}

bool larder__quick_flush(struct allocator *a, struct heap *heap, uint64_t least)
{
    struct quick *quick = heap->quick;
    uint64_t before;

    if (quick == NULL || quick->count == 0)
        return false;
    before = quick->count;
    for (unsigned w = 0; w < QUICK_LISTS / 64; w++) {
        for (uint64_t bits = quick->used[w]; bits != 0; bits &= bits - 1) {
            unsigned bit = bits_lowest(bits);
            struct quick_list *list = &quick->lists[w * 64 + bit];

            if (list->bytes < least && list->first != NULL)
                continue;
            flush_list(a, quick, list);
            quick->used[w] &= ~(UINT64_C(1) << bit);
        }
    }
    return quick->count != before;
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
