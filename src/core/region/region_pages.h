/* region_pages.h - the structure of a region (larder/region.h).  Private to
 * core.
 *
 * A region has a private pool without users, in it one heap, and in that one
 * paged segment: the region's addresses.  Committed parts are live blocks, one
 * or several adjacent ones.  A part that was decommitted but is still mapped is
 * a free block; a part without memory is unmapped.  So the pages of a region's
 * free blocks are found like all unused pages (spot.h), and every rule of
 * blocks and pages applies, and, checked by larder_check():
 *   R1  only a paused region has pages that are not mapped although they have
 *       handles; the handles are those of its pages. */
#ifndef LARDER_CORE_REGION_REGION_PAGES_H
#define LARDER_CORE_REGION_REGION_PAGES_H

#include <larder/region.h>

#include "core/policy_larder/pages.h"
#include "core/segments/kept.h"

/* Pages [begin, end) of a region that are unmapped but still have their
 * handles: those before `mapped` are mapped again, without access.  All 0:
 * none. */
struct detached {
    size_t begin;
    size_t mapped;
    size_t end;
};

struct region {
    char name[LARDER_REGION_NAME_MAX + 1];
    struct private_pool *pool;
    struct segment *segment;
    size_t handle_pages;      /* maximum size of a new handle */
    struct kept kept;         /* the contents while it is asleep, in order */
    struct detached detached; /* between calls only if it is asleep (R1) */
};

static inline bool region_is_detached(const struct region *g)
{
    return g->detached.end != 0;
}

/* Reserve addresses. `opt` has all fields and was checked. */
larder_result larder__region_create(struct allocator *a, uint64_t bytes,
                                    const larder_region_options *opt,
                                    struct region **out);

/* Wait for its work, release its memory to the cache and its addresses to the
 * device: all or nothing, unless undoing it fails too (larder__region_detach).
 */
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

/* Map memory at all missing pages of the span, or at none, without updating
 * blocks. */
larder_result larder__region_fill(struct allocator *a, struct region *g,
                                  struct page_span span);

/* Unmap all pages, or none (region_detach.c); the handles stay with them.  The
 * caller has waited for all work.  If a call fails, and mapping again too, the
 * region is asleep with all of its memory, which the error then says. */
larder_result larder__region_detach(struct allocator *a, struct region *g);
/* Map them again.  If it fails it continues at the next call. */
larder_result larder__region_attach(struct allocator *a, struct region *g);
/* The same after a step that failed, whose error stays the last one.  If it
 * fails the region is asleep. */
void larder__region_reattach(struct allocator *a, struct region *g);
/* Make the handles loose: cannot fail. */
void larder__region_let_go(struct allocator *a, struct region *g);
/* Unmap as many pages as the device does; their handles become loose. */
void larder__region_empty(struct allocator *a, struct region *g);

/* Rule R1. */
bool larder__region_is_sound(const struct region *g);

/* Wait until no queued work uses committed memory of the region.  ERR_BUSY:
 * part of it is exported. */
larder_result larder__region_pass(struct allocator *a, const struct region *g);

/* Release the memory of what is committed, and map it again
 * (region_sleep.c). */
larder_result larder__region_sleep(struct allocator *a, struct region *g,
                                   bool keep);
larder_result larder__region_wake(struct allocator *a, struct region *g);

/* Wait for copies of kept contents, and free the contents. */
larder_result larder__region_forget(struct allocator *a, struct region *g);

/* Free the kept contents of all regions, and let go of what is detached, when
 * the allocator is destroyed. */
void larder__regions_forget(struct allocator *a);

/* The block that contains addr, in a region's segment.  O(1) near committed
 * blocks, otherwise O(blocks). */
struct block *larder__region_block(struct allocator *a, const struct region *g,
                                   larder_addr addr);

#endif
