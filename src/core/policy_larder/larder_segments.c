/* larder_segments.c - a request's way to a block in segments.
 *
 * Best fit among the free blocks of segments that are in use, so that others
 * stay empty; an empty segment; a new one.  When there is no room for that,
 * the ladder: give back just enough, take from another pool, wait, take from
 * another stream. */
#include "core/policy_larder/larder_segments.h"
#include "core/policy_larder/larder.h"

#include "base/bits.h"
#include "base/fail.h"
#include "core/blocks.h"
#include "core/events.h"
#include "core/held.h"
#include "core/ladder.h"
#include "core/policy.h"
#include "core/pool.h"
#include "core/private.h"
#include "core/release.h"
#include "core/segment.h"

enum {
    PLENTIFUL_PERCENT = 8,      /* of the room held: until then, */
    PLENTIFUL_BYTES = 16 << 20, /* a segment for several requests */
    /* Larger ones go to the high end of a block, so that large and small
     * ones, which live for different times, meet less often. */
    HIGH_BYTES = 20 << 20,
    /* Where few large blocks are in use, a segment is for requests of an
     * eighth of it and more: a small one would keep it from going back. */
    SHARE = 8,
    SHARED_BYTES = 20 << 20, /* segments for all */
    /* Of the room: a free block that large in a segment in use is left for
     * what has no other place, while an empty segment will do. */
    HOLE_PERCENT = 10
};

/* ---- searching ------------------------------------------------------------ */

/* The smallest blocks that fit; NULL: none. */
struct found {
    struct block *in_use; /* in a segment that is in use */
    struct block *empty;  /* a whole segment */
};

static bool is_meant_for(const struct allocator *a, const struct block *b,
                         uint64_t size)
{
    uint64_t bytes = b->segment->bytes;

    return !a->larder->has_few_large || bytes <= SHARED_BYTES || bytes / SHARE <= size;
}

/* Walks past empty segments to a block in use: there are few, as long as they
 * are given back when it is tight. */
static struct found search(const struct allocator *a, const struct heap *heap,
                           uint64_t size, bool meant_only)
{
    struct found f = {0};
    struct block *b = bins_fit(heap->bins, size);

    while (b != NULL) {
        if (!meant_only || is_meant_for(a, b, size)) {
            if (block_is_split(b)) {
                f.in_use = b;
                break;
            }
            if (f.empty == NULL)
                f.empty = b;
        }
        b = bins_next(heap->bins, b);
    }
    return f;
}

/* ---- taking --------------------------------------------------------------- */

/* To be taken off again at once: neither the peak nor the sums change. */
static void metric_lend(struct metric *m, unsigned pool, uint64_t amount)
{
    m->current[pool] += (int64_t)amount;
    m->freed[pool] -= (int64_t)amount;
}

/* Cut the high end of b, which is in no index, off for the request.  Counted
 * as if the rest had been cut off: larder__block_allocate() takes the piece
 * for a part of a split segment. */
static struct block *cut_high(struct allocator *a, struct block *b,
                              uint64_t size)
{
    struct stats *st = &a->stats;
    unsigned pool = b->segment->heap->pool->stats;
    uint64_t rest = b->bytes - size;
    struct block *high;

    if (!block_is_split(b)) {
        metric_add(&st->inactive_split, pool, 1);
        metric_add(&st->inactive_split_bytes, pool, rest);
        metric_lend(&st->inactive_split_bytes, pool, size);
    }
    metric_lend(&st->inactive_split, pool, 1);
    high = larder__block_split(a, b, rest);
    heap_insert(b);
    return high;
}

static larder_result take(struct allocator *a, struct request *q,
                          struct block *b)
{
    heap_remove(b);
    q->block = q->size >= HIGH_BYTES && b->bytes > q->size
                   ? cut_high(a, b, q->size)
                   : b;
    return LARDER_OK;
}

