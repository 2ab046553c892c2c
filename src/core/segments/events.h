/* events.h - blocks used on streams other than their own.  Private to core.
 *
 * A recorded stream is remembered with the block.  When the block is given
 * back, an event goes on each of those streams, and the block is free once
 * all have completed.  While allocations are routed to a private pool no
 * event is recorded or asked about: the block waits in a list until that is
 * over (facts of PyTorch 2.4; a stream capture forbids both).  A use on a
 * stream that is being captured is then dropped, as the capture's end orders
 * it; every other use is kept. */
#ifndef LARDER_CORE_EVENTS_H
#define LARDER_CORE_EVENTS_H

#include "core/state/allocator.h"

/* Remember that the live block is used on `stream`, not its own.  Takes the
 * host memory that freeing the block will need. */
larder_result larder__events_use(struct allocator *a, struct block *b,
                                 larder_stream stream);

/* The same streams for a block of which b becomes a part: *out, NULL if there
 * are none.  False: no host memory.  Holds are not copied. */
bool larder__events_copy(struct allocator *a, const struct block *b,
                         struct use **out);

/* Keep the live block, once it is freed, until the hold ends: for memory
 * that others have too. */
larder_result larder__events_hold(struct allocator *a, struct block *b,
                                  struct use **out);
void larder__events_unhold(struct allocator *a, struct use *hold);

/* Whether the live block is kept so. */
static inline bool block_is_exported(const struct block *b)
{
    const struct use *use = b->uses;

    while (use != NULL && !use->is_hold)
        use = use->next;
    return use != NULL;
}

/* The live block with recorded streams was freed. */
void larder__events_defer(struct allocator *a, struct block *b);

/* Free the blocks whose events have completed: asks each stream's events in
 * order up to the first that has not. */
void larder__events_poll(struct allocator *a);

/* Wait for every event and free the blocks. */
larder_result larder__events_sync(struct allocator *a);

/* The same of the blocks of one owner, and what comes before them on their
 * streams.  O(events that wait). */
larder_result larder__events_sync_owner(struct allocator *a,
                                        const struct private_pool *owner);

/* Wait for what is queued on the stream now. */
larder_result larder__events_pass(struct allocator *a, larder_stream stream);

/* Wait for one event and free the blocks that waited for no other.  False: no
 * event is left, or the device refuses. */
bool larder__events_wait_one(struct allocator *a);

/* Give the device its events back; nothing waits any more. */
larder_result larder__events_destroy(struct allocator *a);

#endif
