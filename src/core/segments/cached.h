/* cached.h - releases everything cached.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Wait for all recorded streams, then release every unused segment and page of
 * the default pools and of private pools without users.  Continues after an
 * error of the device, and returns the first. */
larder_result larder__release_cached(struct allocator *a);

/* The same without waiting: pending blocks stay. */
larder_result larder__release_idle(struct allocator *a);

/* Release the unused memory of one pool. */
larder_result larder__private_release_cached(struct allocator *a,
                                             struct private_pool *p);

/* Release the unused memory of pools without users, and remove those pools that
 * have no memory left. */
larder_result larder__private_release_unused(struct allocator *a);
