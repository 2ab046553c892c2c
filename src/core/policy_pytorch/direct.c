/* direct.c - a baseline: one driver call for every request, another for every
 * free.
 *
 * Freed segments are released at once.  Those that the device fails to release
 * stay in their heap, as do those freed while allocations are routed to a
 * private pool, when the device is not asked; they are released by the next
 * allocation with routing off. */
#include "base/fail.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/request/request.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"
#include "core/state/held.h"

static larder_result direct_get(struct allocator *a, struct request *q)
{
    larder_result r;

    q->refused_by = REFUSED_BY_POOL;
    if (!larder__private_allows(q))
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    q->refused_by = REFUSED_BY_DEVICE;
    r = larder__segment_carve(a, q->heap, q->size, &q->block);
    if (r != LARDER_ERR_OUT_OF_MEMORY || !held_allows(a, q->size))
        return r;
    if (larder__usage_allows(a, q))
        return larder__segment_get(a, q->heap, q->size, &q->block);
    q->refused_by = REFUSED_BY_POOL;
    return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

static larder_result direct_find(struct allocator *a, struct request *q)
{
    larder_result r;

    larder__assert(allocator_is_locked(a) && q->block == NULL);
    q->segment_bytes = q->size;
    if (allocator_is_capturing(a)) /* nothing may be released */
        return direct_get(a, q);
    for (int kind = 0; kind < POOL_KINDS; kind++)
        (void)larder__release_pool(a, &a->pools[kind]);
    r = direct_get(a, q);
    if (r != LARDER_ERR_OUT_OF_MEMORY || usage_is_final(q))
        return r;
    /* Pending blocks, and pools without users. */
    larder__ladder_release(a, q);
    a->stats.num_alloc_retries++;
    return direct_get(a, q);
}

static bool direct_should_split(const struct allocator *a,
                                const struct request *q)
{
    (void)a;
    (void)q;
    return false;
}

static void direct_freed(struct allocator *a, struct block *b)
{
    if (!allocator_is_capturing(a) && b->segment->heap->pool->owner == NULL)
        (void)larder__segment_release(a, b);
}

const struct policy larder__policy_direct = {
    .name = "direct",
    .id = LARDER_POLICY_DIRECT,
    .find = direct_find,
    .should_split = direct_should_split,
    .unit_bytes = UNIT_BYTES,
    .freed = direct_freed,
};
