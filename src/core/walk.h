/* walk.h - looking for and at blocks, slowly.  Private to core. */
#ifndef LARDER_CORE_WALK_H
#define LARDER_CORE_WALK_H

#include "core/allocator.h"

/* The block that contains addr; NULL if none does, or if it is unmapped.
 * O(segments + blocks of one). */
const struct block *larder__block_containing(struct allocator *a,
                                             larder_addr addr);

#endif
