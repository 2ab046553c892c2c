/* region_pages.h - the structure of a region (larder/region.h).  Private to
 * core.
 *
 * A region has a private pool without users, in it one heap, and in that one
 * paged segment: the region's addresses.  Committed parts are live blocks, one
 * or several adjacent ones.  A part that was decommitted but is still mapped is
 * a free block; a part without memory is unmapped.  So the pages of a region's
 * free blocks are found like all unused pages (spot.h), and every rule of
 * blocks and pages applies. */
#ifndef LARDER_CORE_REGION_REGION_PAGES_H
#define LARDER_CORE_REGION_REGION_PAGES_H

#include <larder/region.h>

#include "core/policy_larder/pages.h"
#include "core/segments/kept.h"

struct region {
    char name[LARDER_REGION_NAME_MAX + 1];
    struct private_pool *pool;
    struct segment *segment;
    size_t handle_pages; /* maximum size of a new handle */
    struct kept kept;    /* the contents while it is asleep, in order */
};

/* Reserve addresses. `opt` has all fields and was checked. */
larder_result larder__region_create(struct allocator *a, uint64_t bytes,
                                    const larder_region_options *opt,
                                    struct region **out);

/* Decommit everything, wait for pending memory and release it to the cache,
 * then destroy the region.  If the device reports an error the region stays. */
larder_result larder__region_destroy(struct allocator *a, struct region *g);

/* The span's pages, by index. */
larder_result larder__region_commit(struct allocator *a, struct region *g,
                                    struct page_span span);
larder_result larder__region_decommit(struct allocator *a, struct region *g,
                                      struct page_span span);
larder_result larder__region_record(struct allocator *a, struct region *g,
                                    struct page_span span,
                                    larder_stream stream);

/* Bytes of the span that are committed, or idle and mapped. */
uint64_t larder__region_at_hand(struct allocator *a, const struct region *g,
                                struct page_span span);

/* Release the idle pages. */
larder_result larder__region_trim(struct allocator *a, struct region *g);

/* Map memory at all missing pages of the span, or at none, without updating
 * blocks. */
larder_result larder__region_fill(struct allocator *a, struct region *g,
                                  struct page_span span);

/* Release the memory of what is committed, and map it again
 * (region_sleep.c). */
larder_result larder__region_sleep(struct allocator *a, struct region *g,
                                   bool keep);
larder_result larder__region_wake(struct allocator *a, struct region *g);

/* Wait for copies of kept contents, and free the contents. */
larder_result larder__region_forget(struct allocator *a, struct region *g);

/* Free the kept contents of all regions, when the allocator is destroyed. */
void larder__regions_forget(struct allocator *a);

/* The block that contains addr, in a region's segment.  O(1) near committed
 * blocks, otherwise O(blocks). */
struct block *larder__region_block(struct allocator *a, const struct region *g,
                                   larder_addr addr);

#endif
