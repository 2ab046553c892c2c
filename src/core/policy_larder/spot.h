/* spot.h - handles that nothing uses, found and unmapped.  Private to core. */
#ifndef LARDER_CORE_POLICY_LARDER_SPOT_H
#define LARDER_CORE_POLICY_LARDER_SPOT_H

#include "core/policy_larder/pages.h"

/* Where spots are not looked for: pages of a segment that are wanted there. */
struct spot_except {
    const struct segment *segment; /* NULL: nowhere */
    struct page_span span;
};

static inline bool spot_is_excepted(const struct spot_except *except,
                                    const struct segment *s,
                                    struct page_span handle)
{
    return except->segment == s && handle.begin < except->span.end &&
           handle.end > except->span.begin;
}

/* List the handles of free blocks of the default pools and of regions in
 * a->larder->spots, heap by heap, those of one block from its end to its
 * beginning; none is chosen or excepted.  No owner but the one that draws lends
 * more than it holds beyond its minimum. */
void larder__spots_find(struct allocator *a);

/* The same of one heap. */
void larder__spots_find_of(struct allocator *a, const struct heap *heap);

/* And the loose handles, which are listed last. */
void larder__spots_add_loose(struct allocator *a);

/* Choose none, and except those alone. */
void larder__spots_except(struct allocator *a, struct spot_except except);

/* Unmap the chosen ones, each run by one call: they become loose.  Waits for
 * the streams of their heaps first.  The first failure ends it; the list says
 * nothing any more. */
larder_result larder__spots_unmap(struct allocator *a);

/* Of those that are neither chosen nor excepted: the largest of at most so many
 * pages, the smallest of all.  NULL: none.  `last`, if not NULL, was found and
 * chosen last, for no fewer pages: none that is left and fits is larger. */
struct spot *larder__spots_largest(const struct spots *spots, size_t pages,
                                   const struct spot *last);
struct spot *larder__spots_smallest(const struct spots *spots);

/* Choose spots of at least `pages` together, if there are, of those as few
 * pages as it takes. */
void larder__spots_choose(struct allocator *a, size_t pages);

/* Choose more of those of more than `above` pages, the largest first, until
 * `pages` are chosen of such.  Only in heaps of which some are chosen, as for no
 * other stream has to be waited; and no more of what private pools lend. */
void larder__spots_choose_large(struct allocator *a, size_t pages,
                                size_t above);

void larder__spots_choose_all(struct allocator *a);

#endif
