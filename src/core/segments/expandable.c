/* expandable.c - ranges of addresses that grow and shrink by pages.
 *
 * As in PyTorch: a range is 9/8 of the device's memory; each page is a handle
 * of its own, of 2 MiB (small pool) or large_segment_size_mb (large pool).
 * Pages are mapped one by one, with access set once for a run, and unmapped and
 * released one by one after waiting for the stream. */
#include "core/peers/draw.h"
#include "core/segments/segment.h"

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/order.h"
#include "core/state/held.h"
#include "core/state/paged.h"

enum { FULL_RANGES = 16 }; /* streams whose ranges are as long as PyTorch's */

/* ---- pages ---------------------------------------------------------------- */

/* Release the handle of page i, which is out of use, now or later. */
static void page_drop(struct allocator *a, struct segment *s, size_t i,
                      bool mapped)
{
    struct orphan orphan = {
        .handle = s->pages[i],
        .mapped_at = mapped ? page_at(s, i) : 0,
        .bytes = s->page_bytes,
    };

    larder__assert(i < s->bytes / s->page_bytes && s->pages[i] != 0);
    larder__assert(a->page_count > 0);
    larder__orphan_try_release(a, orphan);
    s->pages[i] = 0;
    a->page_count--;
}

/* Get a handle for page i: an unmapped one, or a new one. */
static larder_result page_get(struct allocator *a, struct segment *s, size_t i)
{
    larder_result r = LARDER_OK;

    if (!larder__paged_take(a, s->page_bytes, &s->pages[i]))
        r = larder__draw_handle(a, s->page_bytes, &s->pages[i]);
    a->page_count += r == LARDER_OK;
    return r;
}

/* Create handles for pages [begin, end), all or none. */
static larder_result pages_create(struct allocator *a, struct segment *s,
                                  size_t begin, size_t end)
{
    larder__assert(begin < end && end <= s->bytes / s->page_bytes);
    larder__assert(s->pages[begin] == 0 && s->pages[end - 1] == 0);
    if (!larder__orphans_make_room(a, end - begin))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    for (size_t i = begin; i < end; i++) {
        larder_result r = page_get(a, s, i);

        if (r == LARDER_OK)
            continue;
        while (i-- > begin)
            page_drop(a, s, i, false);
        return r;
    }
    return LARDER_OK;
}

/* Map pages [begin, end), whose handles exist, and set access. *mapped is where
 * it stopped. */
static larder_result pages_map(struct allocator *a, struct segment *s,
                               size_t begin, size_t end, size_t *mapped)
{
    larder_result r = LARDER_OK;

    larder__assert(s->pages[begin] != 0 && s->pages[end - 1] != 0);
    *mapped = begin;
    while (*mapped < end && r == LARDER_OK) {
        r = larder__device_map(a->device, page_at(s, *mapped), s->page_bytes,
                               s->pages[*mapped]);
        if (r == LARDER_OK)
            ++*mapped;
    }
    if (r == LARDER_OK)
        r = larder__device_set_access(a->device, page_at(s, begin),
                                      (end - begin) * s->page_bytes);
    return r;
}

/* Create and map pages [begin, end), all or none. */
static larder_result pages_add(struct allocator *a, struct segment *s,
                               size_t begin, size_t end)
{
    size_t mapped;
    larder_result r;

    (void)larder__orphans_release(a); /* may free memory and addresses */
    if ((r = pages_create(a, s, begin, end)) != LARDER_OK)
        return r;
    r = pages_map(a, s, begin, end, &mapped);
    for (size_t i = begin; r != LARDER_OK && i < end; i++)
        page_drop(a, s, i, i < mapped);
    return r;
}

/* Count pages [begin, end), which were added. */
static void pages_count(struct allocator *a, struct segment *s, size_t begin,
                        size_t end)
{
    uint64_t bytes = (end - begin) * s->page_bytes;

    held_add(a, s->heap->pool, bytes);
    history_segment(a, s, page_at(s, begin), bytes, LARDER_ACTION_segment_map);
}

/* Unmap and release pages from `begin` to `end`, or to the first that the
 * device fails to unmap or release; *done is where it stopped. */
static larder_result pages_remove(struct allocator *a, struct segment *s,
                                  size_t begin, size_t end, size_t *done)
{
    /* Unlike freeing, unmapping does not wait for queued work. */
    larder_result r = larder__order_sync(a, s->heap);

    larder__assert(begin < end && end <= s->bytes / s->page_bytes);
    *done = begin;
    while (r == LARDER_OK && *done < end) {
        r = larder__device_unmap(a->device, page_at(s, *done), s->page_bytes,
                                 1);
        if (r == LARDER_OK)
            page_drop(a, s, (*done)++, false);
    }
    return r;
}

