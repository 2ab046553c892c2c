/* bins.h - the free blocks of a heap by size, for best fit in a few steps.
 * Private to core.
 *
 * Each size below 16 KiB has a bin of its own.  Above that, 32 size classes
 * share each power of two, and the last bin takes all sizes beyond the address
 * space.  A bitmap marks the bins that are not empty.
 *
 * A bin is a tree ordered by (bytes, address) or (bytes, serial, address), so
 * that all bins together are one ordered set.  This finds exactly the block
 * that PyTorch's policy picks: the smallest sufficient one, and among equals
 * the one of lowest address, or the oldest. */
#pragma once

#include "base/bits.h"
#include "core/block/tree.h"

enum {
    BINS_UNIT_LOG2 = 8,  /* smallest step between two sizes */
    BINS_EXACT_LOG2 = 6, /* log2 of the number of bins for one size each */
    BINS_SHARE_LOG2 = 5, /* log2 of the bins for each power of two above */
    BINS_TOP_LOG2 = 47,  /* bits of a user address on current CPUs */
    BINS_COUNT = (1 << BINS_EXACT_LOG2) +
                 (BINS_TOP_LOG2 - BINS_UNIT_LOG2 - BINS_EXACT_LOG2) *
                     (1 << BINS_SHARE_LOG2),
    BINS_WORDS = (BINS_COUNT + 63) / 64
};

static_assert(BINS_WORDS <= 64, "one word sums up the bitmap");

struct bins {
    uint64_t some; /* bit w: word w of `used` is not 0 */
    uint64_t used[BINS_WORDS];
    struct block *roots[BINS_COUNT];
    enum tree_order order; /* TREE_BY_SIZE or TREE_BY_SERIAL; never changes */
};

/* Increases with the size, so that the order of bins is the order of sizes. */
static inline unsigned bins_class(uint64_t bytes)
{
    uint64_t top = (UINT64_C(1) << (BINS_TOP_LOG2 - BINS_UNIT_LOG2)) - 1;
    uint64_t units = bits_lesser(bytes >> BINS_UNIT_LOG2, top);
    unsigned shift =
        bits_log2(units | UINT64_C(1) << BINS_SHARE_LOG2) - BINS_SHARE_LOG2;

    return (shift << BINS_SHARE_LOG2) + (unsigned)(units >> shift);
}

/* Whether the bitmap says that bin i is not empty. */
static inline bool bins_has(const struct bins *bins, unsigned i)
{
    return (bins->used[i / 64] >> i % 64 & 1) != 0 &&
           (bins->some >> i / 64 & 1) != 0;
}

/* The first non-empty bin from `from` on.  BINS_COUNT: none. */
static inline unsigned bins_next_used(const struct bins *bins, unsigned from)
{
    unsigned w = from / 64;
    uint64_t words;
    uint64_t bits;

    if (from >= BINS_COUNT)
        return BINS_COUNT;
    bits = bins->used[w] & (~UINT64_C(0) << from % 64);
    if (bits != 0)
        return w * 64 + bits_lowest(bits);
    words = w == 63 ? 0 : bins->some & (~UINT64_C(0) << (w + 1));
    if (words == 0)
        return BINS_COUNT;
    w = bits_lowest(words);
    return w * 64 + bits_lowest(bins->used[w]);
}

/* A block must not change its size, serial or address while it is in a bin. */
void larder__bins_insert(struct bins *bins, struct block *b);
void larder__bins_remove(struct bins *bins, struct block *b);

/* The first block that is not before the key, and the last that is.  NULL:
 * none. */
struct block *larder__bins_not_before(const struct bins *bins,
                                      struct tree_key key);
struct block *larder__bins_before(const struct bins *bins, struct tree_key key);

/* The best fit: among the smallest blocks that are large enough, the first.
 * With 0 bytes: the first block of all. */
struct block *larder__bins_fit(const struct bins *bins, uint64_t bytes);

/* The last block of all. */
static inline struct block *bins_largest(const struct bins *bins)
{
    return larder__bins_before(bins, (struct tree_key){.bytes = UINT64_MAX});
}

/* A block's key, to continue from when the block may have left the set. */
static inline struct tree_key bins_key(const struct bins *bins,
                                       const struct block *b)
{
    return tree_key_of(bins->order, b);
}

/* The block after a key. */
static inline struct block *bins_after(const struct bins *bins,
                                       struct tree_key key)
{
    key.addr++;
    return larder__bins_not_before(bins, key);
}

/* The block after b, which is in the set. */
static inline struct block *bins_next(const struct bins *bins,
                                      const struct block *b)
{
    return bins_after(bins, bins_key(bins, b));
}
