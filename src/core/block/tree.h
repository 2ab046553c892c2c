/* tree.h - an ordered set of free or unmapped blocks: a treap over the links in
 * their headers.  Private to core.
 *
 * The order is (bytes, address), or (bytes, serial, address) where blocks have
 * serials (slab.h), or the address alone.  A treap because it needs no balance
 * data (the priority is a hash of the header's number), no parent links and
 * only about twenty lines.  Every call costs O(log n) on average; the bins keep
 * n small (bins.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/block/slab.h"

enum tree_order { TREE_BY_SIZE, TREE_BY_SERIAL, TREE_BY_ADDRESS };

/* A position in the order; parts that the order ignores are 0. */
struct tree_key {
    uint64_t bytes;
    uint64_t serial;
    larder_addr addr;
};

static inline struct tree_key tree_key_of(enum tree_order order,
                                          const struct block *b)
{
    return (struct tree_key){
        .bytes = b->bytes,
        .serial = order == TREE_BY_SERIAL ? slab_serial(b) : 0,
        .addr = b->addr,
    };
}

/* Whether b comes before the key. */
static inline bool tree_is_before(enum tree_order order, const struct block *b,
                                  struct tree_key key)
{
    if (order != TREE_BY_ADDRESS && b->bytes != key.bytes)
        return b->bytes < key.bytes;
    if (order == TREE_BY_SERIAL && slab_serial(b) != key.serial)
        return slab_serial(b) < key.serial;
    return b->addr < key.addr;
}

/* The same, compared with a block.  Where sizes differ no serial is read. */
static inline bool tree_is_before_block(enum tree_order order,
                                        const struct block *b,
                                        const struct block *other)
{
    if (order == TREE_BY_ADDRESS || b->bytes == other->bytes)
        return tree_is_before(order, b, tree_key_of(order, other));
    return b->bytes < other->bytes;
}

static inline uint32_t tree_priority(const struct block *b)
{
    return b->self * UINT32_C(0x9e3779b1);
}

static inline void tree_insert(struct block **root, enum tree_order order,
                               struct block *b)
{
    struct block **link = root;
    struct block **low = &b->left;
    struct block **high = &b->right;
    struct block *rest;

    while (*link != NULL && tree_priority(*link) >= tree_priority(b)) {
        larder__assert(*link != b);
        link = tree_is_before_block(order, *link, b) ? &(*link)->right
                                                     : &(*link)->left;
    }
    rest = *link;
    *link = b;
    while (rest != NULL) { /* split this subtree into b's two sides */
        if (tree_is_before_block(order, rest, b)) {
            *low = rest;
            low = &rest->right;
            rest = rest->right;
        } else {
            *high = rest;
            high = &rest->left;
            rest = rest->left;
        }
    }
    *low = NULL;
    *high = NULL;
    larder__assert(b->left == NULL || tree_is_before_block(order, b->left, b));
    larder__assert(b->right == NULL ||
                   !tree_is_before_block(order, b->right, b));
}

/* b must be in the tree. */
static inline void tree_remove(struct block **root, enum tree_order order,
                               struct block *b)
{
    struct block **link = root;
    struct block *low = b->left;
    struct block *high = b->right;

    while (*link != b) {
        larder__assert(*link != NULL);
        link = tree_is_before_block(order, *link, b) ? &(*link)->right
                                                     : &(*link)->left;
    }
    while (low != NULL && high != NULL) {
        if (tree_priority(low) >= tree_priority(high)) {
            *link = low;
            link = &low->right;
            low = low->right;
        } else {
            *link = high;
            link = &high->left;
            high = high->left;
        }
    }
    *link = low != NULL ? low : high;
}

/* The first block that is not before the key.  NULL: none. */
static inline struct block *tree_not_before(struct block *root,
                                            enum tree_order order,
                                            struct tree_key key)
{
    struct block *found = NULL;

    while (root != NULL) {
        if (tree_is_before(order, root, key)) {
            root = root->right;
        } else {
            found = root;
            root = root->left;
        }
    }
    return found;
}

/* In a tree by address: the first block at or above `addr`.  NULL: none. */
static inline struct block *tree_at_or_above(struct block *root,
                                             larder_addr addr)
{
    return tree_not_before(root, TREE_BY_ADDRESS,
                           (struct tree_key){.addr = addr});
}

/* The last block before the key.  NULL: none. */
static inline struct block *tree_before_key(struct block *root,
                                            enum tree_order order,
                                            struct tree_key key)
{
    struct block *found = NULL;

    while (root != NULL) {
        if (tree_is_before(order, root, key)) {
            found = root;
            root = root->right;
        } else {
            root = root->left;
        }
    }
    return found;
}

typedef void tree_visit(void *arg, struct block *b);

/* Visit all blocks in order; `visit` must not change the tree.  O(n), while n
 * searches for the next one cost O(n log n) with a cache miss at each step. */
static inline void tree_walk(struct block *root, tree_visit *visit, void *arg)
{
    for (; root != NULL; root = root->right) {
        tree_walk(root->left, visit, arg);
        visit(arg, root);
    }
}

static inline struct block *tree_first(struct block *root)
{
    while (root != NULL && root->left != NULL)
        root = root->left;
    return root;
}

static inline struct block *tree_last(struct block *root)
{
    while (root != NULL && root->right != NULL)
        root = root->right;
    return root;
}
