/* region_pages.h - what a region is made of (larder/region.h).  Private to core.
 *
 * A region has a private pool without users, one heap in it, and in that one
 * paged segment: the addresses.  What is committed is a live block, or several
 * that follow each other; what was decommitted and is still mapped is a free
 * one; what has no memory is unmapped.  So the pages of a region's free blocks
 * are found like any others that nothing uses (spot.h), and every rule of blocks
 * and pages holds. */
#ifndef LARDER_CORE_REGION_REGION_PAGES_H
#define LARDER_CORE_REGION_REGION_PAGES_H

#include <larder/region.h>

#include "core/policy_larder/pages.h"
#include "core/segments/kept.h"

struct region {
    char name[LARDER_REGION_NAME_MAX + 1];
    struct private_pool *pool;
    struct segment *segment;
    size_t handle_pages; /* of a new handle, at most */
    struct kept kept;    /* while it is asleep, its contents, in order */
};

/* Reserve addresses.  `opt` is whole and was checked. */
larder_result larder__region_make(struct allocator *a, uint64_t bytes,
                                  const larder_region_options *opt,
                                  struct region **out);

/* All of it is decommitted, and what was still used is waited for; its memory
 * is cached.  If the device refuses, the region stays. */
larder_result larder__region_unmake(struct allocator *a, struct region *g);

/* Of pages by number, the last not included. */
larder_result larder__region_commit(struct allocator *a, struct region *g,
                                    struct page_span span);
larder_result larder__region_decommit(struct allocator *a, struct region *g,
                                      struct page_span span);
larder_result larder__region_record(struct allocator *a, struct region *g,
                                    struct page_span span,
                                    larder_stream stream);

/* Bytes of the span that are committed or at hand. */
uint64_t larder__region_at_hand(struct allocator *a, const struct region *g,
                                struct page_span span);

/* Give the device the idle pages. */
larder_result larder__region_trim(struct allocator *a, struct region *g);

/* Memory for all pages of the span that miss it, before blocks know: all or
 * none. */
larder_result larder__region_fill(struct allocator *a, struct region *g,
                                  struct page_span span);

/* Release what is committed, and have it again (region_sleep.c). */
larder_result larder__region_sleep(struct allocator *a, struct region *g,
                                   bool keep);
larder_result larder__region_wake(struct allocator *a, struct region *g);

/* Contents that are still there go, and what copies them is waited for. */
larder_result larder__region_forget(struct allocator *a, struct region *g);

/* Host memory of all regions' contents goes, when the allocator does. */
void larder__regions_forget(struct allocator *a);

/* The block that has the address, of a region's segment; O(1) near what is
 * committed, else O(its blocks). */
struct block *larder__region_block(struct allocator *a, const struct region *g,
                                   larder_addr addr);

#endif
