/* fit.h - free blocks in lists by size class: two-level segregated fit.
 * Private to core.
 *
 * A class is a sixteenth of a power of two; below 8 KiB each size has a class
 * of its own.  Lists are last in, first out, and a bitmap marks those that are
 * not empty, so every call takes a few instructions however many blocks there
 * are.
 *
 * Blocks of a class are not ordered: exact best fit with the lowest address,
 * which trees of blocks give, was no better on any of forty programs
 * (docs/notes/policy.md). */
#pragma once

#include "base/bits.h"
#include "core/block/block.h"

enum {
    FIT_UNIT_LOG2 = 8,  /* smallest step between two sizes */
    FIT_SHARE_LOG2 = 4, /* log2 of the classes for each power of two */
    FIT_CLASSES = 512,  /* the last one begins at 8 TiB */
    FIT_WORDS = FIT_CLASSES / 64,
    FIT_LOOKS = 4 /* at blocks of the request's own class, of any size there */
};

struct fit {
    uint64_t some;            /* bit w: word w of `used` is not 0 */
    uint64_t used[FIT_WORDS]; /* one bit for each non-empty list */
    struct block *first[FIT_CLASSES];
};

/* Increases with the size. */
static inline unsigned fit_class(uint64_t bytes)
{
    uint64_t units = bytes >> FIT_UNIT_LOG2;
    unsigned shift =
        bits_log2(units | UINT64_C(1) << FIT_SHARE_LOG2) - FIT_SHARE_LOG2;
    unsigned i = (shift << FIT_SHARE_LOG2) + (unsigned)(units >> shift);

    return i < FIT_CLASSES ? i : FIT_CLASSES - 1;
}

/* Whether the bitmap says that list i is not empty. */
static inline bool fit_has(const struct fit *fit, unsigned i)
{
    return (fit->used[i / 64] >> i % 64 & 1) != 0 &&
           (fit->some >> i / 64 & 1) != 0;
}

/* The first non-empty class from `from` on.  FIT_CLASSES: none. */
static inline unsigned fit_next_used(const struct fit *fit, unsigned from)
{
    unsigned w = from / 64;
    uint64_t bits;

    if (from >= FIT_CLASSES)
        return FIT_CLASSES;
    bits = fit->used[w] & (~UINT64_C(0) << from % 64);
    if (bits == 0) {
        uint64_t words = fit->some & (~UINT64_C(0) << w << 1);

        if (words == 0)
            return FIT_CLASSES;
        w = bits_lowest(words);
        bits = fit->used[w];
    }
    return w * 64 + bits_lowest(bits);
}

static inline void fit_insert_in(struct fit *fit, unsigned i, struct block *b)
{
    struct block *first = fit->first[i];

    larder__assert(i == fit_class(b->bytes));
    larder__assert(first != b);
    larder__assert(fit_has(fit, i) == (first != NULL));
    b->left = first;
    fit->first[i] = b;
    if (first != NULL) {
        first->right = b;
        return;
    }
    fit->used[i / 64] |= UINT64_C(1) << i % 64;
    fit->some |= UINT64_C(1) << i / 64;
}

/* b is in list i.  The first block of a list has no valid back link. */
static inline void fit_remove_from(struct fit *fit, unsigned i, struct block *b)
{
    struct block *next = b->left;

    larder__assert(i < FIT_CLASSES);
    larder__assert(fit->first[i] != NULL && fit_has(fit, i));
    larder__assert(fit->first[i] == b || b->right->left == b);
    larder__assert(next == NULL || next->right == b);
    if (fit->first[i] != b) {
        b->right->left = next;
        if (next != NULL)
            next->right = b->right;
        return;
    }
    fit->first[i] = next;
    if (next != NULL)
        return;
    fit->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    if (fit->used[i / 64] == 0)
        fit->some &= ~(UINT64_C(1) << i / 64);
}

static inline void fit_insert(struct fit *fit, struct block *b)
{
    fit_insert_in(fit, fit_class(b->bytes), b);
}

static inline void fit_remove(struct fit *fit, struct block *b)
{
    fit_remove_from(fit, fit_class(b->bytes), b);
}

/* Find a block of at least `bytes` and leave it in its list.  NULL: none.
 *
 * Blocks of the class of `bytes` may be too small: only `looks` of them are
 * tried before a block of the next larger class is taken.  If no larger class
 * has one, all of them are tried. */
static inline struct block *fit_find(const struct fit *fit, uint64_t bytes,
                                     unsigned looks)
{
    unsigned i = fit_class(bytes);
    struct block *b = fit->first[i];
    unsigned larger;

    for (; b != NULL && looks > 0; looks--, b = b->left) {
        if (b->bytes >= bytes)
            return b;
    }
    larger = fit_next_used(fit, i + 1);
    if (larger != FIT_CLASSES)
        return fit->first[larger];
    while (b != NULL && b->bytes < bytes)
        b = b->left;
    return b;
}

/* ---- all of them, by ascending class --------------------------------------- */

/* A block in its list.  block NULL: there are no more. */
struct fit_place {
    struct block *block;
    unsigned class;
};

static inline struct fit_place fit_place_from(const struct fit *fit, unsigned i)
{
    i = fit_next_used(fit, i);
    return (struct fit_place){i == FIT_CLASSES ? NULL : fit->first[i], i};
}

/* The first block whose class is at least that of `bytes`.  If a class begins at
 * exactly `bytes`, no smaller block follows. */
static inline struct fit_place fit_from(const struct fit *fit, uint64_t bytes)
{
    return fit_place_from(fit, fit_class(bytes));
}

/* The block after it. */
static inline struct fit_place fit_after(const struct fit *fit,
                                         struct fit_place at)
{
    if (at.block->left == NULL)
        return fit_place_from(fit, at.class + 1);
    return (struct fit_place){at.block->left, at.class};
}
