/* audit.h - checks the rules of larder_check() when locks are released.
 * Private to core.
 *
 * Only at assertion level 2 (base/assert.h).  A check costs in proportion to
 * what there is to check, so it runs after a number of calls proportional to
 * that: the cost per call is constant, and a small allocator is checked at
 * every call. */
#pragma once

#include "core/state/allocator.h"

#if LARDER_ASSERT_LEVEL > 1

/* Start checking with this function.  The caller holds all locks, or nobody
 * else knows the allocator. */
void larder__audit_begin(struct allocator *a, allocator_checker *check);

/* Call it before all locks are released: aborts if a check is due and a rule is
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
