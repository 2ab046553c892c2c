/* pages.h - pages of the address ranges of the policy larder.  Private to core.
 *
 * A paged segment is a range of addresses of one heap.  Pages that nothing uses
 * can be unmapped from it and mapped elsewhere; an unmapped block marks
 * addresses that have no pages.
 *
 *   pages     |  p0  |  p1  |   -  |   -  |  p4  |  p4  |
 *   blocks    [live][ free  ][  unmapped ][free][  live ]
 *
 * Memory comes in handles of one or more pages (handles.c).  The pages of a
 * handle are adjacent, and each has the handle in its entry of segment.pages, and
 * where they begin and end in its entry of segment.extents.
 *
 * Rules, checked by larder_check():
 *   G1  every page that a free, live or pending block touches is mapped; an
 *       unmapped block has no mapped page and begins and ends at page borders;
 *   G2  the page counts of segments and heaps match segment.pages;
 *   G3  mapped and loose pages together are all pages held;
 *   G4  the count of loose pages is the sum over the loose handles;
 *   G5  the extent of a mapped page is that of its handle.
 *
 * Pages of rule G1 that a failed move left unmapped are withheld: no request gets
 * free memory there (carry.h).
 *
 * A handle whose pages lie in one free block moves by being unmapped there and
 * mapped where it is needed.  In between it is loose, and it stays loose if
 * mapping fails. */
#pragma once

#include "core/policy_larder/own.h"

/* As span_touched() and span_within(), but by addresses; the constant spares
 * divisions. */
static inline struct page_span pages_touched(const struct segment *s,
                                             larder_addr addr, uint64_t bytes)
{
    return span_touched(addr - s->addr, bytes, PAGE_BYTES);
}

static inline struct page_span pages_within(const struct segment *s,
                                            larder_addr addr, uint64_t bytes)
{
    return span_within(addr - s->addr, bytes, PAGE_BYTES);
}

static inline uint64_t pages_bytes(size_t pages)
{
    return (uint64_t)pages * PAGE_BYTES;
}

/* How many pages of the span lie in b, which is unmapped. */
static inline size_t pages_unmapped_of(const struct block *b,
                                       struct page_span span)
{
    struct page_span own = pages_within(b->segment, b->addr, b->bytes);

    if (own.begin < span.begin)
        own.begin = span.begin;
    if (own.end > span.end)
        own.end = span.end;
    return own.end > own.begin ? own.end - own.begin : 0;
}

/* The block that contains addr: b or a later one. */
static inline struct block *block_over(struct allocator *a, struct block *b,
                                       larder_addr addr)
{
    while (b->addr + b->bytes <= addr)
        b = slab_at(&a->slab, b->next);
    return b;
}

/* The pages of a free block whose handles lie entirely within it. */
static inline struct page_span pages_movable(const struct block *b)
{
    const struct segment *s = b->segment;
    struct page_span span;
    struct page_extent first, last;

    if (s->kind != SEGMENT_PAGED)
        return (struct page_span){0};
    span = pages_within(s, b->addr, b->bytes);
    if (span.begin >= span.end)
        return (struct page_span){0};
    larder__assert(s->pages[span.begin] != 0 && s->pages[span.end - 1] != 0);
    first = s->extents[span.begin];
    last = s->extents[span.end - 1];
    span.begin = first.begin < span.begin ? first.end : span.begin;
    span.end = last.end > span.end ? last.begin : span.end;
    return span.begin < span.end ? span : (struct page_span){0};
}

/* How many headers larder__pages_unmap() and larder__pages_back() may take for
 * each run of pages; the caller ensures them. */
enum { PAGES_HEADERS = 2 };

/* Unmap a run of whole handles in the free block b; they become loose.  The
 * block keeps what is below the run; what is above becomes a block of its own.
 * The caller has ensured headers and waited for the stream. */
larder_result larder__pages_unmap(struct allocator *a, struct block *b,
                                  struct page_span run);

/* Make the handles of an unmapped run loose, without updating blocks: cannot
 * fail. */
