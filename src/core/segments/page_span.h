/* page_span.h - pages of a segment that pages are mapped into.  Private to
 * core.
 *
 * The pages of a handle are adjacent, and each has the handle in its entry of
 * segment.pages.  In expandable segments every page has its own handle; in paged
 * ones segment.extents has which pages are the handle's. */
#pragma once

#include "core/state/allocator.h"

/* Pages of a segment, by index: from begin up to but not including end. */
struct page_span {
    size_t begin;
    size_t end;
};

/* The address of page i. */
static inline larder_addr page_at(const struct segment *s, size_t i)
{
    return s->addr + i * s->page_bytes;
}

static inline uint64_t span_bytes(const struct segment *s,
                                  struct page_span span)
{
    return (span.end - span.begin) * s->page_bytes;
}

/* The pages that [offset, offset + bytes) touches, even in part. */
static inline struct page_span span_touched(uint64_t offset, uint64_t bytes,
                                            uint64_t page_bytes)
{
    return (struct page_span){
        .begin = offset / page_bytes,
        .end = (offset + bytes - 1) / page_bytes + 1,
    };
}

/* The pages that lie entirely within it; none if end <= begin. */
static inline struct page_span span_within(uint64_t offset, uint64_t bytes,
                                           uint64_t page_bytes)
{
    return (struct page_span){
        .begin = (offset + page_bytes - 1) / page_bytes,
        .end = (offset + bytes) / page_bytes,
    };
}

/* The same of a block. */
static inline struct page_span block_pages(const struct block *b)
{
    const struct segment *s = b->segment;

    larder__assert(s->page_bytes != 0);
    larder__assert(b->addr >= s->addr &&
                   b->addr + b->bytes <= s->addr + s->bytes);
    return span_touched(b->addr - s->addr, b->bytes, s->page_bytes);
}

static inline struct page_span block_whole_pages(const struct block *b)
{
    const struct segment *s = b->segment;

    return span_within(b->addr - s->addr, b->bytes, s->page_bytes);
}

/* Enter a handle that was mapped at these pages, or no handle: 0. */
static inline void page_enter(struct segment *s, struct page_span at,
                              uint64_t handle)
{
    const struct page_extent extent = {(uint32_t)at.begin, (uint32_t)at.end};

    larder__assert(at.begin < at.end && at.end <= s->bytes / s->page_bytes);
    for (size_t i = at.begin; i < at.end; i++)
        s->pages[i] = handle;
    if (handle == 0)
        return;
    for (size_t i = at.begin; i < at.end; i++)
        s->extents[i] = extent;
}

/* The first page of the handle that is mapped at page i, and the page behind
 * its last. */
static inline size_t page_handle_begin(const struct segment *s, size_t i)
{
    larder__assert(s->pages[i] != 0);
    return s->extents == NULL ? i : s->extents[i].begin;
}

static inline size_t page_handle_end(const struct segment *s, size_t i)
{
    larder__assert(s->pages[i] != 0);
    return s->extents == NULL ? i + 1 : s->extents[i].end;
}

/* The next run of pages with a handle, or without, from run->end on and before
 * page `end`.  False: none. */
static inline bool page_next_held(const struct segment *s, size_t end,
                                  struct page_span *run)
{
    size_t i = run->end;

    while (i < end && s->pages[i] == 0)
        i++;
    run->begin = i;
    while (i < end && s->pages[i] != 0)
        i++;
    run->end = i;
    return run->end > run->begin;
}

static inline bool page_next_missing(const struct segment *s, size_t end,
                                     struct page_span *run)
{
    size_t i = run->end;

    while (i < end && s->pages[i] != 0)
        i = page_handle_end(s, i);
    run->begin = i;
    while (i < end && s->pages[i] == 0)
        i++;
    run->end = i;
    return run->end > run->begin;
}

/* How many handles a run of whole ones has. */
static inline size_t page_count_handles(const struct segment *s,
                                        struct page_span run)
{
    size_t count = 0;

    for (; run.begin < run.end; run.begin = page_handle_end(s, run.begin))
        count++;
    return count;
}

/* ---- when pages were last in use ----------------------------------------- */

/* With trim_age each page of a range has the number of the last look
 * (trim.h) at or after which it was in use. */

/* Mark the pages of a block that is being taken as in use. */
static inline void stamp_block(const struct allocator *a, const struct block *b)
{
    const struct segment *s = b->segment;
    struct page_span span;

    if (s->stamps == NULL)
        return;
    span = block_pages(b);
    for (size_t i = span.begin; i < span.end; i++) {
        larder__assert(s->stamps[i] <= a->trim.now);
        s->stamps[i] = a->trim.now;
    }
}

/* Whether page i of a segment with stamps is mapped and has not been in use for
 * trim_age. */
static inline bool stamp_is_old(const struct allocator *a,
                                const struct segment *s, size_t i)
{
    return s->pages[i] != 0 && a->trim.now - s->stamps[i] >= TRIM_STEPS;
}
