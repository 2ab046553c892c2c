/* recorded_ranges.h - where the address ranges of a recording's expandable
 * segments began: a snapshot contains only the parts that were mapped.  There
 * is about one range for each stream, pool and kind (small, large). */
#pragma once

#include "snapshot/lifetimes.h"

struct recorded_range {
    uint64_t base; /* lowest address that was ever mapped */
    uint64_t end;  /* end of the highest one */
    uint32_t stream;
    uint32_t pool;
    bool is_small;
};

struct recorded_ranges {
    const struct lifetimes *lifetimes;
    uint64_t large_page_bytes;
    struct recorded_range *list;
    size_t count;
    size_t capacity;
};

/* `large_page_bytes`: of the large pool, as recorded. */
void recorded_ranges_make(struct arena *arena, const struct lifetimes *l,
                          uint64_t large_page_bytes,
                          struct recorded_ranges *out);

/* The range that contains an expandable span. */
const struct recorded_range *recorded_ranges_of(
    const struct recorded_ranges *r, const struct segment_span *span);

/* The beginning of the range in which `address` was mapped; the address itself
 * if it never was. */
uint64_t recorded_ranges_base(const struct recorded_ranges *r,
                              uint64_t address);

/* The minimum distance between the beginnings of two ranges; UINT64_MAX: there
 * are not two. */
uint64_t recorded_ranges_distance(const struct recorded_ranges *r);
