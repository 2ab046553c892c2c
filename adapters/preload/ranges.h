/* ranges.h - a set of disjoint address ranges: a treap, whose nodes belong to
 * its users.  Every call is O(log n) on average. */
#pragma once

#include <stdint.h>

struct range {
    uint64_t addr;
    uint64_t bytes; /* above 0 */
    struct range *low;
    struct range *high;
};

void preload_ranges_add(struct range **root, struct range *r);
void preload_ranges_remove(struct range **root, struct range *r);
/* The range that begins at this address.  NULL: none. */
struct range *preload_ranges_at(struct range *root, uint64_t addr);
/* The range that contains the address.  NULL: none. */
struct range *preload_ranges_holding(struct range *root, uint64_t addr);
/* The first range at or after the address.  NULL: none. */
struct range *preload_ranges_from(struct range *root, uint64_t addr);
