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
#include "core/held.h"
#include "core/ladder.h"
#include "core/larder_segments.h"
#include "core/local.h"
#include "core/pages.h"
#include "core/policy.h"
#include "core/pool.h"
#include "core/private.h"
#include "core/quick.h"
#include "core/segment.h"
#include "core/trim_age.h"

enum {
    UNIT = 256,               /* the alignment that CUDA promises */
    SMALL_MAX = 128 << 10,    /* small ones have ranges of their own */
    SLACK_KNOWN_PERCENT = 40, /* for sizes asked for before */
    TIGHT_PERCENT = 34,       /* of what there is, in use: save before speed */
    ROOMY_PERCENT = 66,       /* up to here there is no need to, once */
    CALM_REQUESTS = 1 << 19,  /* so many passed and nothing grew */
    SLACK_PERCENT = 8,        /* held above the peak in use before pages move */
    HEADERS = 2 + SLAB_SPARE  /* a request cuts at either end */
};

/* ---- how much there is ---------------------------------------------------- */

/* What the limit, the device's size and its last refusal leave. */
static uint64_t budget_bytes(const struct allocator *a)
{
    uint64_t total = a->props.total_bytes - a->props.context_bytes;

    if (total > a->refused_at)
        total = a->refused_at;
    return a->allowed_bytes < total ? a->allowed_bytes : total;
}

/* Whether for long no more was in use than `used`, and much more would fit. */
static bool is_calm(const struct allocator *a, uint64_t used)
{
    return a->calm >= CALM_REQUESTS && used <= a->calm_peak &&
           a->calm_peak / ROOMY_PERCENT < budget_bytes(a) / 100;
}

/* Whether a good part of what there is was once in use, or is so with q. */
static bool use_is_tight(const struct allocator *a, const struct request *q)
{
    uint64_t used = (uint64_t)metric_all(&a->stats.active_bytes) + q->size;

    if (used < (uint64_t)a->stats.active_bytes.peak_all)
        used = (uint64_t)a->stats.active_bytes.peak_all;
    return !is_calm(a, used) && used / TIGHT_PERCENT >= budget_bytes(a) / 100;
}

/* What is in use no longer grows, and half as much again would fit: what lies where
 * need not be chosen with care any more, until it grows.  Called at each
 * request while that is done. */
static void relax_if_calm(struct allocator *a)
{
    uint64_t peak = (uint64_t)a->stats.active_bytes.peak_all;

    if (a->calm_peak != peak) {
        a->calm_peak = peak;
        a->calm = 0;
    } else if (a->calm < CALM_REQUESTS) {
        a->calm++;
    } else if (is_calm(a, peak)) {
        a->is_tight = false;
    }
}

/* From now on as few pages are touched as can be, whatever it costs to map
 * them; what was asked for until then does little harm. */
static void become_tight(struct allocator *a)
{
    if (a->is_tight)
        return;
    a->is_tight = true;
    a->calm = 0;
    (void)larder__quick_flush_all(a, 0);
}

static bool may_harvest(const struct allocator *a)
{
    return a->conf.defrag != CONF_DEFRAG_OFF && !allocator_is_routing(a);
}

/* How far above all that was ever in use may be held before pages move. */
static unsigned slack_percent(const struct allocator *a,
                              const struct request *q)
{
    if (is_calm(a, (uint64_t)a->stats.active_bytes.peak_all) ||
        quick_knows(q->heap->quick, q->size))
        return SLACK_KNOWN_PERCENT;
    return SLACK_PERCENT;
}

/* Whether moving free pages is to come before growing: what is held would
 * exceed all that was ever in use by too much. */
static bool harvest_is_first(const struct allocator *a, const struct request *q,
                             size_t pages)
{
    unsigned slack = slack_percent(a, q);
    uint64_t after = a->held_bytes + (uint64_t)pages * PAGE_BYTES;
    uint64_t used = (uint64_t)a->stats.active_bytes.peak_all;

    if (!may_harvest(a))
        return false;
    if (a->conf.defrag == CONF_DEFRAG_EAGER)
        return true;
    if (a->fraction_is_set && a->conf.gc_threshold > 0 &&
        (double)after > a->conf.gc_threshold * (double)a->allowed_bytes)
        return true;
    return after > used + used / 100 * slack;
}

/* ---- taking --------------------------------------------------------------- */

static void put_back(struct allocator *a, struct request *q)
{
    struct merged merged = {0};

    q->block->state = BLOCK_FREE;
    heap_insert(larder__block_merge(a, q->block, &merged));
    q->block = NULL;
}

/* ---- supplying ------------------------------------------------------------ */

/* Have `count` loose pages from free blocks, and from quick ones, those first
 * that hold whole pages: the smaller are worth more where they are. */
static bool harvest(struct allocator *a, size_t count)
{
    static const uint64_t least[] = {PAGE_BYTES, 0};

    for (int i = 0; i < 2 && a->loose.count < count; i++) {
        (void)larder__quick_flush_all(a, least[i]);
        (void)larder__pages_harvest(a, count - a->loose.count);
    }
    return a->loose.count >= count;
}

