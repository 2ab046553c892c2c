/* blocks.h - what happens to blocks, and how it is counted.  Private to core. */
#ifndef LARDER_CORE_BLOCKS_H
#define LARDER_CORE_BLOCKS_H

#include "core/state/allocator.h"

static inline bool segment_is_expandable(const struct segment *s)
{
    return s->kind == SEGMENT_EXPANDABLE || s->kind == SEGMENT_PAGED;
}

static inline bool block_is_split(const struct block *b)
{
    return b->prev != 0 || b->next != 0;
}

/* Cut b so that it keeps `bytes`; the rest, after it, is returned in no index
 * and in b's state.  One header must be ensured. */
struct block *larder__block_split(struct allocator *a, struct block *b,
                                  uint64_t bytes);

/* The same where what is kept is the new block, and the rest the old one: it
 * matters to PYTORCH_NEW_BLOCKS alone. */
struct block *larder__block_cut(struct allocator *a, struct block *b,
                                uint64_t bytes);

/* How many neighbours a block took in, and their size. */
struct merged {
    unsigned count;
    uint64_t bytes;
};

/* Merge b, which is in no index, with a neighbour on either side that is in
 * the same state (free or unmapped).  Returns the merged block, in no
 * index. */
struct block *larder__block_merge(struct allocator *a, struct block *b,
                                  struct merged *merged);

/* A found block, free and out of its heap, of at least `size`: cut the rest
 * off if `split`, make it live, count it.  The caller puts it into the map.
 * If split, a header must be ensured. */
void larder__block_allocate(struct allocator *a, struct block *b, uint64_t size,
                            uint64_t requested, bool split);

/* A live or pending block that nothing uses any more: merge it with its
 * neighbours and put it into its heap. */
void larder__block_free(struct allocator *a, struct block *b);

#endif