/* ---- ranges --------------------------------------------------------------- */

/* The page size of the heap's next range. */
static uint64_t range_page_bytes(const struct allocator *a,
                                 const struct heap *heap)
{
    return segment_page_size(&a->conf, heap->pool->is_small);
}

/* PyTorch's length of a range, with room to move pages, or what
 * expandable_segments_reserve says, if that is less. */
static uint64_t range_bytes(const struct allocator *a)
{
    uint64_t total = a->props.total_bytes;
    uint64_t most = total + total / 8;
    double asked = a->conf.reserve *
                   (double)(a->conf.reserve_is_gib ? UINT64_C(1) << 30 : total);

    return asked > 0 && asked < (double)most ? (uint64_t)asked : most;
}

static uint64_t range_pages(const struct allocator *a, uint64_t page_bytes)
{
    return (range_bytes(a) + page_bytes - 1) / page_bytes;
}

/* The same while there are few streams.  Addresses are limited, so each further
 * stream of a pool gets a smaller share (PyTorch fails after some hundred
 * streams), and a stream that outgrows its range gets another. */
static uint64_t range_pages_for(const struct allocator *a,
                                const struct heap *heap, uint64_t page_bytes)
{
    uint64_t pages = range_pages(a, page_bytes);
    uint64_t streams = heap->pool->heap_count;

    return streams <= FULL_RANGES ? pages : pages * FULL_RANGES / 2 / streams;
}

/* Reserve a new range with room for `size` bytes, as one unmapped block.  Halve
 * its length while the device has too few addresses, down to that. */
static larder_result range_create(struct allocator *a, struct heap *heap,
                                  uint64_t size, struct block **out)
{
    uint64_t page_bytes = range_page_bytes(a, heap);
    uint64_t pages = range_pages_for(a, heap, page_bytes);
    uint64_t min = (size + page_bytes - 1) / page_bytes;
    larder_result r;

    if (pages < min)
        pages = min;
    for (;;) {
        r = larder__segment_reserve(a, heap, SEGMENT_EXPANDABLE, page_bytes,
                                    pages * page_bytes, out);
        if (r == LARDER_OK || r == LARDER_ERR_NO_HOST_MEMORY || pages == min)
            break;
        pages = pages / 2 > min ? pages / 2 : min;
    }
    if (r == LARDER_OK)
        heap_insert_unmapped(*out);
    return r;
}

/* Destroy a range without pages.  If the device fails to free the addresses
 * they stay, and will be used again. */
static larder_result range_destroy(struct allocator *a, struct segment *s)
{
    larder_result r = larder__device_address_free(a->device, s->addr, s->bytes);

    larder__assert(s->head->addr == s->addr && s->head->bytes == s->bytes);
    larder__assert(s->head->state == BLOCK_UNMAPPED && !segment_is_paused(s));
    if (r != LARDER_OK)
        return r;
    heap_remove_unmapped(s->head);
    slab_give(&a->slab, s->head);
    larder__segment_free(s);
    return LARDER_OK;
}

/* Destroy it if it has no pages left. */
static larder_result range_tidy(struct allocator *a, struct segment *s)
{
    if (s->head->next == 0 && s->head->state == BLOCK_UNMAPPED)
        return range_destroy(a, s);
    return LARDER_OK;
}

/* ---- growing -------------------------------------------------------------- */

/* Whether `size` bytes of free or unmapped addresses begin with b. */
static bool has_addresses(struct allocator *a, const struct block *b,
                          uint64_t size)
{
    uint64_t bytes = 0;

    for (; bytes < size && block_is_available(b); b = block_next(a, b))
        bytes += b->bytes;
    return bytes >= size;
}

/* Find where to grow: the lowest unmapped block, or the free block just before
 * it, that is followed by enough addresses; otherwise a new range. */
static larder_result find_addresses(struct allocator *a, struct heap *heap,
                                    uint64_t size, struct block **out)
{
    struct block *b = tree_at_or_above(heap->unmapped, 0);

    while (b != NULL) {
        struct block *before = block_prev(a, b);

        *out = block_is_available(before) ? before : b;
        if (has_addresses(a, *out, size))
            return LARDER_OK;
        b = tree_at_or_above(heap->unmapped, b->addr + 1);
    }
    return range_create(a, heap, size, out);
}