static larder_result out_of_memory(void)
{
    return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

/* Where empty segments are joined, those that came to be empty since are small:
 * a large request has more of the hole than of them. */
static bool should_spare(const struct allocator *a, const struct block *hole)
{
    return a->larder->is_tight && !a->larder->has_few_large &&
           hole->bytes >= larder__segments_room(a) / 100 * HOLE_PERCENT;
}

static bool fits(const struct allocator *a, uint64_t bytes)
{
    uint64_t room = larder__segments_room(a);

    return bytes <= room && a->held_bytes <= room - bytes;
}

static larder_result get_segment(struct allocator *a, struct request *q,
                                 uint64_t bytes)
{
    struct block *b;
    larder_result r;

    q->over_limit = !held_allows(a, bytes);
    if (q->over_limit)
        return out_of_memory();
    r = larder__segment_get(a, q->heap, bytes, &b);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        a->larder->refused_at = a->held_bytes;
    if (r != LARDER_OK)
        return r;
    if (a->held_bytes > a->larder->refused_at) /* others have left */
        a->larder->refused_at = UINT64_MAX;
    heap_insert(b);
    return take(a, q, b);
}

/* A segment of its own, for others that are given back if there is no room. */
static larder_result exchange(struct allocator *a, struct request *q)
{
    if (!fits(a, q->segment_bytes) &&
        !larder__segments_release_for(a, q->segment_bytes))
        return out_of_memory();
    return get_segment(a, q, q->segment_bytes);
}

/* From what the heap has. */
static larder_result take_free(struct allocator *a, struct request *q)
{
    struct found f = search(a, q->heap, q->size, true);
    struct block *joined;

    if (f.in_use != NULL) {
        bool spare = f.empty != NULL && should_spare(a, f.in_use);

        return take(a, q, spare ? f.empty : f.in_use);
    }
    if (larder__segments_should_join(a, q)) {
        larder_result r = larder__segments_join(a, q, &joined);

        return r == LARDER_OK ? take(a, q, joined) : r;
    }
    if (f.empty != NULL && larder__segments_should_exchange(a, q, f.empty)) {
        larder_result r = exchange(a, q);

        if (r != LARDER_ERR_OUT_OF_MEMORY)
            return r;
        /* The device has less than it seemed: what is left, then. */
        f.empty = search(a, q->heap, q->size, true).empty;
    }
    return f.empty != NULL ? take(a, q, f.empty) : out_of_memory();
}

/* From what was kept for larger requests. */
static larder_result take_any(struct allocator *a, struct request *q,
                              bool in_use)
{
    struct found f = search(a, q->heap, q->size, false);
    struct block *b = in_use ? f.in_use : f.empty;

    return b != NULL ? take(a, q, b) : out_of_memory();
}

/* ---- growing -------------------------------------------------------------- */

/* While there is plenty, room for several requests at once. */
static uint64_t wanted_bytes(const struct allocator *a, const struct request *q)
{
    uint64_t plenty = larder__segments_room(a) / 100 * PLENTIFUL_PERCENT;

    if (q->heap->pool->is_small || q->size >= LARGE_MIN_BYTES ||
        a->held_bytes >= plenty)
        return q->segment_bytes;
    return PLENTIFUL_BYTES;
}

static larder_result grow(struct allocator *a, struct request *q)
{
    uint64_t wanted = wanted_bytes(a, q);
    struct block *b;
    larder_result r = larder__segment_carve(a, q->heap, q->segment_bytes, &b);

    if (r == LARDER_OK) {
        heap_insert(b);
        return take(a, q, b);
    }
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    q->over_limit = !held_allows(a, q->segment_bytes);
    if (fits(a, wanted)) {
        r = get_segment(a, q, wanted);
        if (r != LARDER_ERR_OUT_OF_MEMORY)
            return r;
    }
    return fits(a, q->segment_bytes) ? get_segment(a, q, q->segment_bytes)
                                     : out_of_memory();
}

/* ---- the ladder ----------------------------------------------------------- */

/* A block of this heap may be smaller than the map expects there. */
static larder_result take_from(struct allocator *a, struct request *q,
                               struct heap *heap)
{
    struct found f = search(a, heap, q->size, false);
    struct block *b = f.in_use != NULL ? f.in_use : f.empty;

    if (b == NULL)
        return out_of_memory();
    if (q->heap->pool->is_small &&
        !larder__map_prepare(&a->map, &a->slab, b->addr, q->size, true, 0))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    q->heap = heap;
    return take(a, q, b);
}

/* A small request, from the large pool's heap of its stream. */
static larder_result take_from_large(struct allocator *a, struct request *q)
{
    struct heap *heap;
    larder_result r;

    if (!q->heap->pool->is_small)
        return out_of_memory();
    r = larder__pool_heap(a, &a->pools[POOL_LARGE], q->stream, &heap);
    return r == LARDER_OK ? take_from(a, q, heap) : r;
}

/* What there is without waiting. */
static larder_result take_somehow(struct allocator *a, struct request *q)
{
    larder_result r = take_free(a, q);

    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = grow(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = take_any(a, q, true);
    if (r == LARDER_ERR_OUT_OF_MEMORY && !allocator_is_capturing(a) &&
        larder__segments_release_for(a, q->segment_bytes))
        r = grow(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = take_any(a, q, false);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = take_from_large(a, q);
    return r;
}

/* From the heap of another stream, which is waited for.  The request's stream
 * is recorded for the block: its owner has it back after that. */
static larder_result borrow_from(struct allocator *a, struct request *q,
                                 struct heap *heap)
{
    struct block key = {.uses = NULL};
    struct found f = search(a, heap, q->size, false);
    larder_result r;

    if (f.in_use == NULL && f.empty == NULL)
        return out_of_memory();
    if ((r = larder__events_pass(a, heap->stream)) != LARDER_OK ||
        (r = larder__events_use(a, &key, q->stream)) != LARDER_OK)
        return r;
    q->uses = key.uses;
    return take_from(a, q, heap);
}

static larder_result borrow(struct allocator *a, struct request *q)
{
    const struct pool *large = &a->pools[POOL_LARGE];
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    for (uint32_t i = 0; i < large->heap_count && r == LARDER_ERR_OUT_OF_MEMORY;
         i++) {
        if (large->heaps[i]->stream != q->stream)
            r = borrow_from(a, q, large->heaps[i]);
    }
    return r == LARDER_ERR_OUT_OF_MEMORY ? out_of_memory() : r;
}

/* Whatever the device said before: others may have given memory back. */
static larder_result ask_again(struct allocator *a, struct request *q)
{
    a->stats.num_alloc_retries++;
    (void)larder__private_release_unused(a);
    a->larder->refused_at = UINT64_MAX;
    (void)larder__segments_release_for(a, q->segment_bytes);
    return get_segment(a, q, q->segment_bytes);
}

static larder_result climb(struct allocator *a, struct request *q)
{
    larder_result r = take_somehow(a, q);

    if (r != LARDER_ERR_OUT_OF_MEMORY || allocator_is_capturing(a))
        return r;
    if (q->over_limit && a->conf.throw_on_oom) {
        a->stats.num_oom_rejections++;
        return r;
    }
    /* One event after the other, until it is enough. */
    while (r == LARDER_ERR_OUT_OF_MEMORY && larder__ladder_wait_one(a, q))
        r = take_somehow(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY && !q->out_of_time)
        r = borrow(a, q);
    return r == LARDER_ERR_OUT_OF_MEMORY ? ask_again(a, q) : r;
}

/* ---- the request ---------------------------------------------------------- */

static bool gc_is_on(const struct allocator *a)
{
    return a->fraction_is_set && a->conf.gc_threshold > 0;
}

larder_result larder__segments_find(struct allocator *a, struct request *q)
{
    larder_result r;

    q->segment_bytes = bits_up(q->size, ROUND_SEGMENT_BYTES);
    larder__segments_weigh(a, q);
    if (gc_is_on(a))
        q->heap->pool->searches++;
    r = take_free(a, q);
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    if (a->reclaims.count > 0 && !q->reclaimed)
        return larder__find_reclaimed(a, q);
    if (gc_is_on(a) && !allocator_is_capturing(a))
        larder__collect_garbage(a);
    if (!allocator_is_capturing(a) && larder__ladder_is_hopeless(a, q))
        return larder__ladder_refuse(a, q);
    return climb(a, q);
}
