/* ranges.c - a set of disjoint address ranges: a treap, whose nodes belong to
 * its users. */
#include "ranges.h"

#include <stddef.h>

/* Addresses share their low bits, so mix the bits. */
static uint64_t priority(const struct range *r)
{
    uint64_t x = r->addr * UINT64_C(0x9e3779b97f4a7c15);

    return x ^ (x >> 29);
}

void preload_ranges_add(struct range **root, struct range *r)
{
    struct range **link = root;
    struct range **low = &r->low;
    struct range **high = &r->high;
    struct range *rest;

    while (*link != NULL && priority(*link) >= priority(r))
        link = r->addr < (*link)->addr ? &(*link)->low : &(*link)->high;
    rest = *link;
    *link = r;
    while (rest != NULL) { /* split this subtree into r's two sides */
        if (r->addr < rest->addr) {
            *high = rest;
            high = &rest->low;
            rest = rest->low;
        } else {
            *low = rest;
            low = &rest->high;
            rest = rest->high;
        }
    }
    *low = NULL;
    *high = NULL;
}

void preload_ranges_remove(struct range **root, struct range *r)
{
    struct range **link = root;
    struct range *low = r->low;
    struct range *high = r->high;

    while (*link != r)
        link = r->addr < (*link)->addr ? &(*link)->low : &(*link)->high;
    while (low != NULL && high != NULL) {
        if (priority(low) >= priority(high)) {
            *link = low;
            link = &low->high;
            low = low->high;
        } else {
            *link = high;
            link = &high->low;
            high = high->low;
        }
    }
    *link = low != NULL ? low : high;
}

struct range *preload_ranges_holding(struct range *root, uint64_t addr)
{
    struct range *last = NULL; /* the last that begins at or before it */

    while (root != NULL) {
        if (root->addr <= addr) {
            last = root;
            root = root->high;
        } else {
            root = root->low;
        }
    }
    return last != NULL && addr - last->addr < last->bytes ? last : NULL;
}

struct range *preload_ranges_at(struct range *root, uint64_t addr)
{
    struct range *r = preload_ranges_holding(root, addr);

    return r != NULL && r->addr == addr ? r : NULL;
}

struct range *preload_ranges_from(struct range *root, uint64_t addr)
{
    struct range *found = NULL;

    while (root != NULL) {
        if (root->addr >= addr) {
            found = root;
            root = root->low;
        } else {
            root = root->high;
        }
    }
    return found;
}
