/* ranges.h - a set of address ranges that do not overlap: a treap, of nodes
 * that its users keep.  Every call is O(log n) on average. */
#ifndef LARDER_ADAPTERS_PRELOAD_RANGES_H
#define LARDER_ADAPTERS_PRELOAD_RANGES_H

#include <stdint.h>

struct range {
    uint64_t addr;
    uint64_t bytes; /* above 0 */
    struct range *low;
    struct range *high;
};

void preload_ranges_add(struct range **root, struct range *r);
void preload_ranges_remove(struct range **root, struct range *r);
/* The range that begins there; NULL: none. */
struct range *preload_ranges_at(struct range *root, uint64_t addr);
/* The range that holds the address; NULL: none. */
struct range *preload_ranges_holding(struct range *root, uint64_t addr);
/* The first range at or after the address; NULL: none. */
struct range *preload_ranges_from(struct range *root, uint64_t addr);

#endif
