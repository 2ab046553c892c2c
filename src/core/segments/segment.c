/* segment.c - memory from the device: segments, reserved pieces, expandable
 * ranges. */
#include "core/segments/segment.h"

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/peers/draw.h"
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/order.h"
#include "core/state/held.h"

static void segment_link(struct allocator *a, struct segment *s)
{
    struct private_pool *owner = s->heap->pool->owner;

    larder__assert(s->head != NULL && s->head->segment == s);
    s->link = &a->segments;
    s->next = a->segments;
    if (s->next != NULL)
        s->next->link = &s->next;
    a->segments = s;
    if (owner == NULL)
        return;
    s->pool_link = &owner->segments;
    s->pool_next = owner->segments;
    if (s->pool_next != NULL)
        s->pool_next->pool_link = &s->pool_next;
    owner->segments = s;
}

static void segment_unlink(const struct segment *s)
{
    larder__assert(*s->link == s);
    larder__assert(s->next == NULL || s->next->link == &s->next);
    *s->link = s->next;
    if (s->next != NULL)
        s->next->link = s->link;
    if (s->heap->pool->owner == NULL)
        return;
    larder__assert(*s->pool_link == s);
    *s->pool_link = s->pool_next;
    if (s->pool_next != NULL)
        s->pool_next->pool_link = s->pool_link;
}

void larder__segment_free(struct segment *s)
{
    segment_unlink(s);
    larder__host_free(s->pages);
    larder__host_free(s->stamps);
    larder__host_free(s->extents);
    larder__host_free(s);
}

static struct block *segment_fill(struct allocator *a, struct segment *s)
{
    struct block *b = larder__slab_take(&a->slab);

    larder__assert(s->addr != 0 && s->bytes > 0);
    larder__assert(s->heap->pool->owner != NULL ||
                   s->heap->pool == &a->pools[s->heap->pool - a->pools]);
    b->addr = s->addr;
    b->bytes = s->bytes;
    b->segment = s;
    b->state = BLOCK_FREE;
    s->head = b;
    if (a->slab.has_serials)
        slab_set_serial(b, ++a->slab.last_serial);
    segment_link(a, s);
    return b;
}

/* Acquire a driver allocation: sets s->addr and makes room for it in the
 * map. */
