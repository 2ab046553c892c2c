/* place.h - where in the free blocks of a heap a request goes, so that it takes
 * as few pages as it can.  Private to core. */
#ifndef LARDER_CORE_PLACE_H
#define LARDER_CORE_PLACE_H

#include "core/allocator.h"
#include "core/pages.h"

struct place {
    struct block *block; /* free, in its heap */
    larder_addr addr;    /* at its beginning, or so that it ends with it */
};

/* How many of the pages that `size` bytes at addr, within the free block b,
 * touch have no other use.  Only b's first and last page can have one: its
 * neighbours reach into them. */
static inline size_t place_pages_taken(const struct block *b, larder_addr addr,
                                       uint64_t size)
{
    const struct segment *s = b->segment;
    struct page_span span;
    uint64_t begin = b->addr - s->addr;
    uint64_t end = begin + b->bytes;
    size_t low = begin % PAGE_BYTES != 0 ? begin / PAGE_BYTES : SIZE_MAX;
    size_t high = end % PAGE_BYTES != 0 ? end / PAGE_BYTES : SIZE_MAX;
    size_t count;

    if (s->kind != SEGMENT_PAGED)
        return 0;
    span = pages_touched(s, addr, size);
    count = span.end - span.begin;
    if (low == span.begin)
        count--;
    if (high != low && high == span.end - 1)
        count--;
    return count;
}

/* What a place should be like. */
struct place_rules {
    bool whole_first;   /* a place that misses a page only if there is no other,
                           whatever it takes */
    bool count_handles; /* a handle is taken with all of its pages */
    bool best_fit; /* the smallest block that misses none, at its low end */
    /* To share a page with a block that is not marked as long-lived costs
     * more than to take one: which block that is, these headers tell.  NULL:
     * any will do. */
    struct slab *apart;
};

/* The place that takes the fewest pages another request could have; of those
 * the smallest block, of those the lowest address.  False: none. */
bool larder__place_find(const struct heap *heap, uint64_t size,
                        struct place_rules rules, struct place *out);

/* Of the smallest blocks that fit the first with a place that lacks no page;
 * false: so many do not. */
bool larder__place_find_whole(const struct heap *heap, uint64_t size,
                              int candidates, struct place *out);

#endif
