#include "core/bins.h"

void larder__bins_insert(struct bins *bins, struct block *b)
{
    unsigned i = bins_class(b->bytes);

    if (bins->prefers_lists &&
        (bins->roots[i] == NULL || bins_is_list(bins, i))) {
        bins_insert_listed(bins, b);
        return;
    }
    tree_insert(&bins->roots[i], TREE_BY_SIZE, b);
    bins->used[i / 64] |= UINT64_C(1) << i % 64;
    bins->some |= UINT64_C(1) << i / 64;
}

void larder__bins_remove(struct bins *bins, struct block *b)
{
    unsigned i = bins_class(b->bytes);

    if (bins_is_list(bins, i)) {
        bins_remove_listed(bins, i, b);
        return;
    }
    tree_remove(&bins->roots[i], TREE_BY_SIZE, b);
    if (bins->roots[i] == NULL)
        bins_clear(bins, i);
}

/* That the blocks of a list are in no order until someone looks is nobody's
 * business, so `bins` is constant to those who look: no set of bins is itself a
 * constant, and whoever looks holds the lock. */
static struct block *list_to_tree(const struct bins *bins, unsigned i)
{
    struct bins *changed = (struct bins *)(uintptr_t)bins;
    struct block *b = bins->roots[i];

    changed->listed[i / 64] &= ~(UINT64_C(1) << i % 64);
    changed->roots[i] = NULL;
    while (b != NULL) {
        struct block *next = b->left;

        tree_insert(&changed->roots[i], TREE_BY_SIZE, b);
        b = next;
    }
    return bins->roots[i];
}

/* The bin as a tree. */
static inline struct block *ordered_root(const struct bins *bins, unsigned i)
{
    return bins_is_list(bins, i) ? list_to_tree(bins, i) : bins->roots[i];
}

struct block *larder__bins_not_before(const struct bins *bins, uint64_t bytes,
                                      larder_addr addr)
{
    unsigned i = bins_class(bytes);
    struct block *b =
        tree_not_before(ordered_root(bins, i), TREE_BY_SIZE, bytes, addr);

    if (b != NULL)
        return b;
    i = bins_next_used(bins, i + 1);
    return i == BINS_COUNT ? NULL : tree_first(ordered_root(bins, i));
}

/* The last bin before `end` that holds something; BINS_COUNT: none. */
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

struct block *larder__bins_before(const struct bins *bins, uint64_t bytes,
                                  larder_addr addr)
{
    unsigned i = bins_class(bytes);
    struct block *b = tree_before_key(ordered_root(bins, i), bytes, addr);

    if (b != NULL)
        return b;
    i = bins_previous_used(bins, i);
    return i == BINS_COUNT ? NULL : tree_last(ordered_root(bins, i));
}
