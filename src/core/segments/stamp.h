/* stamp.h - when pages were last in use.  Private to core.
 *
 * With trim_age each page of a range has the number of the last look
 * (trim_age.h) at or after which it was in use. */
#pragma once

#include "core/segments/page_span.h"

/* Mark the pages of a block that is being taken as in use. */
static inline void stamp_block(const struct allocator *a, const struct block *b)
{
    const struct segment *s = b->segment;
    struct page_span span;

    if (s->stamps == NULL)
        return;
    span = block_pages(b);
    for (size_t i = span.begin; i < span.end; i++) {
        larder__assert(s->stamps[i] <= a->trim.now);
        s->stamps[i] = a->trim.now;
    }
}

/* Whether page i of a segment with stamps is mapped and has not been in use for
 * trim_age. */
static inline bool stamp_is_old(const struct allocator *a,
                                const struct segment *s, size_t i)
{
    return s->pages[i] != 0 && a->trim.now - s->stamps[i] >= TRIM_STEPS;
}
