/* quick.h - blocks that were given back, kept whole for the next request of
 * exactly their size.  Private to core.
 *
 * Programs ask for the same sizes again and again: such a block is neither
 * merged nor searched for.  What is kept so is merged, all at once, before the
 * device is asked for anything, so that it costs no memory. */
#ifndef LARDER_CORE_QUICK_H
#define LARDER_CORE_QUICK_H

#include "core/allocator.h"

enum { QUICK_LISTS_LOG2 = 10, QUICK_LISTS = 1 << QUICK_LISTS_LOG2 };

/* The blocks of one size, linked by `left`, the last given back first. */
struct quick_list {
    uint64_t bytes;
    struct block *first; /* NULL: the list is free for another size */
};

struct quick {
    uint64_t used[QUICK_LISTS / 64]; /* a bit for each list not empty, and for
                                        some that are */
    /* A size's list is one of two: by hash, or that one's neighbour. */
    struct quick_list lists[QUICK_LISTS];
};

static inline unsigned quick_hash(uint64_t bytes)
{
    uint32_t hash = (uint32_t)(bytes >> BINS_UNIT_LOG2) * UINT32_C(0x9e3779b1);

    return hash >> (32 - QUICK_LISTS_LOG2);
}

/* A block of that size, out of its list, but in the address map; NULL: none. */
static inline struct block *quick_take(struct quick *quick, uint64_t bytes)
{
    unsigned hash = quick_hash(bytes);
    struct quick_list *list = &quick->lists[hash];
    struct block *b;

    if (list->bytes != bytes)
        list = &quick->lists[hash ^ 1];
    b = list->first;
    if (b == NULL || list->bytes != bytes)
        return NULL;
    list->first = b->left;
    return b;
}

/* The list for b's size, or one that is free for it; NULL: there is none. */
static inline struct quick_list *quick_list_for(struct quick *quick,
                                                const struct block *b)
{
    unsigned hash = quick_hash(b->bytes);
    struct quick_list *list = &quick->lists[hash];
    struct quick_list *other = &quick->lists[hash ^ 1];

    if (list->bytes == b->bytes)
        return list;
    if (other->bytes == b->bytes)
        return other;
    if (list->first != NULL)
        list = other;
    return list->first == NULL ? list : NULL;
}

/* Keep b, which is in no index but stays in the address map.  False: no list
 * is free for its size, or one only now became so: of sizes that come once,
 * none is kept.  Nor what is marked by its lifetime (lifetime_classes.h): who
 * has it next is not. */
static inline bool quick_keep(struct quick *quick, struct block *b)
{
    /* The one it came from, most likely. */
    struct quick_list *list = &quick->lists[b->list];

    if (b->era != 0 || b->is_long)
        return false;
    if (list->bytes != b->bytes) {
        list = quick_list_for(quick, b);
        if (list == NULL)
            return false;
        if (list->bytes != b->bytes) {
            list->bytes = b->bytes;
            return false;
        }
        b->list = (unsigned)(list - quick->lists) % QUICK_LISTS;
    }
    b->state = BLOCK_QUICK;
    b->left = list->first;
    list->first = b;
    /* Whether it was empty is hard to foresee: no branch. */
    quick->used[b->list / 64] |= UINT64_C(1) << b->list % 64;
    return true;
}

/* Whether a block of that size was kept before, as far as is remembered. */
static inline bool quick_knows(const struct quick *quick, uint64_t bytes)
{
    unsigned hash = quick_hash(bytes);

    return quick->lists[hash].bytes == bytes ||
           quick->lists[hash ^ 1].bytes == bytes;
}

/* b was taken out of its list: merge it, and out of the address map. */
void larder__quick_merge(struct allocator *a, struct block *b);

/* Merge what the heap keeps of `least` bytes and more each; whether it kept
 * any. */
bool larder__quick_flush(struct allocator *a, struct heap *heap,
                         uint64_t least);

/* The same for all heaps of the default pools. */
bool larder__quick_flush_all(struct allocator *a, uint64_t least);

#endif
