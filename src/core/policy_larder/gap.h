/* gap.h - finds where a request misses fewest pages when no free block can
 * serve it.  Private to core.
 *
 * Between two blocks in use, free and unmapped blocks alternate.  A request can
 * be placed anywhere there; it misses the unmapped pages that it touches. */
#pragma once

#include "core/policy_larder/pages.h"

struct gap {
    struct block *block; /* free or unmapped; the request begins in it */
    larder_addr addr;
    size_t missing;  /* pages to map */
    size_t unmapped; /* blocks that they are in */
    uint64_t bytes;  /* from one block in use to the next */
};

/* Find the gaps of the heap where `size` bytes miss fewest pages, at most `max`;
 * among equals the smallest gap comes first.  Returns their number.  The fewer
 * are asked for, the fewer places are looked at. */
size_t larder__gaps_find(struct allocator *a, struct heap *heap, uint64_t size,
                         struct gap *out, size_t max);
