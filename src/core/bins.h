/* bins.h - the free blocks of a heap by size: best fit in a few steps, or any
 * that fits in fewer.  Private to core.
 *
 * Blocks go to bins by size class: each size below 16 KiB has one of its own,
 * above that 32 classes share each power of two.  A bitmap says which bins
 * hold something.
 *
 * A bin is a tree ordered by (bytes, address), so that the whole is one ordered
 * set, and the smallest sufficient block of the lowest address is found
 * exactly; or, where order is not asked for, a list, whose blocks go in and out
 * in a few instructions.  Looking at a list in order makes a tree of it first:
 * it stays one until it is empty. */
#ifndef LARDER_CORE_BINS_H
#define LARDER_CORE_BINS_H

#include "base/bits.h"
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
    bool prefers_lists; /* a block makes a list of an empty bin; else there are
                           none.  Set once, while empty */
    uint64_t some;      /* bit w: word w of `used` is not 0 */
    uint64_t used[BINS_WORDS];
    uint64_t listed[BINS_WORDS]; /* of those used: it is a list */
    struct block *roots[BINS_COUNT];
};

/* Grows with the size, so that the order of bins is the order of sizes. */
static inline unsigned bins_class(uint64_t bytes)
{
    uint64_t units = bytes >> BINS_UNIT_LOG2;
    unsigned shift =
        bits_log2(units | UINT64_C(1) << BINS_SHARE_LOG2) - BINS_SHARE_LOG2;

    return (shift << BINS_SHARE_LOG2) + (unsigned)(units >> shift);
}

/* The first bin from `from` on that holds something; BINS_COUNT: none. */
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

static inline bool bins_is_list(const struct bins *bins, unsigned i)
{
    return bins->prefers_lists && (bins->listed[i / 64] >> i % 64 & 1) != 0;
}

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

/* ---- lists ---------------------------------------------------------------- */

/* The same as above where bins are lists; `right` is the block before. */
static inline void bins_insert_listed(struct bins *bins, struct block *b)
{
    unsigned i = bins_class(b->bytes);
    uint64_t bit = UINT64_C(1) << i % 64;
    struct block *first = bins->roots[i];

    if (first != NULL && !bins_is_list(bins, i)) {
        larder__bins_insert(bins, b);
        return;
    }
    b->left = first;
    b->right = NULL;
    bins->roots[i] = b;
    if (first != NULL) {
        first->right = b;
        return;
    }
    bins->used[i / 64] |= bit;
    bins->listed[i / 64] |= bit;
    bins->some |= UINT64_C(1) << i / 64;
}

/* The bin has become empty. */
static inline void bins_clear(struct bins *bins, unsigned i)
{
    bins->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    bins->listed[i / 64] &= bins->used[i / 64];
    if (bins->used[i / 64] == 0)
        bins->some &= ~(UINT64_C(1) << i / 64);
}

/* b is in bin i. */
static inline void bins_remove_listed(struct bins *bins, unsigned i,
                                      struct block *b)
{
    if (!bins_is_list(bins, i)) {
        larder__bins_remove(bins, b);
        return;
    }
    if (b->left != NULL)
        b->left->right = b->right;
    if (b->right != NULL) {
        b->right->left = b->left;
        return;
    }
    bins->roots[i] = b->left;
    if (b->left == NULL)
        bins_clear(bins, i);
}

#endif
