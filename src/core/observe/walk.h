/* walk.h - finds and visits blocks, slowly.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Visit every block as larder_walk() does, with its header.  The header is NULL
 * for free memory of pieces that nothing was carved from, and for unmapped
 * memory. */
typedef int larder__header_fn(void *ctx, const larder_segment_info *segment,
                              const larder_block_info *block,
                              const struct block *header);
larder_result larder__walk_headers(struct allocator *a, larder__header_fn *fn,
                                   void *ctx);

/* The block that contains addr.  NULL: none, or it is unmapped.  O(segments +
 * blocks of one segment). */
const struct block *larder__block_containing(struct allocator *a,
                                             larder_addr addr);
