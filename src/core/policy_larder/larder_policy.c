/* larder_policy.c - Larder's own policy: addresses are plentiful, so physical
 * pages are mapped where they are needed (docs/POLICY.md).
 *
 * Devices without virtual memory and private pools (a captured graph relies on
 * their memory) use segments instead, acquired and kept as PyTorch's policy
 * does, except for what is tried before a request fails (segment_ladder.c). */
#include "core/policy_larder/carry.h"
#include "core/policy_larder/fast.h"
#include "core/policy_larder/lend.h"
#include "core/policy_larder/supply.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/pools/pool.h"
#include "core/request/request.h"
#include "core/segments/blocks.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"

/* ---- reusing free blocks -------------------------------------------------- */

/* A free block that has all its pages, after a move that could not be undone.
 * NULL: none. */
static struct block *fit_find_mapped(struct allocator *a, const struct fit *fit,
                                     uint64_t size)
{
    struct fit_place at = fit_from(fit, size);

    while (at.block != NULL &&
           (at.block->bytes < size || carry_withholds(a, at.block)))
        at = fit_after(fit, at);
    return at.block;
}

/* Find a free block in the request's heap and remove it from the heap. */
static bool larder_policy_take_free(struct allocator *a, struct request *q)
{
    if (a->has_withheld)
        q->block = fit_find_mapped(a, q->heap->fit, q->size);
    else
        q->block = fit_find(q->heap->fit, q->size, FIT_LOOKS);
    if (q->block != NULL)
        heap_remove(q->block);
    return q->block != NULL;
}

/* Retire the blocks whose recorded streams have finished, then search again. */
static bool take_completed(struct allocator *a, struct request *q)
{
    if (a->events.waiting == 0 || allocator_is_capturing(a))
        return false;
    larder__events_poll(a);
    return larder_policy_take_free(a, q);
}

/* Carve a segment for the heap from memory reserved by larder_reserve(). */
static bool take_carved(struct allocator *a, struct request *q)
{
    return larder__segment_carve(a, q->heap, q->segment_bytes, &q->block) ==
           LARDER_OK;
}

/* ---- the ladder ----------------------------------------------------------- */

/* With defrag:off nothing moves: release idle memory and retry, after each
 * wait. */
static larder_result climb_without_moves(struct allocator *a, struct request *q)
{
    larder_result r;

    do {
        (void)larder__release_idle(a);
        a->stats.num_alloc_retries++;
        r = larder_policy_take_free(a, q) ? LARDER_OK : larder__supply(a, q);
    } while (r == LARDER_ERR_OUT_OF_MEMORY && larder__request_wait_one(a, q));
    return r;
}

/* Wait for one event after another until there is enough memory. */
static larder_result wait_and_supply(struct allocator *a, struct request *q)
{
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    while (r == LARDER_ERR_OUT_OF_MEMORY && larder__request_wait_one(a, q))
        r = larder_policy_take_free(a, q) ? LARDER_OK : larder__supply(a, q);
    return r;
}

/* Move live pages, if the program allows it. */
static larder_result migrate_and_supply(struct allocator *a, struct request *q)
{
    larder_result r = larder__migrate(a, q);

    return r == LARDER_OK ? larder__supply(a, q) : r;
}

/* From private pools that lend: a free block where it is, else `bytes` of their
 * handles and segments that are entirely free, with which `grow` succeeds. */
static larder_result lend(struct allocator *a, struct request *q,
                          uint64_t bytes,
                          larder_result (*grow)(struct allocator *,
                                                struct request *))
{
    size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;

    if (a->privates.first == NULL)
        return LARDER_ERR_OUT_OF_MEMORY;
    if (larder__lend_block(a, q))
        return LARDER_OK;
    return larder__lend_pages(a, pages) > 0 ? grow(a, q)
                                            : LARDER_ERR_OUT_OF_MEMORY;
}

static larder_result lend_and_supply(struct allocator *a, struct request *q)
{
    return lend(a, q, q->size + PAGE_BYTES, larder__supply);
}

static larder_result lend_and_grow(struct allocator *a, struct request *q)
{
    return lend(a, q, q->segment_bytes, larder__pytorch_grow);
}

/* Other processes may have released memory since the device refused. */
static larder_result ask_again(struct allocator *a, struct request *q)
{
    a->stats.num_alloc_retries++;
    (void)larder__private_release_unused(a);
    a->larder->refused_at = UINT64_MAX;
    return larder_policy_take_free(a, q) ? LARDER_OK : larder__supply(a, q);
}

static larder_result larder_policy_climb(struct allocator *a, struct request *q)
{
    larder_result r = take_carved(a, q) ? LARDER_OK : larder__supply(a, q);

    if (r != LARDER_ERR_OUT_OF_MEMORY || allocator_is_capturing(a))
        return r;
    if (larder__request_reject(a, q))
        return r;
    if (a->conf.defrag == CONF_DEFRAG_OFF)
        return climb_without_moves(a, q);
    r = lend_and_supply(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = wait_and_supply(a, q);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        r = ask_again(a, q);
    return r == LARDER_ERR_OUT_OF_MEMORY ? migrate_and_supply(a, q) : r;
}

static larder_result find_paged(struct allocator *a, struct request *q)
{
    larder__assert(allocator_is_locked(a) && q->heap->fit != NULL);
    larder__assert(q->size >= q->bytes && q->size % FAST_UNIT == 0);
    if (a->has_withheld && !allocator_is_capturing(a))
        (void)larder__paged_settle(a); /* the device may work again */
    if (larder_policy_take_free(a, q) || take_completed(a, q))
        return LARDER_OK;
    if (a->reclaims.count > 0 && !q->reclaimed)
        return larder__find_reclaimed(a, q);
    if (!allocator_is_capturing(a) && larder__request_is_hopeless(a, q))
        return larder__ladder_refuse(a, q);
    return larder_policy_climb(a, q);
}

/* ---- the policy ----------------------------------------------------------- */

static bool larder_should_split(const struct allocator *a,
                                const struct request *q)
{
    return q->heap->fit != NULL ? q->block->bytes > q->size
                                : larder__policy_pytorch.should_split(a, q);
}

/* A captured graph may use the part of the block that the request keeps. */
static larder_result find_private(struct allocator *a, struct request *q)
{
    larder_result r = larder__segment_ladder_find(a, q);

    /* A callback may have destroyed the pool; the block is another's then. */
    if (r == LARDER_OK && q->heap->pool->owner != NULL)
        larder__lend_note(a, q->block,
                          larder_should_split(a, q) ? q->size : q->block->bytes,
                          q->stream);
    return r;
}

static larder_result larder_find(struct allocator *a, struct request *q)
{
    if (q->heap->fit != NULL)
        return find_paged(a, q);
    if (q->heap->pool->owner != NULL)
        return find_private(a, q);
    return larder__segment_ladder_find_alike(a, q);
}

const struct policy larder__policy_larder = {
    .name = "larder",
    .id = LARDER_POLICY_LARDER,
    .is_paged = true,
    .find = larder_find,
    .lend = lend_and_grow,
    .should_split = larder_should_split,
    .explain_fully = true,
    .unit_bytes = FAST_UNIT,
};
