/* pool_loan.c - when free memory of a graph's pool is lent, and to which stream
 * (policy_larder/lend.h). */
#include "core/request/pool_loan.h"

#include "base/fail.h"
#include "core/entry/capturing.h"
#include "core/segments/events.h"
#include "core/state/zone.h"

/* A block of the pool that serves a request to a default pool.  NULL: none. */
static const struct block *borrowed_block(struct allocator *a,
                                          const struct private_pool *p)
{
    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->heap->pool->owner != p)
            continue;
        for (const struct block *b = s->head; b != NULL;
             b = slab_get(&a->slab, b->next)) {
            if ((b->state == BLOCK_LIVE || b->state == BLOCK_PENDING) &&
                b->is_borrowed)
                return b;
        }
    }
    return NULL;
}

/* From here on the pool's memory is not in order on the borrower: wait for the
 * work that used it there. */
static larder_result loan_end(struct allocator *a, struct private_pool *p)
{
    larder_result r = LARDER_OK;

    if (p->has_borrower) {
        r = larder__capturing_forbids(a, "a pool that has lent memory cannot "
                                         "wait for the borrower");
        if (r == LARDER_OK)
            r = larder__events_pass(a, p->lent_stream);
    }
    if (r == LARDER_OK)
        p->is_lent = p->has_borrower = false;
    return r;
}

larder_result larder__pool_recall(struct allocator *a, struct private_pool *p)
{
    const struct block *b;

    if (!p->is_lent)
        return LARDER_OK;
    if (!allocator_is_capturing(a))
        larder__events_poll(a);
    b = borrowed_block(a, p);
    if (b != NULL)
        return larder__fail(
            LARDER_ERR_BUSY,
            "private pool (%llu, %llu) has lent the allocation "
            "at 0x%llx of %llu bytes: %s",
            (unsigned long long)p->id.first, (unsigned long long)p->id.second,
            (unsigned long long)zone_user(b), (unsigned long long)b->bytes,
            b->state == BLOCK_LIVE ? "free that first"
                                   : "a recorded stream still uses it");
    return loan_end(a, p);
}

larder_result larder__pool_lend(struct allocator *a, struct private_pool *p,
                                larder_stream stream)
{
    larder_result r = larder__device_stream_check(a->device, stream);

    if (r == LARDER_OK && p->route != NULL)
        r = larder__fail(LARDER_ERR_INVALID,
                         "private pool (%llu, %llu) is begun and cannot be "
                         "lent",
                         (unsigned long long)p->id.first,
                         (unsigned long long)p->id.second);
    if (r == LARDER_OK && p->is_lent && p->lent_stream != stream)
        r = larder__pool_recall(a, p);
    if (r != LARDER_OK)
        return r;
    p->is_lent = true;
    p->lent_stream = stream;
    return LARDER_OK;
}