/* Ensure the host memory that mapping the first `bytes` of b needs. */
static bool map_block_ensure(struct allocator *a, const struct block *b,
                             uint64_t bytes)
{
    return larder__slab_ensure(&a->slab, 1 + SLAB_SPARE) &&
           larder__map_prepare(&a->map, &a->slab, b->addr, bytes,
                               b->segment->heap->pool->is_small, 0);
}

/* Map the first `size` bytes, rounded up to pages, of the unmapped block *b.
 * It becomes free, merged with its neighbours, and is in its heap. */
static larder_result map_block(struct allocator *a, struct block **b,
                               uint64_t size)
{
    struct segment *s = (*b)->segment;
    struct page_span span =
        span_touched((*b)->addr - s->addr, size, s->page_bytes);
    uint64_t bytes = span_bytes(s, span);
    struct merged merged = {0};
    larder_result r;

    larder__assert((*b)->state == BLOCK_UNMAPPED && bytes <= (*b)->bytes);
    larder__assert(((*b)->addr - s->addr) % s->page_bytes == 0);
    if (!map_block_ensure(a, *b, bytes))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if ((r = pages_add(a, s, span.begin, span.end)) != LARDER_OK)
        return r;
    heap_remove_unmapped(*b);
    if (bytes < (*b)->bytes)
        heap_insert_unmapped(larder__block_split(a, *b, bytes));
    (*b)->state = BLOCK_FREE;
    *b = larder__block_merge(a, *b, &merged);
    heap_insert(*b);
    pages_count(a, s, span.begin, span.end);
    return LARDER_OK;
}

larder_result larder__expandable_get(struct allocator *a, struct heap *heap,
                                     uint64_t size, struct block **out)
{
    uint64_t page_bytes = range_page_bytes(a, heap);
    struct block *b;
    struct block *grow;
    larder_result r;

    larder__assert(allocator_is_locked(a));
    /* The size exceeds the device.  PyTorch reserves a new range each time this
     * happens, and finally runs out of addresses. */
    if (size > range_pages(a, page_bytes) * page_bytes)
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    if ((r = find_addresses(a, heap, size, &b)) != LARDER_OK)
        return r;
    if (b->state == BLOCK_UNMAPPED &&
        (r = map_block(a, &b, bits_lesser(b->bytes, size))) != LARDER_OK)
        return r;
    while (b->bytes < size) { /* the next block is unmapped */
        grow = slab_at(&a->slab, b->next);
        r = map_block(a, &grow, bits_lesser(grow->bytes, size - b->bytes));
        if (r != LARDER_OK)
            return r;
        b = grow;
    }
    larder__assert(b->state == BLOCK_FREE && b->segment->heap == heap);
    heap_remove(b);
    *out = b;
    return LARDER_OK;
}

/* ---- shrinking ------------------------------------------------------------ */

/* Make [first, first + bytes) of the free block b unmapped; what is left on
 * either side stays free.  Returns the unmapped block.  Two headers are
 * ensured. */
static struct block *unmap_middle(struct allocator *a, struct block *b,
                                  larder_addr first, uint64_t bytes)
{
    struct merged merged = {0};

    larder__assert(first >= b->addr && first + bytes <= b->addr + b->bytes);
    larder__assert((first - b->segment->addr) % b->segment->page_bytes == 0);
    heap_remove(b);
    if (first > b->addr) {
        struct block *before = b;

        b = larder__block_cut(a, before, first - before->addr);
        heap_insert(before);
    }
    if (bytes < b->bytes)
        heap_insert(larder__block_split(a, b, bytes));
    b->state = BLOCK_UNMAPPED;
    b = larder__block_merge(a, b, &merged);
    heap_insert_unmapped(b);
    return b;
}

