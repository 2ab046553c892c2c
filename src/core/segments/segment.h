/* segment.h - memory from the device: segments, reserved pieces, expandable
 * ranges.  Private to core. */
#ifndef LARDER_CORE_SEGMENT_H
#define LARDER_CORE_SEGMENT_H

#include "core/state/allocator.h"

/* ---- segments of one driver allocation (segment.c) ------------------------ */

/* Get a segment of `bytes` for the heap from the device.  *out is its one
 * block, free and in no index.  Nothing is left behind on failure. */
larder_result larder__segment_get(struct allocator *a, struct heap *heap,
                                  uint64_t bytes, struct block **out);

/* The same from a reserved piece; ERR_OUT_OF_MEMORY if none has room. */
larder_result larder__segment_carve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes, struct block **out);

/* Release the segment of b, its only block, free and in its heap.  If the
 * device refuses, everything stays as it was. */
larder_result larder__segment_release(struct allocator *a, struct block *b);

/* Link a filled segment in, or take it out; out of line for expandable.c. */
void larder__segment_link(struct allocator *a, struct segment *s);
void larder__segment_unlink(struct allocator *a, struct segment *s);

/* ---- reserved pieces (piece.c) -------------------------------------------- */

/* Take a piece of `bytes` from the device. */
larder_result larder__piece_take(struct allocator *a, uint64_t bytes);

/* Find room for the carved segment s, of s->bytes: sets its address and links
 * it into a piece.  ERR_OUT_OF_MEMORY, without words: no piece has room. */
larder_result larder__piece_carve(struct allocator *a, struct segment *s);
void larder__piece_return(struct segment *s);

/* Give all pieces back; their segments are gone. */
larder_result larder__pieces_release(struct allocator *a);

/* ---- ranges of addresses --------------------------------------------------- */

/* A segment of addresses that pages are mapped into, `bytes` of them, a multiple
 * of page_bytes.  *out is all of it, in no index. */
larder_result larder__segment_reserve(struct allocator *a, struct heap *heap,
                                      enum segment_kind kind,
                                      uint64_t page_bytes, uint64_t bytes,
                                      struct block **out);

/* ---- expandable segments (expandable.c) ----------------------------------- */

/* Find addresses of the heap for `size` bytes, the lowest there are, and map
 * what has no memory.  *out is a free block of at least `size`, in no index.
 * When memory runs out midway, what was mapped stays as free blocks. */
larder_result larder__expandable_get(struct allocator *a, struct heap *heap,
                                     uint64_t size, struct block **out);

/* Unmap the whole pages within b, a free block of an expandable segment that
 * is in its heap, and release them; b may be gone afterwards.  The segment
 * goes with its last page.  On failure what could not be unmapped stays. */
larder_result larder__expandable_release(struct allocator *a, struct block *b);

/* Unmap a run of at most `max` whole pages within b, a free block of an
 * expandable segment that is in its heap and has a stream that has passed, of
 * those that no graph uses; hand each to `taken`, which counts them elsewhere.
 * b, and the segment, may be gone afterwards.  *count: how many. */
typedef void larder__page_fn(struct allocator *a, const struct segment *s,
                             uint64_t page);
larder_result larder__expandable_take(struct allocator *a, struct block *b,
                                      size_t max, larder__page_fn *taken,
                                      size_t *count);

/* The whole pages within b, a free block of a paused segment, are not there:
 * say so in the blocks.  b may be gone afterwards.  ERR_NO_HOST_MEMORY. */
larder_result larder__expandable_forget(struct allocator *a, struct block *b);

/* Drop a segment that has no page any more. */
void larder__expandable_tidy(struct allocator *a, struct segment *s);

/* Release the pages and addresses of a segment, whatever is in it, when the
 * allocator goes; the segment is gone even if the device refuses. */
larder_result larder__expandable_destroy(struct allocator *a,
                                         struct segment *s);

#endif
