/* spot.h - finds handles that nothing uses, and unmaps them.  Private to
 * core. */
#pragma once

#include "core/policy_larder/pages.h"

static inline bool spot_is_excepted(const struct spot_except *except,
                                    const struct segment *s,
                                    struct page_span handle)
{
    return except->segment == s && handle.begin < except->span.end &&
           handle.end > except->span.begin;
}

/* List in a->larder->spots the unused handles of the default pools and of
 * regions: heap by heap, and within a block from its end to its beginning.
 * None is chosen or excepted.  An owner lends at most what it holds beyond its
 * minimum, unless it is the one that draws. */
void larder__spots_find(struct allocator *a);

/* The same for one heap, without regard to minima. */
void larder__spots_find_of(struct allocator *a, const struct heap *heap);

/* Append the loose handles. */
void larder__spots_add_loose(struct allocator *a);

/* An empty list, and appending to it; there is room for all handles held. */
void larder__spots_clear(struct spots *spots);
void larder__spots_add(struct spots *spots, struct block *b, size_t begin,
                       size_t pages);

/* Clear every choice and every earlier exception, then except these pages. */
void larder__spots_except(struct allocator *a, struct spot_except except);

/* The pages of all spots that are not excepted. */
size_t larder__spots_pages(const struct spots *spots);

/* Find the spots, except these pages, and count them with the loose ones: what
 * can be mapped elsewhere without creating any. */
size_t larder__spots_unused(struct allocator *a, struct spot_except except);

/* Unmap the chosen spots, one call for each run; their handles become loose.
 * Waits for the streams of their heaps first.  Stops at the first failure.  The
 * list is invalid afterwards. */
larder_result larder__spots_unmap(struct allocator *a);

/* Among the spots neither chosen nor excepted: the largest of at most `pages`
 * pages, and the smallest of all; the first of equal ones.  NULL: none.  The
 * cost is that of SPOT_SIZES steps and of the handles of as many pages. */
struct spot *larder__spots_largest(struct spots *spots, size_t pages);
struct spot *larder__spots_smallest(struct spots *spots);

void larder__spots_choose_one(struct spots *spots, struct spot *s);

/* Choose spots of at least `pages` pages in all, if there are as many, with as
 * few excess pages as possible. */
void larder__spots_choose(struct allocator *a, size_t pages);

void larder__spots_choose_all(struct allocator *a);
