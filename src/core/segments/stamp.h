/* stamp.h - when pages were last in use.  Private to core.
 *
 * With trim_age a page of a range has the number of the last look (trim_age.h)
 * that it was in use at or after. */
#ifndef LARDER_CORE_STAMP_H
#define LARDER_CORE_STAMP_H

#include "core/segments/page_span.h"

/* A block of a range is taken: its pages are in use. */
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

/* Page i, of a segment that has stamps, is there and was not in use for long. */
static inline bool stamp_is_old(const struct allocator *a,
                                const struct segment *s, size_t i)
{
    return s->pages[i] != 0 && a->trim.now - s->stamps[i] >= TRIM_STEPS;
}

#endif
