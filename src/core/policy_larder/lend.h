/* lend.h - lends free memory of private pools to the default pools when memory
 * runs out.  Private to core.
 *
 * Handles that lie entirely in free memory of a pool move to where they are
 * needed, as they do between heaps; the pool acquires others when it grows
 * again.  This applies to tags and to pools that the program declared safe to
 * lend from (larder_pool_set_lending()).
 *
 * Other pools are assumed to serve graphs, and pools that took part in a
 * capture are known to: nothing is lent from them until the program says that
 * their graphs do not run (larder_pool_lend()).  Then free memory that the
 * graphs use serves requests where it is, with its mapping unchanged; order.h
 * says what waits for what.
 *
 * No pool lends below its minimum (holding.h). */
#pragma once

#include "core/policy_larder/own.h"

/* The pool's graphs do not run: lend its free memory to the stream. */
larder_result larder__pool_lend(struct allocator *a, struct private_pool *p,
                                larder_stream stream);

/* Stop lending.  ERR_BUSY while a lent block is in use. */
larder_result larder__pool_recall(struct allocator *a, struct private_pool *p);

/* Serve q, a request to a default pool, from a free block of a pool that is
 * lent to its stream.  The block is removed from its heap and stored in
 * q->block; q->heap becomes its heap.  Waits for that heap's stream, unless it
 * is the request's. */
bool larder__lend_block(struct allocator *a, struct request *q);

/* Turn free handles of other pools into loose ones, or release their segments
 * to the device: `pages` pages in all, if there are as many.  Waits for the
 * streams of their heaps.  Returns the number of pages; what the device fails
 * to release stays. */
size_t larder__lend_pages(struct allocator *a, size_t pages);

/* Record that the first `bytes` of a private pool's block are handed out: in a
 * capture, the graph uses them. */
void larder__lend_note(struct allocator *a, const struct block *b,
                       uint64_t bytes, larder_stream stream);
