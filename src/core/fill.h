/* fill.h - having memory where a span of a paged segment misses it.  Private
 * to core. */
#ifndef LARDER_CORE_FILL_H
#define LARDER_CORE_FILL_H

#include "core/pages.h"

struct fill_rules {
    bool may_harvest;    /* where loose handles and new ones do not do */
    size_t handle_pages; /* the most of a new handle */
};

/* Map memory to where the span misses it: all or none.  What was got and not
 * mapped stays loose. */
larder_result larder__fill(struct allocator *a, struct segment *s,
                           struct page_span span,
                           const struct fill_rules *rules);

#endif
