/* pause.h - private pools, of tags and of regions, whose memory is released for
 * a while.  Private to core.
 *
 * Blocks and addresses stay as they are: a paused pool has live blocks without
 * pages.  Pausing copies their contents to the host, if they are to be kept, and
 * unmaps all pages.  Until all are unmapped the handles stay with their pages,
 * so that each can be mapped where it was, with its contents; releasing them
 * then cannot fail.  Resuming maps memory at the pages of live blocks and copies
 * the contents back.  If that fails what it mapped is released again; what the
 * device does not unmap is used by the next attempt.
 *
 * Rule P3, checked by larder_check(): only a paused pool has pages that are not
 * mapped although they have handles. */
#pragma once

#include "core/segments/page_span.h"

/* Wait until no queued work uses the pool's memory.  ERR_BUSY: part of it is
 * exported. */
larder_result larder__pause_settle(struct allocator *a,
                                   const struct private_pool *p);

/* Release the memory of the settled pool; its free memory was released before.
 * After an error it is as before, or, if mapping again fails too, paused with
 * all of its memory, which the error then says. */
larder_result larder__pause_begin(struct allocator *a, struct private_pool *p,
                                  bool keep);

/* Map memory at the missing pages of the span, releasing or moving what others do
 * not use if need be.  Blocks stay as they are.  After an error part of it may be
 * mapped. */
typedef larder_result pause_fill(struct allocator *a, struct segment *s,
                                 struct page_span span);

/* Map the paused pool's memory again, with its contents if they were kept.  What
 * is lacking is asked of other processes, for which the locks are dropped and
 * retaken.  After an error it is still paused, and what `fill` mapped is
 * released.  ERR_INVALID: it is not paused. */
larder_result larder__pause_resume(struct allocator *a, struct private_pool *p,
                                   pause_fill *fill);

/* Unmap all pages of the settled pool, with the errors of larder__pause_begin(). */
larder_result larder__pause_detach(struct allocator *a, struct private_pool *p);
/* Map them again after a step that failed, whose error stays the last one. */
void larder__pause_reattach(struct allocator *a, struct private_pool *p);
/* Release the handles of what is detached, those of a region to the cache:
 * cannot fail. */
void larder__pause_let_go(struct allocator *a, const struct private_pool *p);

/* Free what is left of kept contents, once no copy is running any more. */
larder_result larder__pause_forget(struct allocator *a, struct private_pool *p);

/* Before all segments are destroyed, when no work is queued: no pool is paused
 * afterwards. */
void larder__pause_destroy(struct allocator *a);

/* Rule P3. */
bool larder__detached_is_sound(const struct segment *s);

/* ---- contents in host memory (kept.c) ------------------------------------ */

/* Allocate host memory for `bytes`.  False: there is none. */
bool larder__kept_take(struct allocator *a, struct kept *k, uint64_t bytes);

/* Wait for the copies to and from it that were queued on the stream.  If the
 * wait fails it is marked as in flight. */
larder_result larder__kept_wait(struct allocator *a, struct kept *k,
                                larder_stream stream);

/* Free it, and what the device refused to free before; k is empty then, and can
 * be taken again.  False: it is in flight, and stays; or the device refuses, and
 * the next call tries again. */
bool larder__kept_free(struct allocator *a, struct kept *k);

/* The same at the end, when no work is queued: what the device refuses to free is
 * left to it. */
void larder__kept_leave(struct allocator *a, struct kept *k);
