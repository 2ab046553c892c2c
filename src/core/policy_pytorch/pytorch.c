/* pytorch.c - PyTorch's native policy: best fit, then the ladder.
 *
 * The order of steps and every comparison are those of
 * DeviceCachingAllocator::malloc in the release whose rules are set
 * (pytorch_rules.h); docs/FIDELITY.md lists the differences. */
#include "base/bits.h"
#include "base/fail.h"
#include "core/observe/oom.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/pools/pool.h"
#include "core/request/request.h"
#include "core/segments/blocks.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"
#include "core/state/held.h"

/* Whether the pool's memory comes in pages.  Tags use pages wherever the device
 * has them.  Other pools follow the setting; private pools do so only if the
 * release's rules allow it or, under the policy larder, so that they can lend
 * their pages (policy_larder/lend.h). */
static bool pool_has_pages(const struct allocator *a, const struct pool *pool)
{
    if (pool->owner != NULL && pool->owner->tag != NULL)
        return a->has_pages;
    if (a->is_paged)
        return a->conf.expandable_segments;
    return a->conf.expandable_segments &&
           (pool->owner == NULL || a->conf.rules->expandable_private);
}

static bool gc_is_on(const struct allocator *a)
{
    return a->fraction_is_set && a->conf.gc_threshold > 0;
}

/* The size that a block could grow to by mapping what follows it. */
static uint64_t growable_bytes(struct allocator *a, const struct block *b)
{
    const struct block *next = block_next(a, b);

    return b->bytes +
           (next != NULL && next->state == BLOCK_UNMAPPED ? next->bytes : 0);
}

/* Among expandable blocks of one fit, prefer the one that can grow least, so
 * that the open end of a segment is kept for requests that need it. */
static struct block *prefer_ungrowable(struct allocator *a,
                                       const struct bins *bins, struct block *b)
{
    struct block *next = bins_next(bins, b);

    while (segment_is_expandable(b->segment) && next != NULL &&
           growable_bytes(a, next) < growable_bytes(a, b)) {
        b = next;
        next = bins_next(bins, b);
    }
    return b;
}

static struct block *skip_expandable(const struct bins *bins, struct block *b)
{
    while (b != NULL && segment_is_expandable(b->segment))
        b = bins_next(bins, b);
    return b;
}

/* Whether the request may be served from pages.  What is lent is not, but
 * in releases that ask the setting alone. */
static bool takes_pages(const struct allocator *a, const struct request *q)
{
    if (q->takes_lent)
        return a->conf.rules->lends_as_set && a->conf.expandable_segments;
    return pool_has_pages(a, q->heap->pool);
}

/* Oversize blocks are reserved for oversize requests, and such a request does
 * not take a block that is much too large. */
static bool oversize_allows(const struct conf *conf, uint64_t size,
                            const struct block *b)
{
    if (size < conf->max_split_bytes)
        return b->bytes < conf->max_split_bytes;
    return b->bytes < size + conf->max_non_split_rounding_bytes;
}

bool larder__pytorch_search(struct allocator *a, struct request *q)
{
    const struct bins *bins = q->heap->bins;
    struct block *b;

    larder__assert(allocator_is_locked(a));
    larder__assert(q->heap->fit == NULL && q->size >= q->bytes);
    if (gc_is_on(a))
        q->heap->pool->searches++;
    b = larder__bins_fit(bins, q->size);
    if (b == NULL)
        return false;
    if (segment_is_expandable(b->segment))
        b = takes_pages(a, q) ? prefer_ungrowable(a, bins, b)
                              : skip_expandable(bins, b);
    if (b == NULL || !oversize_allows(&a->conf, q->size, b))
        return false;
    larder__assert(b->bytes >= q->size && b->segment->heap == q->heap);
    heap_remove(b);
    q->block = b;
    return true;
}

larder_result larder__pytorch_grow(struct allocator *a, struct request *q)
{
    bool in_pages = pool_has_pages(a, q->heap->pool);
    bool is_tagged =
        q->heap->pool->owner != NULL && q->heap->pool->owner->tag != NULL;
    larder_result r;

    q->refused_by = REFUSED_BY_POOL;
    if (!larder__usage_allows(a, q))
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = in_pages && is_tagged /* a piece cannot be paused */
            ? LARDER_ERR_OUT_OF_MEMORY
            : larder__segment_carve(a, q->heap, q->segment_bytes, &q->block);
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    q->refused_by = REFUSED_BY_LIMIT;
    if (!held_allows_owner(a, holding_of(a, q->heap->pool), q->segment_bytes))
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    q->refused_by = REFUSED_BY_DEVICE;
    if (in_pages)
        return larder__expandable_get(a, q->heap, q->size, &q->block);
    return larder__segment_get(a, q->heap, q->segment_bytes, &q->block);
}

