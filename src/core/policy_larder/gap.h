/* gap.h - where a request that no free block answers lacks least memory.
 * Private to core.
 *
 * Between two blocks in use lie free and unmapped ones in turn.  A request can
 * go anywhere there; what it lacks are the unmapped pages that it touches. */
#ifndef LARDER_CORE_POLICY_LARDER_GAP_H
#define LARDER_CORE_POLICY_LARDER_GAP_H

#include "core/policy_larder/pages.h"

struct gap {
    struct block *block; /* free or unmapped; the request begins in it */
    larder_addr addr;
    size_t missing;  /* pages */
    size_t unmapped; /* blocks that have them */
    uint64_t bytes;  /* from one block in use to the next */
};

enum { GAPS_MAX = 4 };

/* The gaps of the heap where `size` bytes miss fewest pages, of those the
 * smallest first.  How many there are. */
size_t larder__gaps_find(struct allocator *a, struct heap *heap, uint64_t size,
                         struct gap out[GAPS_MAX]);

/* The end of the heap's longest unmapped block of at least so many bytes, the
 * free block before it included: room for fresh pages.  False: none. */
bool larder__gap_fresh(struct allocator *a, struct heap *heap, uint64_t bytes,
                       struct gap *out);

#endif
