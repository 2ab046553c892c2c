#include "core/pages.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/blocks.h"
#include "core/events.h"
#include "core/front.h"
#include "core/held.h"
#include "core/orphan.h"
#include "core/pool.h"
#include "core/recording.h"
#include "core/segment.h"

/* ---- counting ------------------------------------------------------------- */

size_t larder__pages_missing(const struct segment *s, struct page_span span)
{
    size_t missing = 0;

    for (size_t i = span.begin; i < span.end; i++)
        missing += s->pages[i] == 0;
    return missing;
}

/* Loose pages are counted as of the large pool. */
static void reserved_move(struct allocator *a, unsigned from, unsigned to,
                          size_t pages)
{
    uint64_t bytes = (uint64_t)pages * PAGE_BYTES;

    if (from == to)
        return;
    metric_sub(&a->stats.reserved_bytes, from, bytes);
    metric_add(&a->stats.reserved_bytes, to, bytes);
}

static larder_addr page_at(const struct segment *s, size_t i)
{
    return s->addr + (uint64_t)i * PAGE_BYTES;
}

/* ---- getting -------------------------------------------------------------- */

/* Host memory, so that nothing done to `count` more pages needs any. */
static bool make_room(struct allocator *a, size_t count)
{
    struct loose_pages *loose = &a->loose;
    size_t need = a->page_count + count;
    uint64_t *list;

    if (!larder__orphans_make_room(a, count))
        return false;
    if (need <= loose->capacity)
        return true;
    need += need / 2;
    list = larder__host_resize(loose->list, need, sizeof *list);
    if (list == NULL)
        return false;
    loose->list = list;
    loose->capacity = need;
    return true;
}

larder_result larder__pages_create(struct allocator *a, size_t count)
{
    if (!make_room(a, count))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    (void)larder__orphans_release(a); /* memory of use here */
    for (; count > 0; count--) {
        uint64_t page;
        larder_result r;

        if (!held_allows(a, PAGE_BYTES))
            return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
        r = larder__device_page_create(a->device, PAGE_BYTES, &page);
        if (r != LARDER_OK)
            return r;
        a->loose.list[a->loose.count++] = page;
        a->page_count++;
        held_add(a, &a->pools[POOL_LARGE], PAGE_BYTES);
    }
    return LARDER_OK;
}

/* ---- taking out of free blocks -------------------------------------------- */

/* Unmap [begin, end), all of them there and free: they become loose. */
static larder_result run_unmap(struct allocator *a, struct segment *s,
                               size_t begin, size_t end)
{
    uint64_t bytes = (uint64_t)(end - begin) * PAGE_BYTES;
    larder_result r =
        larder__device_unmap(a->device, page_at(s, begin), bytes, end - begin);

    if (r != LARDER_OK)
        return r;
    for (size_t i = begin; i < end; i++) {
        a->loose.list[a->loose.count++] = s->pages[i];
        s->pages[i] = 0;
    }
    s->page_count -= end - begin;
    while (s->page_end > 0 && s->pages[s->page_end - 1] == 0)
        s->page_end--;
    reserved_move(a, s->heap->pool->stats, STATS_LARGE, end - begin);
    history_range(a, LARDER_ACTION_segment_unmap, s, page_at(s, begin), bytes);
    return LARDER_OK;
}

larder_result larder__pages_unmap(struct allocator *a, struct segment *s,
                                  struct page_span run)
{
    return run_unmap(a, s, run.begin, run.end);
}

/* What is wanted of a heap, and what came of it. */
struct taking {
    size_t wanted;
    size_t got;
    bool waited; /* for the heap's stream */
    larder_result result;
};

/* The pages of a free block that may be there; none for other blocks. */
static struct page_span block_pages(const struct block *b)
{
    struct page_span span = {0};

    if (b->segment->kind != SEGMENT_PAGED)
        return span;
    span = pages_within(b->segment, b->addr, b->bytes);
    if (span.end > b->segment->page_end)
        span.end = b->segment->page_end;
    return span;
}

/* Take pages of a free block, the last first. */
static void take_of_block(struct allocator *a, struct block *b,
                          struct taking *t)
{
    struct segment *s = b->segment;
    struct page_span span = block_pages(b);
    size_t end = span.end;

