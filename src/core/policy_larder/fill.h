/* fill.h - mapping memory to where a span of a paged segment misses it.
 * Private to core. */
#ifndef LARDER_CORE_POLICY_LARDER_FILL_H
#define LARDER_CORE_POLICY_LARDER_FILL_H

#include "core/policy_larder/pages.h"

struct fill_rules {
    size_t handle_pages; /* of a new handle, at most; 0: as larder__physical_
                            handle_pages() says */
    bool may_break; /* a loose handle that is too large for a gap is released
                       for a smaller one */
};

/* Map memory to where the span misses it, all or none: loose handles, the
 * largest that fits first, then new ones.  Blocks know nothing of it yet.  What
 * was got and not mapped stays loose.  ERR_OUT_OF_MEMORY. */
larder_result larder__fill(struct allocator *a, struct segment *s,
                           struct page_span span,
                           const struct fill_rules *rules);

#endif
