/* handle.h - the object behind larder_allocator.  Private to core.
 *
 * A handle outlives its allocator, so that a call with a destroyed one is
 * recognised; this costs 40 bytes for each allocator ever made.  In a forked
 * child, handles of the parent have no allocator either, so that no call waits
 * for a lock that nobody will release, and a hit need not check which process
 * it is in.
 *
 * With debug:1 the calls in progress are counted, and destroying the allocator
 * during one fails.  Such a handle stores its allocator in `watched` instead of
 * `allocator`, so that the fast paths, which read only `allocator`, fall back
 * to the slow ones. */
#pragma once

#include <stdatomic.h>

#include "core/state/allocator.h"

struct larder_allocator {
    _Atomic(struct allocator *) allocator; /* NULL: destroyed, or watched */
    _Atomic(struct allocator *) watched;   /* NULL: destroyed, or not watched */
    atomic_uint calls;                     /* in progress, if watched */
    struct larder_allocator *next;         /* in the list of all handles */
    struct allocator *of_parent;           /* in a forked child: the parent's */
};

/* For the fast paths: the allocator, not locked.  NULL: call
 * larder__handle_enter(). */
static inline struct allocator *handle_quick(const larder_allocator *handle)
{
    if (handle == NULL)
        return NULL;
    return atomic_load_explicit(&handle->allocator, memory_order_acquire);
}

/* The allocator, for callers that need no call in progress to keep it alive. */
static inline struct allocator *handle_allocator(const larder_allocator *handle)
{
    struct allocator *a = handle_quick(handle);

    return a != NULL || handle == NULL ? a : atomic_load(&handle->watched);
}

/* Begin a call: returns the allocator, not locked.  End it by
 * larder__handle_leave().  NULL: there is no allocator and nothing to end;
 * larder__handle_bad() says why. */
struct allocator *larder__handle_enter(larder_allocator *handle);
void larder__handle_leave(larder_allocator *handle);

/* During a call: ERR_BUSY if the handle is watched and another call is in
 * progress. */
larder_result larder__handle_alone(const larder_allocator *handle);

/* During the only call: take the allocator out of the handle, for good. */
larder_result larder__handle_take(larder_allocator *handle);

/* ERR_INVALID for NULL, else ERR_FORKED or ERR_DESTROYED. */
larder_result larder__handle_bad(larder_allocator *handle);

/* Begin a call and lock the allocator; larder__handle_unlock() ends both. */
larder_result larder__handle_lock(larder_allocator *handle,
                                  struct allocator **out);

/* The same for a call that may record events: `caller` is the return address of
 * the public function, where their stacks begin (recording.h). */
larder_result larder__handle_lock_for(larder_allocator *handle,
                                      struct allocator **out,
                                      const void *caller);
void larder__handle_unlock(struct allocator *a);

/* End both and return r, the call's result. */
larder_result larder__handle_end(struct allocator *a, larder_result r);

/* Make a handle for a new allocator, watched if its settings say so.  NULL: no
 * host memory. */
larder_allocator *larder__handle_make(struct allocator *a);

/* ---- what a capture forbids ---------------------------------------------- */

/* LARDER_ERR_CAPTURING if a stream is or may be being captured.  `what` begins
 * the message: "memory cannot be released". */
larder_result larder__capturing_forbids(const struct allocator *a,
                                        const char *what);
