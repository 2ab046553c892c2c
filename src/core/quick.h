/* quick.h - blocks that were given back, kept whole for the next request of
 * about their size.  Private to core.
 *
 * Programs ask for the same sizes again and again: such a block is neither
 * merged nor searched for.  What is kept so is merged, all at once, before the
 * device is asked for more, but for what local.c says is worth it.
 *
 * There is a list for each size class of bins.h.  Any block of a request's class
 * that is large enough answers it, up to 3 % larger; blocks of the next classes
 * may, too (spare.h).  Nothing is cut. */
#ifndef LARDER_CORE_QUICK_H
#define LARDER_CORE_QUICK_H

#include "core/allocator.h"

/* The blocks of one size class, linked by `left`, the last given back first. */
struct quick_list {
    struct block *first;
    uint64_t most; /* the largest that was ever given back here; 0: none was */
};

struct quick {
    uint64_t used[BINS_WORDS]; /* a bit for each list not empty, and for some
                                  that are */
    struct quick_list lists[BINS_COUNT];
};

/* b, about to be handed out, has found its size. */
static inline void quick_note(struct block *b)
{
    static_assert(BINS_COUNT <= 1 << BLOCK_CLASS_BITS, "every class has room");
    b->size_class = bins_class(b->bytes) % (1u << BLOCK_CLASS_BITS);
}

/* A block of that size or, in its class, above, out of its list, but in the
 * address map; NULL: none comes first in the list. */
static inline struct block *quick_take(struct quick *quick, uint64_t bytes)
{
    struct quick_list *list = &quick->lists[bins_class(bytes)];
    struct block *b = list->first;

    if (b == NULL || b->bytes < bytes)
        return NULL;
    list->first = b->left;
    return b;
}

/* Keep b, which is in no index but stays in the address map.  False: it is
 * larger than any of its class before.  Of sizes that come once none is kept,
 * nor of those that grow.  Nor what is marked by its lifetime
 * (lifetime_classes.h): who has it next is not. */
static inline bool quick_keep(struct quick *quick, struct block *b)
{
    unsigned i = b->size_class;
    struct quick_list *list = &quick->lists[i];

    if (b->era != 0 || b->is_long)
        return false;
    if (b->bytes > list->most) {
        list->most = b->bytes;
        return false;
    }
    b->state = BLOCK_QUICK;
    b->left = list->first;
    list->first = b;
    /* Whether it was empty is hard to foresee: no branch. */
    quick->used[i / 64] |= UINT64_C(1) << i % 64;
    return true;
}

/* Whether a block that would do was given back before, in its class. */
static inline bool quick_knows(const struct quick *quick, uint64_t bytes)
{
    return quick->lists[bins_class(bytes)].most >= bytes;
}

/* As quick_take(), but a block of `bytes` to `most` from anywhere in the list,
 * or from the nearest list above that keeps any, 14 to 28 % larger at most. */
struct block *larder__quick_take_near(struct quick *quick, uint64_t bytes,
                                      uint64_t most);

/* b was taken out of its list: merge it, and out of the address map. */
void larder__quick_merge(struct allocator *a, struct block *b);

/* Merge what the heap keeps of `least` bytes and more each; whether it kept
 * any. */
bool larder__quick_flush(struct allocator *a, struct heap *heap,
                         uint64_t least);

/* The same for all heaps of the default pools. */
bool larder__quick_flush_all(struct allocator *a, uint64_t least);

#endif
