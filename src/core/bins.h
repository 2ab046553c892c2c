/* bins.h - the free blocks of a heap by size: best fit in a few steps.
 * Private to core.
 *
 * Blocks go to bins by size class: each size below 16 KiB has one of its own,
 * above that 32 classes share each power of two.  A bitmap says which bins
 * hold something; in a bin the blocks are ordered by (bytes, address).  So the
 * whole is one ordered set, and the smallest sufficient block of the lowest
 * address is found exactly, while the trees stay small. */
#ifndef LARDER_CORE_BINS_H
#define LARDER_CORE_BINS_H

#include "core/tree.h"

enum {
    BINS_UNIT_LOG2 = 8,  /* the smallest step between two sizes */
    BINS_EXACT_LOG2 = 6, /* as many sizes have a bin of their own */
    BINS_SHARE_LOG2 = 5, /* bins for each power of two above */
    BINS_COUNT =
        (1 << BINS_EXACT_LOG2) +
        (64 - BINS_UNIT_LOG2 - BINS_EXACT_LOG2) * (1 << BINS_SHARE_LOG2),
    BINS_WORDS = (BINS_COUNT + 63) / 64
};

static_assert(BINS_WORDS <= 64, "one word sums up the bitmap");

struct bins {
    uint64_t some; /* bit w: word w of `used` is not 0 */
    uint64_t used[BINS_WORDS];
    struct block *roots[BINS_COUNT];
};

/* The block must not change its size or address while it is in. */
void larder__bins_insert(struct bins *bins, struct block *b);
void larder__bins_remove(struct bins *bins, struct block *b);

/* The first block not before (bytes, addr) in the order of (bytes, address);
 * NULL: none.  (bytes, 0) is best fit. */
struct block *larder__bins_not_before(const struct bins *bins, uint64_t bytes,
                                      larder_addr addr);

/* The block after b, which need not be in the set any more as long as `bytes`
 * and `addr` are what they were. */
static inline struct block *bins_after(const struct bins *bins, uint64_t bytes,
                                       larder_addr addr)
{
    return larder__bins_not_before(bins, bytes, addr + 1);
}

/* The last block before (bytes, addr); NULL: none.  (UINT64_MAX, 0): the
 * largest. */
struct block *larder__bins_before(const struct bins *bins, uint64_t bytes,
                                  larder_addr addr);

#endif
