#include "core/pages.h"

#include "base/fail.h"
#include "core/blocks.h"
#include "core/events.h"
#include "core/physical.h"
#include "core/pool.h"
#include "core/range.h"
#include "core/recording.h"

/* ---- counting ------------------------------------------------------------- */

size_t larder__pages_missing(const struct segment *s, struct page_span span)
{
    size_t missing = 0;

    for (size_t i = span.begin; i < span.end; i++)
        missing += s->pages[i] == 0;
    return missing;
}

size_t larder__handle_begin(const struct segment *s, size_t i)
{
    while (i > 0 && s->pages[i - 1] == s->pages[i])
        i--;
    return i;
}

size_t larder__handle_end(const struct segment *s, size_t i)
{
    size_t end = i + 1;

    while (end < s->page_end && s->pages[end] == s->pages[i])
        end++;
    return end;
}

void larder__pages_recount(struct allocator *a, unsigned from, unsigned to,
                           size_t pages)
{
    uint64_t bytes = (uint64_t)pages * PAGE_BYTES;

    if (from == to)
        return;
    metric_sub(&a->stats.reserved_bytes, from, bytes);
    metric_add(&a->stats.reserved_bytes, to, bytes);
}

/* The span without the handles that reach out of it. */
static struct page_span whole_handles(const struct segment *s,
                                      struct page_span span)
{
    if (span.end > s->page_end)
        span.end = s->page_end;
    if (span.begin >= span.end)
        return (struct page_span){0};
    if (s->pages[span.begin] != 0 &&
        larder__handle_begin(s, span.begin) < span.begin)
        span.begin = larder__handle_end(s, span.begin);
    if (span.begin < span.end && s->pages[span.end - 1] != 0 &&
        larder__handle_end(s, span.end - 1) > span.end)
        span.end = larder__handle_begin(s, span.end - 1);
    return span;
}

/* The pages of a free block that can be taken, those missing between them;
 * none of other blocks. */
static struct page_span block_pages(const struct block *b)
{
    if (b->segment->kind != SEGMENT_PAGED)
        return (struct page_span){0};
    return whole_handles(b->segment,
                         pages_within(b->segment, b->addr, b->bytes));
}

/* ---- taking out of free blocks -------------------------------------------- */

/* Unmap a run of `handles` whole ones, all there and free: they become
 * loose. */
static larder_result run_unmap(struct allocator *a, struct segment *s,
                               struct page_span run, size_t handles)
{
    size_t pages = run.end - run.begin;
    uint64_t bytes = (uint64_t)pages * PAGE_BYTES;
    larder_result r =
        larder__device_unmap(a->device, page_at(s, run.begin), bytes, handles);

    if (r != LARDER_OK)
        return r;
    while (run.begin < run.end) {
        size_t end = larder__handle_end(s, run.begin);
        struct physical p = {s->pages[run.begin], end - run.begin};

        larder__physical_loosen(a, p);
        while (run.begin < end)
            s->pages[run.begin++] = 0;
    }
    s->page_count -= pages;
    while (s->page_end > 0 && s->pages[s->page_end - 1] == 0)
        s->page_end--;
    larder__pages_recount(a, s->heap->pool->stats, STATS_LARGE, pages);
    history_range(a, LARDER_ACTION_segment_unmap, s,
                  page_at(s, run.end) - bytes, bytes);
    return LARDER_OK;
}

larder_result larder__pages_unmap(struct allocator *a, struct segment *s,
                                  struct page_span run)
{
    size_t handles = 0;

    run = whole_handles(s, run);
    for (size_t i = run.begin; i < run.end; i = larder__handle_end(s, i))
        handles++;
    return handles > 0 ? run_unmap(a, s, run, handles) : LARDER_OK;
}

/* What is wanted of a heap, and what came of it. */
struct taking {
    size_t wanted;
    size_t got;
    bool waited; /* for the heap's stream */
    larder_result result;
};

/* Take a run of `handles` whole ones out of a free block. */
static void take_run(struct allocator *a, struct block *b, struct page_span run,
                     size_t handles, struct taking *t)
{
    struct segment *s = b->segment;

    if (handles == 0)
        return;
    if (!t->waited)
        t->result = larder__events_pass(a, s->heap->stream);
    if (t->result != LARDER_OK)
        return;
    t->waited = true;
    b->is_whole = false;
    t->result = run_unmap(a, s, run, handles);
    if (t->result == LARDER_OK)
        t->got += run.end - run.begin;
}

/* Take handles of a free block, the last first, none larger than what is
 * wanted still; those that follow one another together. */
static void take_of_block(struct allocator *a, struct block *b,
                          struct taking *t)
{
    struct segment *s = b->segment;
    struct page_span span = block_pages(b);
    struct page_span run = {span.end, span.end};
    size_t handles = 0;
    size_t at = span.end;

    while (at > span.begin && t->result == LARDER_OK &&
           t->got + (run.end - run.begin) < t->wanted) {
        size_t begin =
            s->pages[at - 1] == 0 ? at - 1 : larder__handle_begin(s, at - 1);
        bool fits = s->pages[begin] != 0 &&
                    t->got + (run.end - run.begin) + (at - begin) <= t->wanted;

        if (fits) {
            run.begin = begin;
            handles++;
        } else {
            take_run(a, b, run, handles, t);
            run = (struct page_span){begin, begin};
            handles = 0;
        }
        at = begin;
    }
    if (t->result == LARDER_OK)
        take_run(a, b, run, handles, t);
}

