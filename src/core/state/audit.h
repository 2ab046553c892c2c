/* audit.h - the rules of larder_check(), walked when locks are left.  Private
 * to core.
 *
 * At assertion level 2 alone (base/assert.h).  A walk costs what there is to
 * look at, so it is due after as many calls as that is large: a call's share of
 * it stays the same, and a small allocator is walked at every call. */
#ifndef LARDER_CORE_STATE_AUDIT_H
#define LARDER_CORE_STATE_AUDIT_H

#include "core/state/allocator.h"

#if LARDER_ASSERT_LEVEL > 1

/* From now on, by this function.  All locks are held, or nobody else knows the
 * allocator. */
void larder__audit_begin(struct allocator *a, allocator_checker *check);

/* All locks are about to be left: abort if a walk is due and a rule is
 * broken. */
void larder__audit(struct allocator *a);

#else

static inline void larder__audit_begin(struct allocator *a,
                                       allocator_checker *check)
{
    (void)a;
    (void)check;
}

static inline void larder__audit(struct allocator *a)
{
    (void)a;
}

#endif

#endif
