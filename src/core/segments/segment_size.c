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
