/* region_pages.h - the structure of a region (larder/region.h).  Private to
 * core.
 *
 * A region has a private pool without users, in it one heap, and in that one
 * paged segment: the region's addresses.  Committed parts are live blocks, one
 * or several adjacent ones.  A part that was decommitted but is still mapped is
 * a free block; a part without memory is unmapped.  So the pages of a region's
 * free blocks are found like all unused pages (spot.h), and every rule of
 * blocks and pages applies.  A region is paused as a tag is (pause/pause.h). */
#pragma once

#include <larder/region.h>

#include "core/policy_larder/pages.h"

struct region {
    char name[LARDER_REGION_NAME_MAX + 1];
    struct private_pool *pool;
    struct segment *segment;
    size_t handle_pages; /* maximum size of a new handle */
};

/* Reserve addresses. `opt` has all fields and was checked. */
larder_result larder__region_create(struct allocator *a, uint64_t bytes,
                                    const larder_region_options *opt,
                                    struct region **out);

/* Wait for its work, release its memory to the cache and its addresses to the
 * device: all or nothing, with the errors of larder__pause_begin(). */
larder_result larder__region_destroy(struct allocator *a, struct region *g);

/* The span's pages, by index. */
larder_result larder__region_commit(struct allocator *a, struct region *g,
                                    struct page_span span);
larder_result larder__region_decommit(struct allocator *a, struct region *g,
                                      struct page_span span);
larder_result larder__region_record(struct allocator *a, struct region *g,
                                    struct page_span span,
                                    larder_stream stream);

/* Before all of the region is decommitted: ERR_BUSY if part of it is exported;
 * under debug:2 note uses by streams that were not recorded. */
larder_result larder__region_check_unused(struct allocator *a,
                                          const struct region *g);
/* Decommit all of it, once all work has passed: cannot fail. */
void larder__region_free_all(struct allocator *a, const struct region *g);

/* Bytes of the span that are committed, or idle and mapped. */
uint64_t larder__region_at_hand(struct allocator *a, const struct region *g,
                                struct page_span span);

/* Release the idle pages. */
larder_result larder__region_trim(struct allocator *a, struct region *g);

/* Map memory at all missing pages of the span of a region's segment, or at none,
 * without updating blocks. */
larder_result larder__region_fill(struct allocator *a, struct segment *s,
                                  struct page_span span);

/* The block that contains addr, in a region's segment.  O(1) near committed
 * blocks, otherwise O(blocks). */
struct block *larder__region_block(struct allocator *a, const struct region *g,
                                   larder_addr addr);
