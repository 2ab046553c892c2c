/* pages.h - physical pages, and the ranges of addresses they are mapped into
 * by the larder policy.  Private to core.
 *
 * A paged segment is a range of addresses of one heap.  Its free blocks need
 * not have memory: whole pages inside them may be missing.
 *
 *   pages     |  p0  |  p1  |   -  |   -  |  p4  |
 *   blocks    [live][         free          ][live]
 *
 * Rules, checked by larder_check():
 *   G1  every page is there that is touched by a block other than a free one,
 *       or by one that is marked whole;
 *   G2  page_end and page_count are what the pages say;
 *   G3  pages in segments and loose ones are all there are.
 *
 * So a page moves by unmapping it from a free block, which is not otherwise
 * changed, and mapping it where it is needed.  In between it is loose, and it
 * stays so when something fails. */
#ifndef LARDER_CORE_PAGES_H
#define LARDER_CORE_PAGES_H

#include "core/allocator.h"

enum { PAGE_BYTES = 2 << 20 };

/* Pages of a segment, by number: from begin up to end. */
struct page_span {
    size_t begin;
    size_t end;
};

/* The pages that [addr, addr + bytes) touches. */
static inline struct page_span pages_touched(const struct segment *s,
                                             larder_addr addr, uint64_t bytes)
{
    return (struct page_span){
        .begin = (addr - s->addr) / PAGE_BYTES,
        .end = (addr - s->addr + bytes - 1) / PAGE_BYTES + 1,
    };
}

/* Those that lie within it; none if end <= begin. */
static inline struct page_span pages_within(const struct segment *s,
                                            larder_addr addr, uint64_t bytes)
{
    return (struct page_span){
        .begin = (addr - s->addr + PAGE_BYTES - 1) / PAGE_BYTES,
        .end = (addr - s->addr + bytes) / PAGE_BYTES,
    };
}

/* How many of the span are missing. */
size_t larder__pages_missing(const struct segment *s, struct page_span span);

/* Get up to `count` more loose pages from the device, within the limit.  OK
 * if all came; what came stays. */
larder_result larder__pages_create(struct allocator *a, size_t count);

/* Take up to `count` pages out of free blocks of the default pools: they
 * become loose.  Waits for the streams of their heaps first.  How many came. */
size_t larder__pages_harvest(struct allocator *a, size_t count);

/* How many larder__pages_harvest() could get. */
size_t larder__pages_harvestable(const struct allocator *a);

/* The longest stretch of a free block that has memory, whatever its segment. */
uint64_t larder__pages_longest(const struct block *b);

/* Map loose pages, enough of which are there, to where the span misses them:
 * all or none. */
larder_result larder__pages_map(struct allocator *a, struct segment *s,
                                struct page_span span);

/* Make the pages of the heap's free blocks loose, and give back ranges
 * without pages. */
larder_result larder__pages_release(struct allocator *a, struct heap *heap);

/* Unmap [begin, end) of a segment, all of them there, in free blocks whose
 * stream has passed: they become loose. */
larder_result larder__pages_unmap(struct allocator *a, struct segment *s,
                                  struct page_span run);

/* Give the device up to `count` loose pages. */
void larder__pages_drop_some(struct allocator *a, size_t count);

/* Give the device all loose pages. */
void larder__pages_drop(struct allocator *a);

/* A new range of at least `bytes`: one free block without pages, in its
 * heap. */
larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes);

/* Give back pages and addresses of a segment, whatever is in it, when the
 * allocator goes. */
larder_result larder__range_destroy(struct allocator *a, struct segment *s);

#endif