void larder__pages_let_go(struct allocator *a, struct segment *s,
                          struct page_span run);

/* Update the blocks after the run's pages, in the free block b, were unmapped:
 * b keeps what is below, and what is above becomes a block of its own.  Returns
 * the unmapped block.  The caller has ensured headers. */
struct block *larder__pages_unmapped(struct allocator *a, struct block *b,
                                     struct page_span run);

/* Update the blocks after all pages of the span were mapped: what was unmapped
 * becomes free.  The span begins in b, which is free or unmapped.  Returns the
 * free block that it begins in.  The caller has ensured headers for each
 * unmapped block. */
struct block *larder__pages_back(struct allocator *a, struct block *b,
                                 struct page_span span);

/* Move pages from one pool's reserved and held counts to another's. */
void larder__pages_recount(struct allocator *a, const struct pool *from,
                           const struct pool *to, size_t pages);

/* ---- handles (handles.c) ------------------------------------------------- */

/* A driver call for a handle costs about the same whatever its size.  But a
 * handle is mapped, moved and released as a whole: one byte in use keeps all of
 * it, unless live pages may move (carry.h). */

/* Pages that can be created without releasing any, as far as is known; and how
 * many have to be released before one can be, after a limit was lowered. */
size_t larder__handles_room(const struct allocator *a);
size_t larder__handles_excess(const struct allocator *a);

/* The maximum size of a handle, in pages: a quarter more than one of PyTorch's
 * large segments, so that a request of any size is filled evenly by handles not
 * smaller than half of it; on devices of more than about 10 GiB, 1/400 of the
 * device, so that their number, and with it the cost of a first pass, is bounded.
 * The setting handle_mib replaces both. */
size_t larder__handles_pages_max(const struct allocator *a);

/* Make room in all host tables for `count` more pages, so that later steps need
 * no host memory. */
bool larder__handles_make_room(struct allocator *a, size_t count);

/* Create a handle of `pages` pages, within the limit; it is appended to the
 * loose ones. */
larder_result larder__handles_create(struct allocator *a, size_t pages);

/* Remove the i-th loose handle from the list and from all counts, and return
 * it.  The last handle takes its index. */
uint64_t larder__handles_take(struct allocator *a, size_t i);

/* Release the i-th loose handle to the device.  The last one takes its
 * index. */
void larder__handles_release(struct allocator *a, size_t i);

/* Append a handle to the loose ones; its pages are already counted as held, and
 * there is room for it. */
void larder__handles_loosen(struct allocator *a, struct page_handle p);

/* Find, from index `from` on, the largest loose handle of at most `max` pages.
 * False: none. */
bool larder__handles_fit(const struct allocator *a, size_t from, size_t max,
                         size_t *out);

/* Find the smallest one.  False: none. */
bool larder__handles_smallest(const struct allocator *a, size_t from,
                              size_t *out);

/* Release loose handles of at least `pages` pages in all, if there are as many,
 * with as few excess pages as possible. */
void larder__handles_drop(struct allocator *a, size_t pages);

/* Release loose handles until at most `pages` pages are loose. */
void larder__handles_keep(struct allocator *a, size_t pages);

/* ---- ranges of addresses (addresses.c) ----------------------------------- */

/* The first range of the k-th stream has room for a k-th of the device.  Where
 * that is not enough, each further range is three times as long as all before
 * it together, so that there are few. */

/* Reserve a range for the heap with room for `bytes`: one unmapped block.
 * Where addresses are short, empty ranges of any heap are released first.
 * ERR_OUT_OF_MEMORY; ERR_NO_HOST_MEMORY. */
larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes);

/* Reserve exactly `bytes`, a multiple of PAGE_BYTES. */
larder_result larder__range_reserve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes);

/* Forget a range without pages, whose addresses the device has released: cannot
 * fail. */
void larder__range_forget(struct allocator *a, struct segment *s);

/* Release all ranges without pages, except those of regions.  Returns the first
 * error. */
larder_result larder__ranges_release(struct allocator *a);
