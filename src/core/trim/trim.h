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

#endif
