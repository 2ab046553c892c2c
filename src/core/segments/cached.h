/* cached.h - releasing all that is cached.  Private to core. */
#ifndef LARDER_CORE_CACHED_H
#define LARDER_CORE_CACHED_H

#include "core/state/allocator.h"

/* Wait for all recorded streams, then release every unused segment and page
 * of the default pools and of private pools without users.  Goes on past what
 * the device refuses, and returns the first refusal. */
larder_result larder__release_cached(struct allocator *a);

/* The same without waiting: blocks that wait for a stream stay. */
larder_result larder__release_idle(struct allocator *a);

/* Release the unused memory of one pool. */
larder_result larder__private_release_cached(struct allocator *a,
                                             struct private_pool *p);

/* Release the unused memory of pools without users; those that have none
 * left vanish. */
larder_result larder__private_release_unused(struct allocator *a);

/* The same, and what regions have at hand. */
larder_result larder__private_release_idle(struct allocator *a);

#endif
