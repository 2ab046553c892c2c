/* larder_segments.h - the policy larder where memory comes in segments: on
 * devices without virtual memory (docs/POLICY.md).  Private to core.
 *
 * A segment goes back whole or not at all, so what counts is which segments
 * empty.  While little of what there is is in use, segments are had as they
 * are needed and kept.  Once it is tight they are given back and had again in
 * other sizes: just enough for a request, or all that are empty as one. */
#ifndef LARDER_CORE_POLICY_LARDER_LARDER_SEGMENTS_H
#define LARDER_CORE_POLICY_LARDER_LARDER_SEGMENTS_H

#include "core/allocator.h"

/* Find q->block for a request of a default pool, as policy.h says. */
larder_result larder__segments_find(struct allocator *a, struct request *q);

/* ---- how much there is, and how it is used (larder_reshape.c) ------------- */

/* What the limit, the device's size and its last refusal leave, in use or
 * not. */
uint64_t larder__segments_room(const struct allocator *a);

/* Note whether it is tight with q, and whether few large blocks make up most
 * of what is in use; and count it for exchanges.  Cost: a walk over all blocks
 * each time that the most that was ever in use has grown by a twentieth. */
void larder__segments_weigh(struct allocator *a, const struct request *q);

/* ---- other sizes (larder_reshape.c) --------------------------------------- */

/* Give back the fewest bytes of empty segments that let `bytes` more be held.
 * False, with nothing given back: all of them are too few; or the device
 * refused one. */
bool larder__segments_release_for(struct allocator *a, uint64_t bytes);

/* Whether most of what is held is empty segments, and one of them all would
 * serve better. */
bool larder__segments_should_join(const struct allocator *a,
                                  const struct request *q);

/* Give back all empty segments and get one of all there is for q's heap.
 * *out is its block, in its heap.  On failure the segments are gone. */
larder_result larder__segments_join(struct allocator *a, struct request *q,
                                    struct block **out);

/* Whether, rather than cutting q from the empty segment, empty ones are to be
 * given back for one of q's size: few large blocks make up most of what is in
 * use, and what is left of the segments they are in would be too much.  No
 * block of the heap in a segment in use must fit q, so that all of it is of no
 * use to it.  Counts an exchange when it says so. */
bool larder__segments_should_exchange(struct allocator *a,
                                      const struct request *q,
                                      const struct block *empty);

#endif
