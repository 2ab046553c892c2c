/* orphan.h - memory that the device failed to take back.  Private to core.
 *
 * It is remembered, and released again before the next page is created, at
 * every larder_empty_cache() and when the allocator is destroyed, so that an
 * error leaks nothing. */
#pragma once

#include "core/state/allocator.h"

/* Make room so that `count` more pages can be held, and each of them, or one
 * driver allocation, can become an orphan. */
bool larder__orphans_make_room(struct allocator *a, size_t count);

/* Release this memory now, or remember it for later.  Never fails; the caller
 * has made room. */
void larder__orphan_try_release(struct allocator *a, struct orphan orphan);

/* Try to release all orphans.  Continues after errors and returns the first. */
larder_result larder__orphans_release(struct allocator *a);
