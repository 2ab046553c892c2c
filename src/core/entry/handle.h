/* handle.h - what larder_allocator points at.  Private to core.
 *
 * A handle outlives its allocator, so that a call with a destroyed one is
 * recognised: 24 bytes for each allocator ever made.  In a child of a fork the
 * handles of its parent have no allocator either: so no call finds a lock that
 * nobody leaves, and a hit does not have to ask whose it is. */
#ifndef LARDER_CORE_HANDLE_H
#define LARDER_CORE_HANDLE_H

#include <stdatomic.h>

#include "core/state/allocator.h"

struct larder_allocator {
    _Atomic(struct allocator *) allocator; /* NULL: destroyed */
    struct larder_allocator *next;         /* of all handles ever made */
    struct allocator *of_parent; /* that the process has which forked */
};

/* The allocator, not locked; NULL: there is none, and larder__handle_bad() is
 * why. */
static inline struct allocator *handle_allocator(larder_allocator *handle)
{
    if (handle == NULL)
        return NULL;
    return atomic_load_explicit(&handle->allocator, memory_order_acquire);
}

/* ERR_INVALID for NULL, else ERR_FORKED or ERR_DESTROYED. */
larder_result larder__handle_bad(larder_allocator *handle);

/* The allocator, locked; larder__handle_unlock() ends that. */
larder_result larder__handle_lock(larder_allocator *handle,
                                  struct allocator **out);
void larder__handle_unlock(struct allocator *a);

/* A handle for a new allocator; NULL: no host memory. */
larder_allocator *larder__handle_make(struct allocator *a);

#endif