/* Have `count` loose pages: create or harvest what is lacking. */
static larder_result supply(struct allocator *a, struct request *q,
                            size_t count)
{
    larder_result r;

    if (a->loose.count >= count)
        return LARDER_OK;
    if (use_is_tight(a, q))
        become_tight(a);
    if (harvest_is_first(a, q, count - a->loose.count) && harvest(a, count))
        return LARDER_OK;
    r = larder__pages_create(a, count - a->loose.count);
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    q->over_limit = !held_allows(a, PAGE_BYTES);
    if (!q->over_limit)
        a->refused_at = a->held_bytes;
    return may_harvest(a) && harvest(a, count)
               ? LARDER_OK
               : larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

/* The best place, with what pages it lacks. */
static larder_result take_supplied(struct allocator *a, struct request *q)
{
    struct page_span span;
    struct place place;
    size_t missing;
    larder_result r;

    if (!larder__place_find(q->heap, q->size, false, &place)) {
        r = larder__range_create(a, q->heap, q->size);
        if (r != LARDER_OK)
            return r;
        (void)larder__place_find(q->heap, q->size, false, &place);
    }
    if (!larder__slab_ensure(&a->slab, HEADERS))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    larder__local_cut(a, q, &place);
    if (q->block->segment->kind != SEGMENT_PAGED)
        return LARDER_OK;
    span = pages_touched(q->block->segment, q->block->addr, q->size);
    missing = larder__pages_missing(q->block->segment, span);
    if (missing == 0)
        return LARDER_OK;
    r = supply(a, q, missing);
    if (r == LARDER_OK)
        r = larder__pages_map(a, q->block->segment, span);
    if (r != LARDER_OK)
        put_back(a, q);
    return r;
}

/* ---- the ladder ----------------------------------------------------------- */

/* What defrag:off leaves: give back and ask again. */
static larder_result climb_without_moves(struct allocator *a, struct request *q)
{
    (void)larder__release_cached(a);
    a->stats.num_alloc_retries++;
    return take_supplied(a, q);
}

/* From memory that is reserved: a segment of it goes to the heap. */
static bool take_carved(struct allocator *a, struct request *q)
{
    struct block *b;

    if (larder__segment_carve(a, q->heap, q->segment_bytes, &b) != LARDER_OK)
        return false;
    heap_insert(b);
    return larder__slab_ensure(&a->slab, HEADERS) && larder__local_take(a, q);
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

/* From what recorded streams no longer use. */
static bool take_completed(struct allocator *a, struct request *q)
{
    if (a->events.waiting == 0 || allocator_is_routing(a))
        return false;
    larder__events_poll(a);
    q->block = quick_take(q->heap->quick, q->size);
    return q->block != NULL || larder__local_take(a, q);
}

static larder_result find_slowly(struct allocator *a, struct request *q)
{
    if (!larder__slab_ensure(&a->slab, HEADERS))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!a->is_tight) {
        if (larder__local_take(a, q) || take_completed(a, q))
            return LARDER_OK;
        if (larder__local_take_merging(a, q))
            return LARDER_OK;
    }
    if (a->reclaims.count > 0) {
        larder_result r;

        (void)larder__run_reclaims(a);
        r = larder__request_route(a, q);
        if (r != LARDER_OK)
            return r;
        if (!larder__slab_ensure(&a->slab, HEADERS))
            return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
        if (larder__local_take(a, q))
            return LARDER_OK;
    }
    if (!allocator_is_routing(a) && larder__ladder_is_hopeless(a, q))
        return larder__ladder_refuse(a, q);
    return climb(a, q);
}

/* ---- the policy ----------------------------------------------------------- */

static larder_result larder_find(struct allocator *a, struct request *q)
{
    if (q->heap->pool->owner != NULL)
        return larder__segment_ladder_find(a, q);
    if (!a->is_paged)
        return larder__segments_find(a, q);
    if (a->is_tight)
        relax_if_calm(a);
    q->block = quick_take(q->heap->quick, q->size);
    return q->block != NULL ? LARDER_OK : find_slowly(a, q);
}

static bool larder_should_split(const struct allocator *a,
                                const struct request *q)
{
    if (q->heap->pool->owner != NULL)
        return larder__policy_pytorch.should_split(a, q);
    return q->block->bytes > q->size; /* else it was cut when it was found */
}

static bool larder_keep(struct allocator *a, struct block *b)
{
    if (b->segment->kind != SEGMENT_PAGED || a->is_tight ||
        !quick_keep(b->segment->heap->quick, b))
        return false;
    map_put(&a->map, b->addr, b->self);
    return true;
}

const struct policy larder__policy_larder = {
    .find = larder_find,
    .should_split = larder_should_split,
    .keep = larder_keep,
    .explain_fully = true,
    .unit_bytes = UNIT,
    .small_max_bytes = SMALL_MAX,
};