larder_result larder__expandable_release(struct allocator *a, struct block *b)
{
    struct segment *s = b->segment;
    size_t begin = block_whole_pages(b).begin;
    size_t end = block_whole_pages(b).end;
    size_t done;
    larder_result r;

    larder__assert(s->kind == SEGMENT_EXPANDABLE && !segment_is_paused(s));
    larder__assert(b->state == BLOCK_FREE);
    if (begin >= end)
        return LARDER_OK;
    if (!larder__slab_ensure(&a->slab, 2 + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = pages_remove(a, s, begin, end, &done);
    if (done == begin)
        return r;
    (void)unmap_middle(a, b, page_at(s, begin), (done - begin) * s->page_bytes);
    held_sub(a, s->heap->pool, (done - begin) * s->page_bytes);
    history_range(a, LARDER_ACTION_segment_unmap, s, page_at(s, begin),
                  (done - begin) * s->page_bytes);
    fail_keep_first(&r, range_tidy(a, s));
    return r;
}

/* A step moves on in the order of addresses, whatever is destroyed. */
larder_result larder__expandable_tidy(struct allocator *a, struct heap *heap)
{
    struct block *b = tree_at_or_above(heap->unmapped, 0);
    larder_result r = LARDER_OK;

    larder__assert(allocator_is_locked(a));
    if (b != NULL && a->orphans.count > 0) /* one may still be mapped there */
        (void)larder__orphans_release(a);
    while (b != NULL) {
        larder_addr next = b->addr + 1;

        larder__assert(b->segment->kind == SEGMENT_EXPANDABLE);
        fail_keep_first(&r, range_tidy(a, b->segment));
        b = tree_at_or_above(heap->unmapped, next);
    }
    return r;
}

/* Whether a captured graph may use page i. */
static bool is_of_graph(const struct segment *s, size_t i)
{
    return page_at(s, i) < s->graph_end &&
           page_at(s, i) + s->page_bytes > s->graph_begin;
}

/* The longest run of whole pages within b that no graph uses, at most `max`
 * pages. */
static void lendable_run(const struct block *b, size_t max, size_t *begin,
                         size_t *end)
{
    const struct segment *s = b->segment;
    size_t last = block_whole_pages(b).end;
    size_t i = block_whole_pages(b).begin;

    *begin = *end = i;
    while (i < last) {
        size_t from = i;

        while (i < last && i - from < max && !is_of_graph(s, i))
            i++;
        if (i - from > *end - *begin) {
            *begin = from;
            *end = i;
        }
        i++; /* a graph's page, or the end of a run no longer than the best */
    }
}

larder_result larder__expandable_take(struct allocator *a, struct block *b,
                                      size_t max, larder__page_fn *taken,
                                      size_t *count)
{
    struct segment *s = b->segment;
    size_t begin;
    size_t end;
    larder_result r;

    *count = 0;
    lendable_run(b, max, &begin, &end);
    if (begin == end)
        return LARDER_OK;
    if (!larder__slab_ensure(&a->slab, 2 + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__device_unmap(a->device, page_at(s, begin),
                             (end - begin) * s->page_bytes, end - begin);
    if (r != LARDER_OK)
        return r;
    for (size_t i = begin; i < end; i++) {
        taken(a, s, s->pages[i]);
        s->pages[i] = 0;
    }
    *count = end - begin;
    (void)unmap_middle(a, b, page_at(s, begin), *count * s->page_bytes);
    history_range(a, LARDER_ACTION_segment_unmap, s, page_at(s, begin),
                  *count * s->page_bytes);
    (void)range_tidy(a, s);
    return LARDER_OK;
}

/* ---- pauses --------------------------------------------------------------- */

void larder__expandable_drop(struct allocator *a, struct segment *s,
                             struct page_span span)
{
    struct page_span run = {.end = span.begin};

    while (page_next_held(s, span.end, &run)) {
        uint64_t bytes = span_bytes(s, run);

        for (size_t i = run.begin; i < run.end; i++)
            page_drop(a, s, i, false);
        held_sub(a, s->heap->pool, bytes);
        history_range(a, LARDER_ACTION_segment_unmap, s, page_at(s, run.begin),
                      bytes);
    }
}

static larder_result fill_run(struct allocator *a, struct segment *s,
                              struct page_span run)
{
    uint64_t bytes = span_bytes(s, run);
    larder_result r;

    if (!held_allows_owner(a, holding_of(a, s->heap->pool), bytes))
        return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                            "%llu bytes more would exceed the limit, or take "
                            "what is kept for other owners",
                            (unsigned long long)bytes);
    r = pages_add(a, s, run.begin, run.end);
    if (r == LARDER_OK)
        pages_count(a, s, run.begin, run.end);
    return r;
}

larder_result larder__expandable_fill(struct allocator *a, struct segment *s,
                                      struct page_span span)
{
    struct page_span run = {.end = span.begin};
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && page_next_missing(s, span.end, &run))
        r = fill_run(a, s, run);
    return r;
}

bool larder__expandable_has_pages(const struct block *b)
{
    struct page_span run = block_whole_pages(b);

    larder__assert(b->segment->kind == SEGMENT_EXPANDABLE);
    return page_next_held(b->segment, run.end,
                          &(struct page_span){.end = run.begin});
}

void larder__expandable_forget(struct allocator *a, struct segment *s)
{
    for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        struct page_span span = block_whole_pages(b);

        if (b->state == BLOCK_FREE && span.begin < span.end &&
            s->pages[span.begin] == 0)
            b = unmap_middle(a, b, page_at(s, span.begin), span_bytes(s, span));
    }
    (void)range_tidy(a, s);
}
