/* supply.h - finds memory for a request that no free block can serve.  Private
 * to core. */
#pragma once

#include "core/policy_larder/pages.h"

/* Make a free block that is large enough for q, remove it from its heap and
 * store it in q->block.
 *
 * The order: map new pages in the gap that misses fewest, while there is room;
 * move unused pages there.  Pages move before growing with defrag:eager, or
 * where growing would pass garbage_collection_threshold; with defrag:off they
 * never move.
 *
 * ERR_OUT_OF_MEMORY when all of that fails, with q->refused_by set; handles
 * acquired on the way may stay loose. */
larder_result larder__supply(struct allocator *a, struct request *q);

/* ---- moving live pages (migration.c) ------------------------------------- */

/* Release partly used handles, those with the largest free part first, until q
 * is not short of pages; q->heap has no room for it.  ERR_OUT_OF_MEMORY: moving
 * is not allowed or there are too few such handles, and nothing has changed; or
 * the device refused. */
larder_result larder__migrate(struct allocator *a, const struct request *q);

/* ---- where fewest pages are missing (gap.c) ------------------------------ */

/* Between two blocks in use, free and unmapped blocks alternate.  A request can
 * be placed anywhere there; it misses the unmapped pages that it touches. */

struct gap {
    struct block *block; /* free or unmapped; the request begins in it */
    larder_addr addr;
    size_t missing;  /* pages to map */
    size_t unmapped; /* blocks that they are in */
    uint64_t bytes;  /* from one block in use to the next */
};

/* Find the gaps of the heap where `size` bytes miss fewest pages, at most `max`;
 * among equals the smallest gap comes first.  Returns their number.  The fewer
 * are asked for, the fewer places are looked at. */
size_t larder__gaps_find(struct allocator *a, struct heap *heap, uint64_t size,
                         struct gap *out, size_t max);

/* ---- mapping a span (fill.c) --------------------------------------------- */

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
