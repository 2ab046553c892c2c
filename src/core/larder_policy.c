/* larder_policy.c - Larder's own policy: addresses are plentiful, pages go
 * where they are needed (docs/POLICY.md).
 *
 * On devices without virtual memory there are segments (larder_segments.h).
 * In private pools, whose memory a captured graph relies on, they are had and
 * kept as PyTorch's policy does. */
#include "base/fail.h"
#include "core/blocks.h"
#include "core/cached.h"
#include "core/events.h"
#include "core/fast.h"
#include "core/ladder.h"
#include "core/larder_segments.h"
#include "core/local.h"
#include "core/pages.h"
#include "core/policy.h"
#include "core/pool.h"
#include "core/private.h"
#include "core/quick.h"
#include "core/range.h"
#include "core/segment.h"
#include "core/spare.h"
#include "core/supply.h"
#include "core/trim_age.h"

enum {
    SMALL_MAX = 128 << 10,   /* small ones have ranges of their own (grain.h) */
    HEADERS = 2 + SLAB_SPARE /* a request cuts at either end */
};

/* ---- taking --------------------------------------------------------------- */

static void put_back(struct allocator *a, struct request *q)
{
    struct merged merged = {0};

    q->block->state = BLOCK_FREE;
    heap_insert(larder__block_merge(a, q->block, &merged));
    q->block = NULL;
}

/* The best place, with what pages it lacks. */
static larder_result take_supplied(struct allocator *a, struct request *q)
{
    struct place_rules rules = larder__supply_place(a);
    struct page_span span;
    struct place place;
    larder_result r;

    if (a->is_tight && q->is_long)
        rules.apart = &a->slab;
    if (!larder__place_find(q->heap, q->size, rules, &place)) {
        r = larder__range_create(a, q->heap, q->size);
        if (r != LARDER_OK)
            return r;
        (void)larder__place_find(q->heap, q->size, rules, &place);
    }
    if (!larder__slab_ensure(&a->slab, HEADERS))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    q->block = larder__local_cut(a, &place, q->size);
    if (q->block->segment->kind != SEGMENT_PAGED)
        return LARDER_OK;
    span = pages_touched(q->block->segment, q->block->addr, q->size);
    if (larder__pages_missing(q->block->segment, span) == 0)
        return LARDER_OK;
    r = larder__supply(a, q, span);
    if (r != LARDER_OK)
        put_back(a, q);
    return r;
}

/* ---- the ladder ----------------------------------------------------------- */

/* What defrag:off leaves: give back and ask again, after each wait. */
static larder_result climb_without_moves(struct allocator *a, struct request *q)
{
    larder_result r;

    do {
        (void)larder__release_idle(a);
        a->stats.num_alloc_retries++;
        r = take_supplied(a, q);
    } while (r == LARDER_ERR_OUT_OF_MEMORY && larder__ladder_wait_one(a, q));
    return r;
}

/* From memory that is reserved: a segment of it goes to the heap. */
static bool take_carved(struct allocator *a, struct request *q)
{
    struct block *b;

    if (larder__segment_carve(a, q->heap, q->segment_bytes, &b) != LARDER_OK)
        return false;
    heap_insert(b);
    if (larder__slab_ensure(&a->slab, HEADERS))
        q->block = larder__local_take(a, q->heap, q->size);
    return q->block != NULL;
}

static larder_result climb(struct allocator *a, struct request *q)
{
    larder_result r = take_carved(a, q) ? LARDER_OK : take_supplied(a, q);

    if (r != LARDER_ERR_OUT_OF_MEMORY || allocator_is_routing(a))
        return r;
    if (q->over_limit && a->conf.throw_on_oom) {
        a->stats.num_oom_rejections++;
        return r;
    }
    if (a->conf.defrag == CONF_DEFRAG_OFF)
        return climb_without_moves(a, q);
    /* One event after the other, until it is enough. */
    while (r == LARDER_ERR_OUT_OF_MEMORY && larder__ladder_wait_one(a, q))
        r = take_supplied(a, q);
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    a->stats.num_alloc_retries++;
    (void)larder__private_release_unused(a);
    return take_supplied(a, q);
}

/* A kept block, not across the border that max_split_size_mb draws, and exact
 * for what will stay. */
