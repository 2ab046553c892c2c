/* pages.h - physical pages in the ranges of addresses of the larder policy.
 * Private to core.
 *
 * A paged segment is a range of addresses of one heap.  Its free blocks need
 * not have memory: whole pages inside them may be missing.
 *
 *   pages     |  p0  |  p1  |   -  |   -  |  p4  |  p4  |
 *   blocks    [live][         free               ][live ]
 *
 * Memory comes in handles of one page or some (physical.h); the pages of one
 * lie together and have its number in segment.pages.
 *
 * Rules, checked by larder_check():
 *   G1  every page is there that is touched by a block other than a free one,
 *       or by one that is marked whole;
 *   G2  page_end and page_count are what the pages say;
 *   G3  pages in segments and loose ones are all there are;
 *   G4  the loose handles have as many pages as are counted.
 *
 * So a handle whose pages lie in one free block moves by being unmapped from
 * it, which does not change the block otherwise, and mapped where it is
 * needed.  In between it is loose, and it stays so when something fails. */
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

static inline larder_addr page_at(const struct segment *s, size_t i)
{
    return s->addr + (uint64_t)i * PAGE_BYTES;
}

/* How many of the span are missing. */
size_t larder__pages_missing(const struct segment *s, struct page_span span);

/* The first page of the handle that page i, which is there, is of, and where
 * that handle ends. */
size_t larder__handle_begin(const struct segment *s, size_t i);
size_t larder__handle_end(const struct segment *s, size_t i);

/* Count pages as reserved by another pool. */
void larder__pages_recount(struct allocator *a, unsigned from, unsigned to,
                           size_t pages);

/* Take up to `count` pages, in handles of no more than is wanted still, out of
 * free blocks of the default pools: they become loose.  Waits for the streams
 * of their heaps first.  How many came. */
size_t larder__pages_harvest(struct allocator *a, size_t count);

/* The same with the smallest handle of at least `least` pages. */
bool larder__pages_harvest_larger(struct allocator *a, size_t least);

/* How many could be taken. */
size_t larder__pages_harvestable(const struct allocator *a);

/* The longest stretch of a free block that has memory, whatever its segment. */
uint64_t larder__pages_longest(const struct block *b);

/* Unmap the handles that lie within the run of a segment, whose pages are all
 * there, in free blocks whose stream has passed: they become loose. */
larder_result larder__pages_unmap(struct allocator *a, struct segment *s,
                                  struct page_span run);

/* Make the pages of the heap's free blocks loose, and give back ranges
 * without pages. */
larder_result larder__pages_release(struct allocator *a, struct heap *heap);

#endif
