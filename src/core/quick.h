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
    uint64_t count;                  /* blocks in all lists */
    uint64_t used[QUICK_LISTS / 64]; /* a bit for each list not empty, and for
                                        some that are */
    /* A size's list is one of two: by hash, or that one's neighbour. */
    struct quick_list lists[QUICK_LISTS];
};

static inline struct quick_list *quick_list(struct quick *quick, uint64_t bytes)
{
    uint32_t hash = (uint32_t)(bytes >> BINS_UNIT_LOG2) * UINT32_C(0x9e3779b1);

    return &quick->lists[hash >> (32 - QUICK_LISTS_LOG2)];
}

static inline struct quick_list *quick_neighbour(struct quick *quick,
                                                 const struct quick_list *list)
{
    return &quick->lists[(size_t)(list - quick->lists) ^ 1];
}

/* A block of that size, out of its list, but in the address map; NULL: none. */
static inline struct block *quick_take(struct quick *quick, uint64_t bytes)
{
    struct quick_list *list = quick_list(quick, bytes);
    struct block *b;

    if (list->bytes != bytes || list->first == NULL) {
        list = quick_neighbour(quick, list);
        if (list->bytes != bytes || list->first == NULL)
            return NULL;
    }
    b = list->first;
    list->first = b->left;
    b->list = (unsigned)(list - quick->lists) % QUICK_LISTS;
    quick->count--;
    return b;
}

/* The list for b's size, or one that is free for it; NULL: there is none. */
static inline struct quick_list *quick_list_for(struct quick *quick,
                                                const struct block *b)
{
    struct quick_list *list = quick_list(quick, b->bytes);
    struct quick_list *other = quick_neighbour(quick, list);

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
 * none is kept. */
static inline bool quick_keep(struct quick *quick, struct block *b)
{
    /* The one it came from, most likely. */
    struct quick_list *list = &quick->lists[b->list];

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
    if (b->left == NULL)
        quick->used[b->list / 64] |= UINT64_C(1) << b->list % 64;
    list->first = b;
    quick->count++;
    return true;
}

/* Whether a block of that size was kept before, as far as is remembered. */
static inline bool quick_knows(struct quick *quick, uint64_t bytes)
{
    const struct quick_list *list = quick_list(quick, bytes);

    return list->bytes == bytes || quick_neighbour(quick, list)->bytes == bytes;
}

/* b was taken out of its list: merge it, and out of the address map. */
void larder__quick_merge(struct allocator *a, struct quick *quick,
                         struct block *b);

/* Merge what the heap keeps of `least` bytes and more each; whether it kept
 * any. */
bool larder__quick_flush(struct allocator *a, struct heap *heap,
                         uint64_t least);

/* The same for all heaps of the default pools. */
bool larder__quick_flush_all(struct allocator *a, uint64_t least);

#endif
