/* segment_size.h - how much the policy `pytorch` takes from the device at a
 * time: the only place that knows.  Private to core; larder_conf_segment() asks
 * it for the tools. */
#pragma once

#include "core/state/allocator.h"

/* The segment for a request of this rounded size. */
uint64_t larder__segment_size(const struct conf *conf, uint64_t size);

/* A page of an expandable segment of the small or the large pool. */
static inline uint64_t segment_page_size(const struct conf *conf, bool is_small)
{
    return is_small ? (uint64_t)SMALL_SEGMENT_BYTES : conf->large_segment_bytes;
}

/* The maximum by which the request's pool would grow for it. */
uint64_t larder__pool_growth(const struct allocator *a,
                             const struct request *q);