    while (t->got < t->wanted && t->result == LARDER_OK && end > span.begin) {
        size_t begin;

        if (s->pages[end - 1] == 0) {
            end--;
            continue;
        }
        begin = end - 1;
        while (begin > span.begin && s->pages[begin - 1] != 0 &&
               end - begin < t->wanted - t->got)
            begin--;
        if (!t->waited)
            t->result = larder__events_pass(a, s->heap->stream);
        t->waited = true;
        b->is_whole = false;
        if (t->result == LARDER_OK)
            t->result = run_unmap(a, s, begin, end);
        if (t->result == LARDER_OK)
            t->got += end - begin;
        end = begin;
    }
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
    return got;
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

/* ---- mapping -------------------------------------------------------------- */

/* Pages being mapped: nothing is published before all are. */
struct mapping {
    struct segment *segment;
    struct page_span span;
    size_t mapped; /* of those missing, the first so many: the last so many
                    * loose pages, in turn */
};

/* The next run of missing pages from `from` on; false: none. */
static bool next_missing(const struct mapping *m, size_t from,
                         struct page_span *run)
{
    const uint64_t *pages = m->segment->pages;

    while (from < m->span.end && pages[from] != 0)
        from++;
    run->begin = from;
    while (from < m->span.end && pages[from] == 0)
        from++;
    run->end = from;
    return run->end > run->begin;
}

/* The loose page that the n-th missing one becomes. */
static uint64_t *loose_for(struct allocator *a, size_t n)
{
    return &a->loose.list[a->loose.count - 1 - n];
}

static larder_result map_run(struct allocator *a, struct mapping *m,
                             struct page_span run)
{
    struct segment *s = m->segment;

    for (size_t i = run.begin; i < run.end; i++) {
        larder_result r = larder__device_map(
            a->device, page_at(s, i), PAGE_BYTES, *loose_for(a, m->mapped));

        if (r != LARDER_OK)
            return r;
        m->mapped++;
    }
    return larder__device_set_access(a->device, page_at(s, run.begin),
                                     (uint64_t)(run.end - run.begin) *
                                         PAGE_BYTES);
}

/* A page that the device does not unmap: it is no more ours to use. */
static void strand(struct allocator *a, const struct segment *s, size_t i,
                   size_t n)
{
    struct orphan orphan = {
        .page = *loose_for(a, n),
        .mapped_at = page_at(s, i),
        .bytes = PAGE_BYTES,
    };

    *loose_for(a, n) = 0;
    a->page_count--;
    held_sub(a, &a->pools[POOL_LARGE], PAGE_BYTES);
    larder__orphan_give(a, orphan);
}

/* Unmap the first m->mapped of the missing pages again. */
static void undo(struct allocator *a, const struct mapping *m)
{
    const struct segment *s = m->segment;
    struct page_span run = {.end = m->span.begin};
    size_t undone = 0;
    size_t kept = 0;

    while (undone < m->mapped && next_missing(m, run.end, &run)) {
        size_t n = run.end - run.begin;

        if (n > m->mapped - undone)
            n = m->mapped - undone;
        if (larder__device_unmap(a->device, page_at(s, run.begin),
                                 (uint64_t)n * PAGE_BYTES, n) != LARDER_OK) {
            for (size_t i = 0; i < n; i++)
                strand(a, s, run.begin + i, undone + i);
        }
        undone += n;
    }
    for (size_t i = 0; i < a->loose.count; i++) { /* close the gaps */
        if (a->loose.list[i] != 0)
            a->loose.list[kept++] = a->loose.list[i];
    }
    a->loose.count = kept;
}

static void publish(struct allocator *a, const struct mapping *m)
{
    struct segment *s = m->segment;
    struct page_span run = {.end = m->span.begin};

    while (next_missing(m, run.end, &run)) {
        for (size_t i = run.begin; i < run.end; i++)
            s->pages[i] = a->loose.list[--a->loose.count];
        s->page_count += run.end - run.begin;
        if (s->page_end < run.end)
            s->page_end = run.end;
        reserved_move(a, STATS_LARGE, s->heap->pool->stats,
                      run.end - run.begin);
        history_segment(a, s, page_at(s, run.begin),
                        (uint64_t)(run.end - run.begin) * PAGE_BYTES,
                        LARDER_ACTION_segment_map);
    }
}

larder_result larder__pages_map(struct allocator *a, struct segment *s,
                                struct page_span span)
{
    struct mapping m = {.segment = s, .span = span};
    struct page_span run = {.end = span.begin};
    larder_result r = LARDER_OK;