/* With throw_on_cudamalloc_oom: whether the part of the device that the settings
 * give, or the limit that stands for its size, is too small.  What exceeds the
 * memory fraction in effect, which a call may have set, fails in the usual
 * way. */
static bool is_rejected(const struct allocator *a, const struct request *q)
{
    double device = (double)a->props.total_bytes;
    uint64_t wanted = a->held_bytes + q->segment_bytes;

    if (!a->conf.throw_on_oom ||
        (a->fraction_is_set && (double)wanted > a->fraction * device))
        return false;
    return wanted > bits_lesser((uint64_t)(a->conf.fraction * device),
                                a->conf.limit_bytes);
}

/* Ask the device, unless the request is rejected. */
static larder_result pytorch_grow(struct allocator *a, struct request *q)
{
    q->rejected = is_rejected(a, q);
    if (!q->rejected)
        return larder__pytorch_grow(a, q);
    q->refused_by = REFUSED_BY_LIMIT;
    a->stats.num_oom_rejections++;
    return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

static struct heap *heap_of(const struct pool *pool, larder_stream stream)
{
    for (uint32_t i = 0; i < pool->heap_count; i++) {
        if (pool->heaps[i]->stream == stream)
            return pool->heaps[i];
    }
    return NULL;
}

/* Take a free block from a pool that lends.  Only requests to a default pool
 * are lent to. */
static bool lend(struct allocator *a, struct request *q)
{
    struct heap *own = q->heap;
    enum pool_kind kind = own->pool->is_small ? POOL_SMALL : POOL_LARGE;

    if (own->pool->owner != NULL)
        return false;
    q->takes_lent = true;
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next) {
        q->heap = p->lends ? heap_of(&p->pools[kind], q->stream) : NULL;
        if (q->heap != NULL && larder__pytorch_search(a, q))
            return true;
    }
    q->takes_lent = false;
    q->heap = own;
    larder__assert(q->heap->pool->owner == NULL);
    return false;
}

/* Lend, if this release does so at this point. */
static bool lend_when(struct allocator *a, struct request *q,
                      enum pytorch_lending when)
{
    return a->conf.rules->lending == when && lend(a, q);
}

/* PyTorch's steps when no free block fits. */
static larder_result pytorch_climb(struct allocator *a, struct request *q)
{
    larder_result r = pytorch_grow(a, q);

    if (r != LARDER_ERR_OUT_OF_MEMORY || usage_is_final(q))
        return r;
    if (q->rejected)
        return r;
    if (lend_when(a, q, PYTORCH_LENDS_FIRST))
        return LARDER_OK;
    if (allocator_is_capturing(a)) /* nothing may be released */
        return r;
    if (larder__release_available(a, q)) {
        r = pytorch_grow(a, q);
        if (r != LARDER_ERR_OUT_OF_MEMORY || q->rejected)
            return r;
    }
    larder__ladder_release(a, q);
    a->stats.num_alloc_retries++;
    return pytorch_grow(a, q);
}

static larder_result pytorch_find(struct allocator *a, struct request *q)
{
    larder_result r;

    if (larder__pytorch_search(a, q))
        return LARDER_OK;
    if (a->reclaims.count > 0) {
        bool freed = larder__run_reclaims(a);

        /* Whatever they return, anything may have changed meanwhile. */
        r = larder__request_route(a, q);
        if (r != LARDER_OK)
            return r;
        if (freed && larder__pytorch_search(a, q))
            return LARDER_OK;
    }
    if (gc_is_on(a) && !allocator_is_capturing(a))
        larder__collect_garbage(a);
    r = pytorch_climb(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY && !q->rejected &&
        lend_when(a, q, PYTORCH_LENDS_LAST))
        return LARDER_OK;
    return r;
}

static bool splits_as_pages(const struct allocator *a, const struct request *q)
{
    return takes_pages(a, q) || (!q->takes_lent && a->conf.expandable_segments);
}

static bool pytorch_should_split(const struct allocator *a,
                                 const struct request *q)
{
    const struct pool *pool = q->heap->pool;
    uint64_t rest = q->block->bytes - q->size;

    larder__assert(q->block->bytes >= q->size);
    if (pool->owner != NULL && pool->owner->is_kept_whole &&
        a->conf.rules->whole_pools)
        return false;
    if (pool->is_small || splits_as_pages(a, q))
        return rest >= UNIT_BYTES;
    return q->size < a->conf.max_split_bytes && rest > SMALL_MAX_BYTES;
}

const struct policy larder__policy_pytorch = {
    .name = "pytorch",
    .id = LARDER_POLICY_PYTORCH,
    .is_exact = true,
    .find = pytorch_find,
    .should_split = pytorch_should_split,
    .unit_bytes = UNIT_BYTES,
};