static struct block *take_kept(struct allocator *a, const struct request *q)
{
    uint64_t border = a->conf.max_split_bytes;
    uint64_t most = larder__spare_most(a, &a->fronts.tally, q->size);

    if (q->hint == LARDER_HINT_LONG)
        most = q->size;
    if (q->size < border && most >= border)
        most = border - 1;
    return larder__quick_take_near(q->heap->quick, q->size, most);
}

/* From what recorded streams no longer use. */
static bool take_completed(struct allocator *a, struct request *q)
{
    if (a->events.waiting == 0 || allocator_is_routing(a))
        return false;
    larder__events_poll(a);
    q->block = take_kept(a, q);
    if (q->block == NULL)
        q->block = larder__local_take(a, q->heap, q->size);
    return q->block != NULL;
}

static bool is_hopeless(struct allocator *a, const struct request *q)
{
    return larder__ladder_is_hopeless(a, q) &&
           !(larder__spare_take_back(a) && !larder__ladder_is_hopeless(a, q));
}

static larder_result find_slowly(struct allocator *a, struct request *q)
{
    if (!larder__slab_ensure(&a->slab, HEADERS))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!a->is_tight) {
        q->block = larder__local_take(a, q->heap, q->size);
        if (q->block != NULL || take_completed(a, q))
            return LARDER_OK;
        q->block = larder__local_take_merging(a, q->heap, q->size);
        if (q->block != NULL)
            return LARDER_OK;
    }
    if (a->reclaims.count > 0 && !q->reclaimed)
        return larder__find_reclaimed(a, q);
    if (!allocator_is_routing(a) && is_hopeless(a, q))
        return larder__ladder_refuse(a, q);
    return climb(a, q);
}

/* ---- the policy ----------------------------------------------------------- */

/* Whether what is asked for will stay. */
static bool is_long(const struct allocator *a, const struct request *q)
{
    if (a->conf.lifetimes == CONF_LIFETIMES_OFF)
        return false;
    if (q->hint != LARDER_HINT_NONE ||
        a->conf.lifetimes != CONF_LIFETIMES_LEARN)
        return q->hint == LARDER_HINT_LONG;
    return a->is_tight && lifetimes_is_long(&q->heap->lifetimes, q->size);
}

/* The block found remembers what it was taken for. */
static void mark(struct allocator *a, struct request *q)
{
    if (q->block->segment->kind != SEGMENT_PAGED)
        return;
    lifetimes_forget(q->block);
    quick_note(q->block);
    q->block->is_long = q->is_long;
    if (a->is_tight && a->conf.lifetimes == CONF_LIFETIMES_LEARN)
        larder__lifetimes_make(&q->heap->lifetimes, q->block);
}

static larder_result find_paged(struct allocator *a, struct request *q)
{
    bool was_reclaimed = q->reclaimed;
    larder_result r = LARDER_OK;

    if (a->is_tight)
        larder__supply_relax(a);
    q->is_long = is_long(a, q);
    q->block = take_kept(a, q);
    if (q->block == NULL)
        r = find_slowly(a, q);
    /* Reclaiming makes this function be called again: it marked then. */
    if (r == LARDER_OK && q->reclaimed == was_reclaimed)
        mark(a, q);
    return r;
}

static larder_result larder_find(struct allocator *a, struct request *q)
{
    if (q->heap->pool->owner != NULL)
        return larder__segment_ladder_find(a, q);
    if (!a->is_paged)
        return larder__segments_find(a, q);
    return find_paged(a, q);
}

static bool larder_should_split(const struct allocator *a,
                                const struct request *q)
{
    if (q->heap->pool->owner != NULL)
        return larder__policy_pytorch.should_split(a, q);
    /* Paged ones were cut when they were found, as far as they are. */
    return q->block->segment->kind != SEGMENT_PAGED &&
           q->block->bytes > q->size;
}

static bool larder_keep(struct allocator *a, struct block *b)
{
    if (b->segment->kind != SEGMENT_PAGED || a->is_tight ||
        !quick_keep(b->segment->heap->quick, b))
        return false;
    map_put(&a->map, b);
    return true;
}

const struct policy larder__policy_larder = {
    .find = larder_find,
    .should_split = larder_should_split,
    .keep = larder_keep,
    .explain_fully = true,
    .unit_bytes = FAST_UNIT,
    .small_max_bytes = SMALL_MAX,
};
