/* handle.h - what larder_allocator points at.  Private to core.
 *
 * A handle outlives its allocator, so that a call with a destroyed one is
 * recognised: 40 bytes for each allocator ever made.  In a child of a fork the
 * handles of its parent have no allocator either: so no call finds a lock that
 * nobody leaves, and a hit does not have to ask whose it is.
 *
 * Under debug:1 the calls under way are counted, and a destruction among them
 * is refused.  Such a handle has no allocator either, but a watched one, so
 * that the quick ways, which ask for nothing else, take the slow ones. */
#ifndef LARDER_CORE_HANDLE_H
#define LARDER_CORE_HANDLE_H

#include <stdatomic.h>

#include "core/state/allocator.h"

struct larder_allocator {
    _Atomic(struct allocator *) allocator; /* NULL: destroyed, or watched */
    _Atomic(struct allocator *) watched;   /* NULL: destroyed, or is not */
    atomic_uint calls;                     /* under way, where it is watched */
    struct larder_allocator *next;         /* of all handles ever made */
    struct allocator *of_parent; /* that the process has which forked */
};

/* For the quick ways: the allocator, not locked; NULL: larder__handle_enter()
 * is to be asked. */
static inline struct allocator *handle_quick(const larder_allocator *handle)
{
    if (handle == NULL)
        return NULL;
    return atomic_load_explicit(&handle->allocator, memory_order_acquire);
}

/* The allocator, for who has no call under way that needs it to stay. */
static inline struct allocator *handle_allocator(const larder_allocator *handle)
{
    struct allocator *a = handle_quick(handle);

    return a != NULL || handle == NULL ? a : atomic_load(&handle->watched);
}

/* A call begins: the allocator, not locked; larder__handle_leave() ends it.
 * NULL: there is none, nothing is to be ended, and larder__handle_bad() is
 * why. */
struct allocator *larder__handle_enter(larder_allocator *handle);
void larder__handle_leave(larder_allocator *handle);

/* In a call: ERR_BUSY if the handle is watched and another one is under way. */
larder_result larder__handle_alone(const larder_allocator *handle);

/* In a call, and alone: take the allocator from the handle, for good. */
larder_result larder__handle_take(larder_allocator *handle);

/* ERR_INVALID for NULL, else ERR_FORKED or ERR_DESTROYED. */
larder_result larder__handle_bad(larder_allocator *handle);

/* The allocator, locked; larder__handle_unlock() ends that. */
larder_result larder__handle_lock(larder_allocator *handle,
                                  struct allocator **out);
void larder__handle_unlock(struct allocator *a);

/* A handle for a new allocator, watched if its settings say so; NULL: no host
 * memory. */
larder_allocator *larder__handle_make(struct allocator *a);

#endif
