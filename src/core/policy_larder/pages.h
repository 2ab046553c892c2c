/* pages.h - pages of the ranges of addresses of the policy larder.  Private to
 * core.
 *
 * A paged segment is a range of addresses of one heap.  Pages that nothing uses
 * can be unmapped from it and mapped elsewhere; a block says where there are
 * none.
 *
 *   pages     |  p0  |  p1  |   -  |   -  |  p4  |  p4  |
 *   blocks    [live][ free  ][  unmapped ][free][  live ]
 *
 * Memory comes in handles of one page or some (physical.h); the pages of one
 * lie together and have its number in segment.pages.
 *
 * Rules, checked by larder_check():
 *   G1  every page is there that a block touches which is not unmapped, and
 *       none of an unmapped block, which begins and ends with pages;
 *   G2  the numbers of pages of segments and heaps are what the pages say;
 *   G3  pages in segments and loose ones are all there are;
 *   G4  the loose handles have as many pages as are counted.
 *
 * So a handle whose pages lie in one free block moves by being unmapped from
 * it and mapped where it is needed.  In between it is loose, and it stays so
 * when something fails. */
#ifndef LARDER_CORE_POLICY_LARDER_PAGES_H
#define LARDER_CORE_POLICY_LARDER_PAGES_H

#include "core/policy_larder/own.h"
#include "core/segments/page_span.h"

enum { PAGE_BYTES = 2 << 20 };

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

static inline uint64_t pages_bytes(size_t pages)
{
    return (uint64_t)pages * PAGE_BYTES;
}

static inline larder_addr page_at(const struct segment *s, size_t i)
{
    return s->addr + pages_bytes(i);
}

/* The block that addr lies in: b, or one behind it. */
static inline struct block *block_over(struct allocator *a, struct block *b,
                                       larder_addr addr)
{
    while (b->addr + b->bytes <= addr)
        b = slab_at(&a->slab, b->next);
    return b;
}

/* The next run of pages that are not there, from run->end on and before page
 * `end`; false: none. */
bool larder__pages_next_missing(const struct segment *s, size_t end,
                                struct page_span *run);

/* Of the pages within a free block, those of handles that lie in it whole. */
struct page_span larder__pages_movable(const struct block *b);

/* Headers that larder__pages_unmap() and larder__pages_back() may take for each
 * run of pages, to be ensured before. */
enum { PAGES_HEADERS = 2 };

/* Unmap a run of whole handles in the free block b: they become loose.  The
 * block keeps what is below the run; what is above is a block of its own.
 * Headers are ensured, and the stream has passed. */
larder_result larder__pages_unmap(struct allocator *a, struct block *b,
                                  struct page_span run);

/* The same, but that blocks know nothing of it yet. */
larder_result larder__pages_loosen(struct allocator *a, struct segment *s,
                                   struct page_span run);

/* The run's pages, in the free block b, are no more: the block keeps what is
 * below, and what is above is a block of its own.  Returns the unmapped one.
 * Headers are ensured. */
struct block *larder__pages_gone(struct allocator *a, struct block *b,
                                 struct page_span run);

/* The pages of the span, which begins in block b, free or unmapped, are there
 * now: what was unmapped becomes free.  Returns the free block that the span
 * begins in.  Headers are ensured for each unmapped block. */
struct block *larder__pages_back(struct allocator *a, struct block *b,
                                 struct page_span span);

/* Count pages as reserved by another pool, and as held by its owner. */
void larder__pages_recount(struct allocator *a, const struct pool *from,
                           const struct pool *to, size_t pages);

#endif
