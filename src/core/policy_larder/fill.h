/* fill.h - maps memory at the missing pages of a span of a paged segment.
 * Private to core. */
#pragma once

#include "core/policy_larder/pages.h"

struct fill_rules {
    size_t handle_pages; /* of a new handle; 0: even ones (POLICY.md) */
    bool may_break;      /* a loose handle for a smaller one */
};

/* Map memory at all missing pages of the span, or at none: loose handles first,
 * the largest that fits, then new ones.  With may_break, loose handles that are
 * too large are released to make room for smaller ones.  Blocks are not updated.
 * On failure, handles that were created stay loose.  ERR_OUT_OF_MEMORY. */
larder_result larder__fill(struct allocator *a, struct segment *s,
                           struct page_span span,
                           const struct fill_rules *rules);
