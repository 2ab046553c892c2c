/* blocks.h - splits, merges, allocates and frees blocks, and counts that.
 * Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Whether pages are mapped into it. */
static inline bool segment_is_expandable(const struct segment *s)
{
    return s->kind == SEGMENT_EXPANDABLE || s->kind == SEGMENT_PAGED;
}

/* Whether it shares its segment with other blocks. */
static inline bool block_is_split(const struct block *b)
{
    return b->prev != 0 || b->next != 0;
}

/* Whether the free block is a whole allocation of the driver, which can be
 * released. */
static inline bool block_is_unused(const struct block *b)
{
    return b->segment->kind == SEGMENT_DRIVER && !block_is_split(b);
}

/* Split b so that it keeps `bytes`.  Returns the rest behind it, in no index
 * and in b's state.  One header must be ensured. */
struct block *larder__block_split(struct allocator *a, struct block *b,
                                  uint64_t bytes);

/* The same, except that the part that is kept is the new block and the rest is
 * the old one.  The difference matters only to PYTORCH_NEW_BLOCKS. */
struct block *larder__block_cut(struct allocator *a, struct block *b,
                                uint64_t bytes);

/* How many neighbours were merged into a block, and their total size. */
struct merged {
    unsigned count;
    uint64_t bytes;
};

/* Merge b, which is in no index, with each neighbour in the same state (free or
 * unmapped).  Returns the merged block, in no index. */
struct block *larder__block_merge(struct allocator *a, struct block *b,
                                  struct merged *merged);

/* Make a free block of at least `size`, removed from its heap, live and count
 * it; with `split`, split off the rest, for which a header must be ensured.
 * The caller inserts the block into the map. */
void larder__block_allocate(struct allocator *a, struct block *b, uint64_t size,
                            uint64_t requested, bool split);

/* Free a live or pending block that nothing uses any more: merge it with its
 * neighbours and insert it into its heap. */
void larder__block_free(struct allocator *a, struct block *b);
