/* trim.h - releasing a part of what is cached.  Private to core. */
#ifndef LARDER_CORE_TRIM_H
#define LARDER_CORE_TRIM_H

#include "core/state/allocator.h"

/* Count what went since so much was held. */
static inline void larder__trim_count(struct allocator *a, uint64_t held_before)
{
    if (a->held_bytes >= held_before)
        return;
    a->stats.num_trims++;
    a->stats.trimmed_bytes += (int64_t)(held_before - a->held_bytes);
}

/* Give back cached memory until no more than `target` bytes are held, or none
 * is left that may go.  Nothing is being captured. */
void larder__trim_to(struct allocator *a, uint64_t target);

/* Give back up to `bytes` of it for another process, nothing while a stream is
 * captured; how many went.  Called without the locks (peers.h). */
uint64_t larder__trim_give(struct allocator *a, uint64_t bytes);

#endif
