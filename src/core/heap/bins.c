/* bins.c - the free blocks of a heap by size, for best fit in a few steps. */
#include "core/heap/bins.h"

/* The common order is passed as a constant, so that the compiler can drop the
 * comparison of serials. */

void larder__bins_insert(struct bins *bins, struct block *b)
{
    unsigned i = bins_class(b->bytes);

    larder__assert(i < BINS_COUNT);
    larder__assert(b->bytes > 0);
    larder__assert(bins_has(bins, i) == (bins->roots[i] != NULL));
    if (bins->order == TREE_BY_SIZE)
        tree_insert(&bins->roots[i], TREE_BY_SIZE, b);
    else
        tree_insert(&bins->roots[i], TREE_BY_SERIAL, b);
    bins->used[i / 64] |= UINT64_C(1) << i % 64;
    bins->some |= UINT64_C(1) << i / 64;
}

void larder__bins_remove(struct bins *bins, struct block *b)
{
    unsigned i = bins_class(b->bytes);

    larder__assert(bins_has(bins, i));
    if (bins->order == TREE_BY_SIZE)
        tree_remove(&bins->roots[i], TREE_BY_SIZE, b);
    else
        tree_remove(&bins->roots[i], TREE_BY_SERIAL, b);
    if (bins->roots[i] != NULL)
        return;
    bins->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    if (bins->used[i / 64] == 0)
        bins->some &= ~(UINT64_C(1) << i / 64);
    larder__assert(!bins_has(bins, i));
}

/* Serial and address are 0 in the key, so only sizes decide. */
struct block *larder__bins_fit(const struct bins *bins, uint64_t bytes)
{
    unsigned i = bins_class(bytes);
    struct block *b = tree_not_before(bins->roots[i], TREE_BY_SIZE,
                                      (struct tree_key){.bytes = bytes});

    if (b == NULL) {
        i = bins_next_used(bins, i + 1);
        b = i == BINS_COUNT ? NULL : tree_first(bins->roots[i]);
    }
    larder__assert(b == NULL || b->bytes >= bytes);
    return b;
}

struct block *larder__bins_not_before(const struct bins *bins,
                                      struct tree_key key)
{
    unsigned i = bins_class(key.bytes);
    struct block *b =
        bins->order == TREE_BY_SIZE
            ? tree_not_before(bins->roots[i], TREE_BY_SIZE, key)
            : tree_not_before(bins->roots[i], TREE_BY_SERIAL, key);

    if (b == NULL) {
        i = bins_next_used(bins, i + 1);
        b = i == BINS_COUNT ? NULL : tree_first(bins->roots[i]);
    }
    larder__assert(b == NULL || !tree_is_before(bins->order, b, key));
    return b;
}

/* The last non-empty bin before `end`.  BINS_COUNT: none. */
static unsigned bins_previous_used(const struct bins *bins, unsigned end)
{
    unsigned w = end / 64;
    uint64_t words;
    uint64_t bits =
        end % 64 == 0 ? 0 : bins->used[w] & (~UINT64_C(0) >> (64 - end % 64));

    if (bits != 0)
        return w * 64 + bits_log2(bits);
    words = w == 0 ? 0 : bins->some & (~UINT64_C(0) >> (64 - w));
    if (words == 0)
        return BINS_COUNT;
    w = bits_log2(words);
    return w * 64 + bits_log2(bins->used[w]);
}

struct block *larder__bins_before(const struct bins *bins, struct tree_key key)
{
    unsigned i = bins_class(key.bytes);
    struct block *b =
        bins->order == TREE_BY_SIZE
            ? tree_before_key(bins->roots[i], TREE_BY_SIZE, key)
            : tree_before_key(bins->roots[i], TREE_BY_SERIAL, key);

    if (b == NULL) {
        i = bins_previous_used(bins, i);
        b = i == BINS_COUNT ? NULL : tree_last(bins->roots[i]);
    }
    larder__assert(b == NULL || tree_is_before(bins->order, b, key));
    return b;
}
