/* segment_ladder.c - requests served from segments with more attempts than
 * PyTorch makes: for pinned memory, private pools, and the policy larder
 * without virtual memory.
 *
 * The first steps are PyTorch's.  The others differ: a request that cannot
 * succeed is refused before anything is released for it; unused segments are
 * released only if that is enough, and no more than needed; a smaller segment
 * is tried, which other requests cannot share; streams are waited for one event
 * at a time, and the pool is searched after each.
 *
 * For the policy larder (segment_ladder_find_alike) the same segments are
 * acquired and released as by PyTorch, up to the point where PyTorch gives up,
 * except that private pools lend before any stream is waited for.  The segments
 * that a program holds determine how large a device it needs, and no other rule
 * that was tried was better on unknown programs; with the same segments the need
 * is never larger than under PyTorch. */
#include "base/bits.h"
#include "base/fail.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/request/request.h"
#include "core/segments/release.h"
#include "core/state/held.h"
#include "core/state/paged.h"

/* How much must be released to the device before the request's segment fits. */
static uint64_t lacking_bytes(const struct allocator *a,
                              const struct request *q)
{
    uint64_t room = 0; /* unknown how much room the device has */

    larder__assert(q->segment_bytes >= q->size);
    if (q->refused_by != REFUSED_BY_DEVICE && a->held_bytes < a->allowed_bytes)
        room = a->allowed_bytes - a->held_bytes;
    return q->segment_bytes - (room < q->segment_bytes ? room : 0);
}

/* Release unused segments, or handles under a policy that has them, in exchange
 * for the segment that is needed. */
static larder_result trade(struct allocator *a, struct request *q)
{
    uint64_t lacking = lacking_bytes(a, q);

    if (a->is_paged && lacking <= a->held_bytes) {
        larder__paged_trim(a, a->held_bytes - lacking);
        return larder__pytorch_grow(a, q);
    }
    if (larder__unused_bytes(a) < lacking ||
        larder__release_unused(a, lacking) < lacking)
        return LARDER_ERR_OUT_OF_MEMORY;
    return larder__pytorch_grow(a, q);
}

/* Ask for a segment no larger than the request, where there is no room for one
 * that others could share. */
static larder_result grow_smaller(struct allocator *a, struct request *q)
{
    uint64_t own = bits_up(q->size, ROUND_SEGMENT_BYTES);

    larder__assert(own >= q->size && q->block == NULL);
    if (own >= q->segment_bytes)
        return LARDER_ERR_OUT_OF_MEMORY;
    q->segment_bytes = own;
    return larder__pytorch_grow(a, q);
}

static larder_result wait_and_look(struct allocator *a, struct request *q)
{
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    while (r == LARDER_ERR_OUT_OF_MEMORY && larder__request_wait_one(a, q))
        r = larder__pytorch_search(a, q) ? LARDER_OK : trade(a, q);
    return r;
}

static larder_result release_and_grow(struct allocator *a, struct request *q)
{
    larder_result r;

    (void)larder__release_idle(a); /* the next attempt decides */
    a->stats.num_alloc_retries++;
    r = larder__pytorch_grow(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY && larder__pytorch_search(a, q))
        return LARDER_OK; /* a segment that could not be released */
    return r;
}

/* Before growing, release what was kept for requests that did not come again,
 * so that changing sizes do not pile up. */
static void keep_within_slack(struct allocator *a, const struct request *q)
{
    uint64_t used = (uint64_t)a->stats.active_bytes.peak_all;
    uint64_t max = used + used / 100 * a->policy->slack_percent;
    uint64_t after = a->held_bytes + q->segment_bytes;

    if (a->policy->slack_percent == 0 || allocator_is_capturing(a) ||
        after <= max)
        return;
    (void)larder__release_unused(a, after - max);
}

static larder_result wait_and_release(struct allocator *a, struct request *q)
{
    larder_result r = wait_and_look(a, q);

    return r == LARDER_ERR_OUT_OF_MEMORY ? release_and_grow(a, q) : r;
}

/* Whether the refusal is final and no further step may be taken. */
static bool is_refused(struct allocator *a, struct request *q)
{
    return usage_is_final(q) || larder__request_reject(a, q);
}

static larder_result segment_ladder_climb(struct allocator *a,
                                          struct request *q)
{
    larder_result r;

    keep_within_slack(a, q);
    r = larder__pytorch_grow(a, q);
    if (r != LARDER_ERR_OUT_OF_MEMORY || is_refused(a, q))
        return r;
    if (larder__request_is_hopeless(a, q))
        return r; /* the cache stays */
    if (allocator_is_capturing(a))
        return grow_smaller(a, q);
    r = trade(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = grow_smaller(a, q);
    return r == LARDER_ERR_OUT_OF_MEMORY ? wait_and_release(a, q) : r;
}

static larder_result climb_alike(struct allocator *a, struct request *q)
{
    larder_result r = larder__pytorch_grow(a, q);

    if (r != LARDER_ERR_OUT_OF_MEMORY || is_refused(a, q))
        return r;
    if (allocator_is_capturing(a))
        return grow_smaller(a, q);
    if (larder__request_is_hopeless(a, q))
        return r;
    if (larder__release_available(a, q))
        r = larder__pytorch_grow(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = a->policy->lend(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = wait_and_release(a, q);
    return r == LARDER_ERR_OUT_OF_MEMORY ? grow_smaller(a, q) : r;
}

/* The steps that both variants take first. */
static larder_result segment_ladder_find(
    struct allocator *a, struct request *q,
    larder_result (*way)(struct allocator *, struct request *))
{
    larder__assert(q->block == NULL);
    if (larder__pytorch_search(a, q))
        return LARDER_OK;
    if (a->reclaims.count > 0 && !q->reclaimed)
        return larder__find_reclaimed(a, q);
    if (a->fraction_is_set && a->conf.gc_threshold > 0 &&
        !allocator_is_capturing(a))
        larder__collect_garbage(a);
    return way(a, q);
}

larder_result larder__segment_ladder_find(struct allocator *a,
                                          struct request *q)
{
    return segment_ladder_find(a, q, segment_ladder_climb);
}

larder_result larder__segment_ladder_find_alike(struct allocator *a,
                                                struct request *q)
{
    return segment_ladder_find(a, q, climb_alike);
}