    if (!larder__map_prepare(&a->map, page_at(s, span.begin),
                             (uint64_t)(span.end - span.begin) * PAGE_BYTES,
                             s->heap->pool->is_small, s->head->front))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    while (r == LARDER_OK && next_missing(&m, run.end, &run))
        r = map_run(a, &m, run);
    if (r == LARDER_OK)
        publish(a, &m);
    else
        undo(a, &m);
    return r;
}

/* ---- giving back ---------------------------------------------------------- */

static void segment_free(struct allocator *a, struct segment *s)
{
    larder__segment_unlink(a, s);
    larder__host_free(s->pages);
    larder__host_free(s->stamps);
    larder__host_free(s);
}

/* Give back a range that is one free block and has no page.  If the device
 * refuses, it stays and will be used again. */
static larder_result range_release(struct allocator *a, struct segment *s)
{
    larder_result r = larder__device_address_free(a->device, s->addr, s->bytes);

    if (r != LARDER_OK)
        return r;
    heap_remove(s->head);
    front_give_header(a, s->head);
    segment_free(a, s);
    return LARDER_OK;
}

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
            fail_keep_first(&r, range_release(a, s));
        b = larder__bins_before(&heap->bins, bytes, addr);
    }
    return r;
}

void larder__pages_drop_some(struct allocator *a, size_t count)
{
    for (; count > 0 && a->loose.count > 0; count--) {
        struct orphan orphan = {
            .page = a->loose.list[--a->loose.count],
            .bytes = PAGE_BYTES,
        };

        a->page_count--;
        held_sub(a, &a->pools[POOL_LARGE], PAGE_BYTES);
        larder__orphan_give(a, orphan);
    }
    a->refused_at = UINT64_MAX;
}

void larder__pages_drop(struct allocator *a)
{
    larder__pages_drop_some(a, SIZE_MAX);
    a->is_tight = false;
}

/* ---- ranges --------------------------------------------------------------- */

/* More than any device has; beyond it a heap has several ranges. */
#define RANGE_MOST (UINT64_C(1) << 40)

/* Room to place things in, whatever the device has. */
static uint64_t range_bytes(const struct allocator *a, uint64_t bytes)
{
    uint64_t total = a->props.total_bytes + a->props.total_bytes / 8;

    if (total > RANGE_MOST)
        total = RANGE_MOST;
    if (total < bytes)
        total = bytes;
    return (total + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static larder_result range_reserve(struct allocator *a, struct segment *s)
{
    larder_result r;

    s->pages = larder__host_alloc(s->bytes / PAGE_BYTES, sizeof *s->pages);
    if (s->pages == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__device_address_reserve(a->device, s->bytes, &s->addr);
    if (r != LARDER_OK)
        larder__host_free(s->pages);
    return r;
}

larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes)
{
    struct segment *s;
    struct block *b;
    larder_result r;

    if (bytes > a->props.total_bytes) /* never to be had */
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    if (!larder__slab_ensure(&a->slab, 1 + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    s = larder__host_alloc(1, sizeof *s);
    if (s == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    s->kind = SEGMENT_PAGED;
    s->heap = heap;
    s->page_bytes = PAGE_BYTES;
    s->bytes = range_bytes(a, bytes);
    r = range_reserve(a, s);
    if (r != LARDER_OK) {
        larder__host_free(s);
        return r;
    }
    b = larder__slab_take(&a->slab);
    b->addr = s->addr;
    b->bytes = s->bytes;
    b->segment = s;
    b->front = heap->front != NULL ? heap->front->number : 0;
    s->head = b;
    larder__segment_link(a, s);
    heap_insert(b);
    return LARDER_OK;
}

larder_result larder__range_destroy(struct allocator *a, struct segment *s)
{
    larder_result r = larder__device_stream_sync(a->device, s->heap->stream);

    for (size_t i = 0; i < s->page_end; i++) {
        struct orphan orphan = {
            .page = s->pages[i],
            .mapped_at = page_at(s, i),
            .bytes = PAGE_BYTES,
        };

        if (s->pages[i] != 0) {
            a->page_count--;
            larder__orphan_give(a, orphan);
        }
    }
    fail_keep_first(&r, larder__orphans_release(a)); /* mapped here, maybe */
    fail_keep_first(&r,
                    larder__device_address_free(a->device, s->addr, s->bytes));
    segment_free(a, s);
    return r;
}