static larder_result segment_take_driver(struct allocator *a, struct segment *s)
{
    struct pool *pool = s->heap->pool;
    larder_result r;

    if (!larder__orphans_make_room(a, 0))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__draw_memory(a, s->bytes, &s->addr);
    if (r != LARDER_OK)
        return r;
    if (!larder__map_prepare(&a->map, &a->slab, s->addr, s->bytes,
                             pool->is_small, 0)) {
        larder__orphan_try_release(
            a, (struct orphan){.memory = s->addr, .bytes = s->bytes});
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    s->kind = SEGMENT_DRIVER;
    held_add(a, pool, s->bytes);
    metric_add(&a->stats.segment, pool->stats, 1);
    if (s->bytes >= a->conf.max_split_bytes)
        metric_add(&a->stats.oversize_segments, STATS_LARGE, 1);
    return LARDER_OK;
}

/* Carve the segment from a piece: sets s->addr and makes room for it in the
 * map. */
static larder_result segment_take_piece(struct allocator *a, struct segment *s)
{
    s->kind = SEGMENT_CARVED;
    return larder__piece_carve(a, s);
}

/* Reserve addresses: sets s->addr and the tables of pages. */
static larder_result segment_take_addresses(struct allocator *a,
                                            struct segment *s)
{
    size_t pages = s->bytes / s->page_bytes;
    bool is_paged = s->kind == SEGMENT_PAGED;
    larder_result r;

    s->pages = larder__host_alloc(pages, sizeof *s->pages);
    if (is_paged)
        s->extents = larder__host_alloc(pages, sizeof *s->extents);
    if (s->pages != NULL && (s->extents != NULL || !is_paged))
        r = larder__device_address_reserve(a->device, s->bytes, &s->addr);
    else
        r = larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (r != LARDER_OK) {
        larder__host_free(s->pages);
        larder__host_free(s->extents);
    }
    return r;
}

typedef larder_result segment_taker(struct allocator *a, struct segment *s);

/* Make a segment like the one given; the taker fills in the rest. */
static larder_result segment_make(struct allocator *a,
                                  const struct segment *like,
                                  segment_taker *taker, struct block **out)
{
    struct segment *s;
    larder_result r;

    if (!larder__slab_ensure(&a->slab, 1 + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    s = larder__host_alloc_unset(sizeof *s);
    if (s == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    *s = *like;
    r = taker(a, s);
    if (r != LARDER_OK) {
        larder__host_free(s);
        return r;
    }
    *out = segment_fill(a, s);
    larder__assert((*out)->segment == s && !block_is_split(*out));
    larder__assert((s->pages != NULL) == (s->page_bytes != 0));
    return LARDER_OK;
}

/* The same, with memory for all of it. */
static larder_result segment_make_whole(struct allocator *a, struct heap *heap,
                                        uint64_t bytes, segment_taker *taker,
                                        struct block **out)
{
    const struct segment like = {.heap = heap, .bytes = bytes};
    larder_result r = segment_make(a, &like, taker, out);
    struct segment *s;

    if (r != LARDER_OK)
        return r;
    s = (*out)->segment;
    history_segment(a, s, s->addr, bytes, LARDER_ACTION_segment_alloc);
    return LARDER_OK;
}

larder_result larder__segment_get(struct allocator *a, struct heap *heap,
                                  uint64_t bytes, struct block **out)
{
    return segment_make_whole(a, heap, bytes, segment_take_driver, out);
}

larder_result larder__segment_carve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes, struct block **out)
{
    if (a->pieces == NULL)
        return LARDER_ERR_OUT_OF_MEMORY;
    return segment_make_whole(a, heap, bytes, segment_take_piece, out);
}

larder_result larder__segment_reserve(struct allocator *a, struct heap *heap,
                                      enum segment_kind kind,
                                      uint64_t page_bytes, uint64_t bytes,
                                      struct block **out)
{
    const struct segment like = {
        .heap = heap, .bytes = bytes, .kind = kind, .page_bytes = page_bytes};

    return segment_make(a, &like, segment_take_addresses, out);
}

static larder_result segment_give_driver(struct allocator *a, struct segment *s)
{
    struct pool *pool = s->heap->pool;
    larder_result r = larder__return_memory(a, s->addr, s->bytes);

    if (r != LARDER_OK)
        return r;
    held_sub(a, pool, s->bytes);
    history_range(a, LARDER_ACTION_segment_free, s, s->addr, s->bytes);
    metric_sub(&a->stats.segment, pool->stats, 1);
    /* As in PyTorch this uses the current setting: a change during the life of
     * an oversize segment makes the count wrong. */
    if (s->bytes >= a->conf.max_split_bytes)
        metric_sub(&a->stats.oversize_segments, STATS_LARGE, 1);
    return LARDER_OK;
}

/* Another heap may carve it next.  A driver's free would wait for the work that
 * is queued. */
static larder_result segment_give_piece(struct allocator *a, struct segment *s)
{
    larder_result r = larder__order_sync(a, s->heap);

    if (r == LARDER_OK)
        larder__piece_return(s);
    return r;
}

larder_result larder__segment_release(struct allocator *a, struct block *b)
{
    struct segment *s = b->segment;
    larder_result r;

    larder__assert(allocator_is_locked(a));
    larder__assert(!block_is_split(b) && b->state == BLOCK_FREE);
    larder__assert(s->head == b && b->addr == s->addr);
    larder__assert(s->kind == SEGMENT_DRIVER || s->kind == SEGMENT_CARVED);
    larder__assert(!segment_is_paused(s));
    r = s->kind == SEGMENT_CARVED ? segment_give_piece(a, s)
                                  : segment_give_driver(a, s);
    if (r != LARDER_OK)
        return r;
    heap_remove(b);
    slab_give(&a->slab, b);
    larder__segment_free(s);
    return LARDER_OK;
}

/* ---- sizes under the policy `pytorch` ------------------------------------ */

uint64_t larder__segment_size(const struct conf *conf, uint64_t size)
{
    if (size <= SMALL_MAX_BYTES)
        return SMALL_SEGMENT_BYTES;
    if (size < LARGE_MIN_BYTES)
        return conf->large_segment_bytes;
    return bits_up(size, ROUND_SEGMENT_BYTES);
}

uint64_t larder__pool_growth(const struct allocator *a, const struct request *q)
{
    const struct pool *pool = q->heap->pool;
    uint64_t page_bytes = segment_page_size(&a->conf, pool->is_small);

    if (!a->has_pages)
        return q->segment_bytes;
    return (q->size + page_bytes - 1) / page_bytes * page_bytes;
}
