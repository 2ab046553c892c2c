/* segment_size.c - how much the policy `pytorch` takes from the device at a
 * time. */
#include "core/segments/segment_size.h"

#include "base/bits.h"

uint64_t larder__segment_size(const struct conf *conf, uint64_t size)
{
    if (size <= SMALL_MAX_BYTES)
        return SMALL_SEGMENT_BYTES;
    if (size < LARGE_MIN_BYTES)
        return conf->large_segment_bytes;
    return bits_up(size, ROUND_SEGMENT_BYTES);
}

uint64_t larder__pool_growth(const struct allocator *a, const struct request *q)
{
    const struct pool *pool = q->heap->pool;
    uint64_t page_bytes = segment_page_size(&a->conf, pool->is_small);

    if (!a->has_pages)
        return q->segment_bytes;
    return (q->size + page_bytes - 1) / page_bytes * page_bytes;
}
