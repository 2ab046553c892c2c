/* lend.h - what private pools have free serves the default ones when memory
 * runs out.  Private to core.
 *
 * Handles that lie whole in free memory of a pool go where they are needed, as
 * they do between heaps; the pool gets others when it grows again.  That is for
 * tags, and for pools of which the program said so (larder_pool_set_lending()).
 * Of others it is taken that they are for graphs, and of those that were part of
 * a capture it is known: nothing goes until the program says that graphs do not
 * run (larder_pool_lend()), and then what was handed out to them serves requests
 * in its place, mapped as it is.
 *
 * Nothing goes below a pool's minimum (holding.h). */
#ifndef LARDER_CORE_POLICY_LARDER_LEND_H
#define LARDER_CORE_POLICY_LARDER_LEND_H

#include "core/policy_larder/own.h"

/* Serve q, of a default pool, from a free block of a pool that is lent to its
 * stream: q->block, out of its heap, which q->heap is then. */
bool larder__lend_block(struct allocator *a, struct request *q);

/* Make handles of other pools loose, or give their segments to the device, of
 * `pages` together if there are.  Waits for the streams of their heaps.
 * Returns how many went; what the device refuses stays. */
size_t larder__lend_pages(struct allocator *a, size_t pages);

/* The first bytes of a private pool's block are handed out: if that is part of
 * a capture, its graph uses them. */
void larder__lend_note(struct allocator *a, const struct block *b,
                       uint64_t bytes, larder_stream stream);

#endif
