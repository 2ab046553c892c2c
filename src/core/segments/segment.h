/* segment.h - memory from the device: segments, reserved pieces, expandable
 * ranges.  Private to core. */
#pragma once

#include "core/segments/page_span.h"

/* ---- segments of one driver allocation (segment.c) ------------------------ */

/* Acquire a segment of `bytes` for the heap from the device. *out is its only
 * block, free and in no index.  On failure nothing has changed. */
larder_result larder__segment_get(struct allocator *a, struct heap *heap,
                                  uint64_t bytes, struct block **out);

/* The same from a reserved piece; ERR_OUT_OF_MEMORY if none has room. */
larder_result larder__segment_carve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes, struct block **out);

/* Release the segment of b, its only block, which is free and in its heap.
 * Returns after the work queued on its stream.  If the device fails to release
 * it nothing changes. */
larder_result larder__segment_release(struct allocator *a, struct block *b);

/* Unlink a segment from the allocator's lists, and free its host memory. */
void larder__segment_free(struct segment *s);

/* ---- reserved pieces (piece.c) -------------------------------------------- */

/* Acquire a piece of `bytes` from the device. */
larder_result larder__piece_take(struct allocator *a, uint64_t bytes);

/* Find room for the carved segment s of s->bytes: sets its address and links it
 * into a piece.  ERR_OUT_OF_MEMORY, without a message: no piece has room. */
larder_result larder__piece_carve(struct allocator *a, struct segment *s);
/* Return it to its piece, which any stream may carve: nothing uses it. */
void larder__piece_return(struct segment *s);

/* Release all pieces; their segments are gone. */
larder_result larder__pieces_release(struct allocator *a);

/* ---- ranges of addresses --------------------------------------------------- */

/* Reserve a segment of `bytes` of addresses, a multiple of page_bytes, that
 * pages are mapped into. *out is one block for all of it, in no index. */
larder_result larder__segment_reserve(struct allocator *a, struct heap *heap,
                                      enum segment_kind kind,
                                      uint64_t page_bytes, uint64_t bytes,
                                      struct block **out);

/* ---- expandable segments (expandable.c) ----------------------------------- */

/* Find the lowest addresses of the heap for `size` bytes and map the parts that
 * have no memory. *out is a free block of at least `size`, in no index.  If
 * memory runs out on the way, what was mapped stays as free blocks. */
larder_result larder__expandable_get(struct allocator *a, struct heap *heap,
                                     uint64_t size, struct block **out);

/* Unmap and release the whole pages within b, a free block of an expandable
 * segment that is in its heap.  Afterwards b may be gone, and the segment is
 * destroyed with its last page.  On failure what could not be unmapped
 * stays. */
larder_result larder__expandable_release(struct allocator *a, struct block *b);

/* Destroy the heap's ranges that have no pages: of a request that got no memory,
 * or of addresses that the device did not take back. */
larder_result larder__expandable_tidy(struct allocator *a, struct heap *heap);

/* Unmap a run of at most `max` whole pages within b that no graph uses, and
 * pass each to `taken`, which counts them elsewhere. b is a free block of an
 * expandable segment, in its heap, and its stream has passed. b and the segment
 * may be gone afterwards. *count is the number of pages. */
typedef void larder__page_fn(struct allocator *a, const struct segment *s,
                             uint64_t page);
larder_result larder__expandable_take(struct allocator *a, struct block *b,
                                      size_t max, larder__page_fn *taken,
                                      size_t *count);

/* For pauses: release the handles of the span's pages, which are not mapped;
 * map memory at its missing pages within the limits, each run of them or nothing
 * of it. */
void larder__expandable_drop(struct allocator *a, struct segment *s,
                             struct page_span span);
larder_result larder__expandable_fill(struct allocator *a, struct segment *s,
                                      struct page_span span);

/* Whether any page that lies within the block has a handle. */
bool larder__expandable_has_pages(const struct block *b);
/* Mark whole pages within free blocks as unmapped where they have no memory: all
 * of a block or none.  The segment may be gone afterwards.  Two headers for each
 * free block are ensured. */
void larder__expandable_forget(struct allocator *a, struct segment *s);

/* ---- memory that the device failed to take back (orphan.c) --------------- */

/* It is remembered, and released again before the next page is created, at
 * every larder_empty_cache() and when the allocator is destroyed, so that an
 * error leaks nothing. */

/* Make room so that `count` more pages can be held, and each of them, or one
 * driver allocation, can become an orphan. */
bool larder__orphans_make_room(struct allocator *a, size_t count);

/* Release this memory now, or remember it for later.  Never fails; the caller
 * has made room. */
void larder__orphan_try_release(struct allocator *a, struct orphan orphan);

/* Try to release all orphans.  Continues after errors and returns the first. */
larder_result larder__orphans_release(struct allocator *a);

/* ---- how much the policy `pytorch` takes ----------------------------------- */

/* The only place that knows; larder_conf_segment() asks it for the tools. */

/* The segment for a request of this rounded size. */
uint64_t larder__segment_size(const struct conf *conf, uint64_t size);

/* A page of an expandable segment of the small or the large pool. */
static inline uint64_t segment_page_size(const struct conf *conf, bool is_small)
{
    return is_small ? (uint64_t)SMALL_SEGMENT_BYTES : conf->large_segment_bytes;
}

/* The maximum by which the request's pool would grow for it. */
uint64_t larder__pool_growth(const struct allocator *a,
                             const struct request *q);
