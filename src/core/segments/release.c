/* release.c - the path from a free by the caller to a release to the device. */
#include "core/segments/release.h"

#include "base/fail.h"
#include "core/history/recording.h"
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/segment.h"
#include "core/state/paged.h"
#include "core/state/held.h"

void larder__block_retire(struct allocator *a, struct block *b)
{
    struct stats *st = &a->stats;
    unsigned pool = b->segment->heap->pool->stats;

    larder__assert(allocator_is_locked(a));
    larder__assert(b->state == BLOCK_LIVE);
    larder__assert(map_find(&a->map, &a->slab, b->addr) == NULL);
    history_range(a, LARDER_ACTION_free_requested, b->segment, b->addr,
                  b->requested);
    metric_sub(&st->allocation, pool, 1);
    metric_sub(&st->allocated_bytes, pool, b->bytes);
    usage_free(b);
    if (b->bytes >= a->conf.max_split_bytes)
        metric_sub(&st->oversize_allocations, STATS_LARGE, 1);
    if (b->uses != NULL)
        larder__events_defer(a, b);
    else
        larder__block_free(a, b);
}

/* Release the unused segments of a heap, except expandable ones. */
static larder_result release_segments(struct allocator *a, struct heap *heap)
{
    struct block *b = larder__bins_fit(heap->bins, 0);
    larder_result r = LARDER_OK;

    while (b != NULL) {
        struct block *next = bins_next(heap->bins, b);

        if (!segment_is_expandable(b->segment) && !block_is_split(b))
            fail_keep_first(&r, larder__segment_release(a, b));
        b = next;
    }
    return r;
}

/* Unmapping cuts blocks, but what is left of one is smaller than it, so walking
 * up the sizes visits each block once. */
static larder_result release_pages(struct allocator *a, struct heap *heap)
{
    struct block *b = larder__bins_fit(heap->bins, 0);
    larder_result r = LARDER_OK;

    while (b != NULL) {
        struct tree_key key = bins_key(heap->bins, b);

        if (b->segment->kind == SEGMENT_EXPANDABLE)
            fail_keep_first(&r, larder__expandable_release(a, b));
        b = bins_after(heap->bins, key);
    }
    return r;
}

larder_result larder__release_pool(struct allocator *a, struct pool *pool)
{
    larder_result r = LARDER_OK;

    larder__assert(allocator_is_locked(a));
    for (uint32_t i = 0; i < pool->stocked_count; i++)
        fail_keep_first(&r, larder__paged_release_heap(a, pool->stocked[i]));
    for (uint32_t i = 0; i < pool->stocked_count; i++)
        fail_keep_first(&r, release_segments(a, pool->stocked[i]));
    for (uint32_t i = 0; i < pool->stocked_count; i++)
        fail_keep_first(&r, release_pages(a, pool->stocked[i]));
    if (r == LARDER_OK) /* on an error the device is asked again later */
        larder__stocked_empty(pool);
    return r;
}

/* Whether b is a whole segment at least as large as max_split_size_mb, which is
 * never split.  PyTorch 2.4 takes every block of that size for one; this is
 * wrong if the setting has changed. */
static bool is_oversize_segment(const struct allocator *a,
                                const struct block *b)
{
    return b->bytes >= a->conf.max_split_bytes && !block_is_split(b) &&
           !segment_is_expandable(b->segment);
}

/* The smallest block of at least `bytes` that is either one of these or in
 * pages. */
static struct block *large_enough(const struct allocator *a, struct bins *bins,
                                  uint64_t bytes)
{
    struct block *b = larder__bins_fit(bins, bytes);

    while (b != NULL && !segment_is_expandable(b->segment) &&
           !is_oversize_segment(a, b))
        b = bins_next(bins, b);
    return b;
}

/* Release segments down from b until they have `bytes` in all. */
static bool release_several(struct allocator *a, struct bins *bins,
                            struct block *b, uint64_t bytes)
{
    uint64_t released = 0;

    while (released < bytes && b != NULL &&
           b->bytes >= a->conf.max_split_bytes) {
        struct block *before = larder__bins_before(bins, bins_key(bins, b));
        uint64_t size = b->bytes;

        if (is_oversize_segment(a, b) &&
            larder__segment_release(a, b) == LARDER_OK)
            released += size;
        b = before;
    }
    return released >= bytes;
}

/* As PyTorch does: where a block in pages is the smallest that is large enough,
 * none is, and what is larger than it stays. */
bool larder__release_available(struct allocator *a, const struct request *q)
{
    struct bins *bins = q->heap->bins;
    uint64_t oversize = a->conf.max_split_bytes;
    uint64_t wanted = q->size < oversize ? oversize : q->size;
    struct block *b;

    if (oversize == CONF_UNLIMITED)
        return false;
    b = large_enough(a, bins, wanted);
    larder__assert(b == NULL || b->bytes >= wanted);
    if (b != NULL && !segment_is_expandable(b->segment))
        return larder__segment_release(a, b) == LARDER_OK;
    b = b == NULL ? bins_largest(bins)
                  : larder__bins_before(bins, bins_key(bins, b));
    return release_several(a, bins, b, wanted);
}
