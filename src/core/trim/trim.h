/* trim.h - releases part of the cached memory.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Count what was released since `held_before` bytes were held. */
static inline void larder__trim_count(struct allocator *a, uint64_t held_before)
{
    if (a->held_bytes >= held_before)
        return;
    a->stats.num_trims++;
    a->stats.trimmed_bytes += (int64_t)(held_before - a->held_bytes);
}

/* Release up to `bytes` for another process, or nothing while a stream is
 * capturing.  Returns how many were released.  Called without the locks
 * (peers.h). */
uint64_t larder__trim_for_peer(struct allocator *a, uint64_t bytes);