/* The largest blocks first: their pages lie together. */
static void take_of_heap(struct allocator *a, const struct heap *heap,
                         struct taking *t)
{
    struct block *b = larder__bins_before(&heap->bins, UINT64_MAX, 0);

    while (b != NULL && b->bytes >= PAGE_BYTES && t->got < t->wanted &&
           t->result == LARDER_OK) {
        take_of_block(a, b, t);
        b = larder__bins_before(&heap->bins, b->bytes, b->addr);
    }
}

size_t larder__pages_harvest(struct allocator *a, size_t count)
{
    size_t got = 0;

    for (int kind = POOL_KINDS; kind-- > 0 && got < count;) {
        const struct pool *pool = &a->pools[kind];

        for (uint32_t i = 0; i < pool->heap_count && got < count; i++) {
            struct taking t = {.wanted = count - got};

            take_of_heap(a, pool->heaps[i], &t);
            got += t.got;
        }
    }
    a->moves.pages += got;
    return got;
}

/* A handle in a free block. */
struct spot {
    struct block *block;
    size_t begin;
    size_t pages;
};

/* The smaller of best and the smallest of the heap of at least `least`. */
static void least_of_heap(const struct heap *heap, size_t least,
                          struct spot *best)
{
    struct block *b = larder__bins_before(&heap->bins, UINT64_MAX, 0);

    for (; b != NULL && b->bytes >= (uint64_t)least * PAGE_BYTES;
         b = larder__bins_before(&heap->bins, b->bytes, b->addr)) {
        struct page_span span = block_pages(b);
        const struct segment *s = b->segment;
        size_t end;

        for (size_t i = span.begin; i < span.end; i = end) {
            end = s->pages[i] == 0 ? i + 1 : larder__handle_end(s, i);
            if (s->pages[i] != 0 && end - i >= least &&
                (best->block == NULL || end - i < best->pages))
                *best = (struct spot){b, i, end - i};
        }
    }
}

bool larder__pages_harvest_larger(struct allocator *a, size_t least)
{
    struct taking t = {.wanted = SIZE_MAX};
    struct spot best = {0};

    for (int kind = 0; kind < POOL_KINDS; kind++) {
        for (uint32_t i = 0; i < a->pools[kind].heap_count; i++)
            least_of_heap(a->pools[kind].heaps[i], least, &best);
    }
    if (best.block == NULL)
        return false;
    take_run(a, best.block,
             (struct page_span){best.begin, best.begin + best.pages}, 1, &t);
    a->moves.pages += t.got;
    return t.got > 0;
}

static size_t heap_harvestable(const struct heap *heap)
{
    struct block *b = larder__bins_before(&heap->bins, UINT64_MAX, 0);
    size_t count = 0;

    while (b != NULL && b->bytes >= PAGE_BYTES) {
        struct page_span span = block_pages(b);

        if (span.end > span.begin)
            count +=
                span.end - span.begin - larder__pages_missing(b->segment, span);
        b = larder__bins_before(&heap->bins, b->bytes, b->addr);
    }
    return count;
}

size_t larder__pages_harvestable(const struct allocator *a)
{
    size_t count = 0;

    for (int kind = 0; kind < POOL_KINDS; kind++) {
        for (uint32_t i = 0; i < a->pools[kind].heap_count; i++)
            count += heap_harvestable(a->pools[kind].heaps[i]);
    }
    return count;
}

uint64_t larder__pages_longest(const struct block *b)
{
    const struct segment *s = b->segment;
    larder_addr begin = b->addr;
    larder_addr end = b->addr + b->bytes;
    uint64_t longest = 0;

    if (s->kind != SEGMENT_PAGED)
        return b->bytes;
    for (size_t i = (begin - s->addr) / PAGE_BYTES;
         i < s->page_end && page_at(s, i) < end; i++) {
        larder_addr stop = page_at(s, i + 1);

        if (s->pages[i] == 0)
            begin = stop;
        else if ((stop < end ? stop : end) - begin > longest)
            longest = (stop < end ? stop : end) - begin;
    }
    return longest;
}

/* ---- giving back ---------------------------------------------------------- */

larder_result larder__pages_release(struct allocator *a, struct heap *heap)
{
    struct block *b = larder__bins_before(&heap->bins, UINT64_MAX, 0);
    struct taking t = {.wanted = SIZE_MAX};
    larder_result r = LARDER_OK;

    while (b != NULL && b->bytes >= PAGE_BYTES) {
        uint64_t bytes = b->bytes;
        larder_addr addr = b->addr;
        struct segment *s = b->segment;

        t.result = LARDER_OK;
        take_of_block(a, b, &t);
        fail_keep_first(&r, t.result);
        if (s->kind == SEGMENT_PAGED && s->page_count == 0 &&
            !block_is_split(b))
            fail_keep_first(&r, larder__range_release(a, s));
        b = larder__bins_before(&heap->bins, bytes, addr);
    }
    return r;
}
