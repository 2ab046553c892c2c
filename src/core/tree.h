/* tree.h - an ordered set of free or unmapped blocks: a treap over the links
 * in their headers.  Private to core.
 *
 * The order is (bytes, address), or by address alone; a treap because it
 * needs no balance data (the priority is a hash of the header's number), no
 * parent links and some twenty lines.  Every call costs O(log n) on
 * average; the index keeps n small (bins.h). */
#ifndef LARDER_CORE_TREE_H
#define LARDER_CORE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/block.h"

enum tree_order { TREE_BY_SIZE, TREE_BY_ADDRESS };

static inline bool tree_before(enum tree_order order, uint64_t a_bytes,
                               larder_addr a_addr, const struct block *b)
{
    if (order == TREE_BY_SIZE && a_bytes != b->bytes)
        return a_bytes < b->bytes;
    return a_addr < b->addr;
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

    while (*link != NULL && tree_priority(*link) >= tree_priority(b))
        link = tree_before(order, b->bytes, b->addr, *link) ? &(*link)->left
                                                            : &(*link)->right;
    rest = *link;
    *link = b;
    while (rest != NULL) { /* share what hung here out to b's two sides */
        if (tree_before(order, b->bytes, b->addr, rest)) {
            *high = rest;
            high = &rest->left;
            rest = rest->left;
        } else {
            *low = rest;
            low = &rest->right;
            rest = rest->right;
        }
    }
    *low = NULL;
    *high = NULL;
}

/* b must be in the tree. */
static inline void tree_remove(struct block **root, enum tree_order order,
                               struct block *b)
{
    struct block **link = root;
    struct block *low = b->left;
    struct block *high = b->right;

    while (*link != b)
        link = tree_before(order, b->bytes, b->addr, *link) ? &(*link)->left
                                                            : &(*link)->right;
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

/* The first block not before (bytes, addr); NULL: none. */
static inline struct block *tree_not_before(struct block *root,
                                            enum tree_order order,
                                            uint64_t bytes, larder_addr addr)
{
    struct block *found = NULL;

    while (root != NULL) {
        bool root_is_before = order == TREE_BY_SIZE && root->bytes != bytes
                                  ? root->bytes < bytes
                                  : root->addr < addr;

        if (root_is_before) {
            root = root->right;
        } else {
            found = root;
            root = root->left;
        }
    }
    return found;
}

/* The last block before (bytes, addr) in a tree by size; NULL: none. */
static inline struct block *tree_before_key(struct block *root, uint64_t bytes,
                                            larder_addr addr)
{
    struct block *found = NULL;

    while (root != NULL) {
        bool root_is_before =
            root->bytes != bytes ? root->bytes < bytes : root->addr < addr;

        if (root_is_before) {
            found = root;
            root = root->right;
        } else {
            root = root->left;
        }
    }
    return found;
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

#endif
