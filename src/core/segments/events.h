/* events.h - blocks used on streams other than their own.  Private to core.
 *
 * A recorded stream is remembered with the block.  When the block is freed, an
 * event is recorded on each of those streams, and the block is reusable once
 * all have completed.  While allocations are routed to a private pool no event
 * is recorded or polled: the block is deferred until routing ends (as in
 * PyTorch 2.4; a stream capture forbids both).  Then a use on a stream that was
 * being captured is dropped, because the capture's end orders it; every other
 * use is kept. */
#pragma once

#include "core/state/allocator.h"

/* Record that the live block is used on `stream`, which is not its own.
 * Acquires the host memory that freeing the block will need. */
larder_result larder__events_use(struct allocator *a, struct block *b,
                                 larder_stream stream);

/* Copy the recorded streams of b for a block that will contain b; *out is NULL
 * if there are none.  False: no host memory.  Holds are not copied. */
bool larder__events_copy(struct allocator *a, const struct block *b,
                         struct use **out);

/* Forget the recorded streams of the live block, all of which have passed. */
void larder__events_forget(struct allocator *a, struct block *b);

/* Keep the live block from reuse, once it is freed, until the hold ends: for
 * memory that is shared with other processes. */
larder_result larder__events_hold(struct allocator *a, struct block *b,
                                  struct use **out);
void larder__events_unhold(struct allocator *a, struct use *hold);

/* Whether the live block has a hold. */
static inline bool block_is_exported(const struct block *b)
{
    const struct use *use = b->uses;

    while (use != NULL && !use->is_hold)
        use = use->next;
    return use != NULL;
}

/* ERR_BUSY, for what cannot be done as long as it has. */
larder_result larder__events_fail_exported(const struct block *b);

/* Handle the free of a live block with recorded streams. */
void larder__events_defer(struct allocator *a, struct block *b);

/* Free the blocks whose events have completed.  Polls each stream's events in
 * order, up to the first that has not completed. */
void larder__events_poll(struct allocator *a);

/* Wait for every event and free the blocks. */
larder_result larder__events_sync(struct allocator *a);

/* The same for the blocks of one owner, and everything before them on their
 * streams.  O(queued events). */
larder_result larder__events_sync_owner(struct allocator *a,
                                        const struct private_pool *owner);

/* Wait for all work queued on the stream so far. */
larder_result larder__events_pass(struct allocator *a, larder_stream stream);

/* The same for the streams of all heaps of these POOL_KINDS pools, and for those
 * recorded for live blocks of the segment. */
larder_result larder__events_pass_heaps(struct allocator *a,
                                        const struct pool *pools);
larder_result larder__events_pass_uses(struct allocator *a,
                                       const struct segment *s);

/* Wait for one event and free the blocks that waited for it alone.  False: no
 * event is left, or the device reports an error. */
bool larder__events_wait_one(struct allocator *a);

/* Destroy all events; nothing waits any more. */
larder_result larder__events_destroy(struct allocator *a);
