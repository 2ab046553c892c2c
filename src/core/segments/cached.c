/* cached.c - releases everything cached. */
#include "core/segments/release.h"

#include "base/fail.h"
#include "core/pools/private.h"
#include "core/pools/tags.h"
#include "core/segments/events.h"
#include "core/segments/segment.h"
#include "core/state/paged.h"

/* ---- private pools -------------------------------------------------------- */

larder_result larder__private_release_cached(struct allocator *a,
                                             struct private_pool *p)
{
    larder_result r = LARDER_OK;

    larder__assert(allocator_is_locked(a));
    for (int kind = 0; kind < POOL_KINDS; kind++)
        fail_keep_first(&r, larder__release_pool(a, &p->pools[kind]));
    return r;
}

/* Addresses without memory would keep the pool. */
static larder_result private_tidy(struct allocator *a,
                                  const struct private_pool *p)
{
    larder_result r = LARDER_OK;
    struct heap *heap;

    for (size_t i = 0; (heap = pools_heap(p->pools, i)) != NULL; i++)
        fail_keep_first(&r, larder__expandable_tidy(a, heap));
    return r;
}

/* A pool that was released while it is begun stays until it is ended: requests
 * still find it. */
static bool private_is_over(const struct private_pool *p)
{
    return p->tag == NULL && p->route == NULL && p->segments == NULL;
}

larder_result larder__private_release_unused(struct allocator *a)
{
    struct private_pool *unused = a->privates.unused;
    larder_result r = LARDER_OK;

    a->privates.unused = a->privates.unused_last = NULL;
    while (unused != NULL) {
        struct private_pool *p = unused;

        larder__assert(p->users == 0);
        unused = p->unused_next;
        p->unused_next = NULL;
        if (!p->is_paused) {
            fail_keep_first(&r, larder__private_release_cached(a, p));
            fail_keep_first(&r, private_tidy(a, p));
        }
        if (private_is_over(p))
            larder__private_remove(a, p);
        else
            larder__private_append_unused(a, p);
    }
    return r;
}

/* Also the memory that regions hold in reserve. */
static larder_result private_release_idle(struct allocator *a)
{
    larder_result r = larder__private_release_unused(a);

    if (a->privates.regions == 0)
        return r;
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next) {
        if (p->region != NULL && !p->is_paused)
            fail_keep_first(&r, larder__private_release_cached(a, p));
    }
    return r;
}

/* ---- release everything --------------------------------------------------- */

larder_result larder__release_idle(struct allocator *a)
{
    larder_result r = larder__release_pool(a, &a->pools[POOL_LARGE]);

    fail_keep_first(&r, larder__release_pool(a, &a->pools[POOL_LONG]));
    fail_keep_first(&r, larder__release_pool(a, &a->pools[POOL_SMALL]));
    fail_keep_first(&r, private_release_idle(a));
    fail_keep_first(&r, larder__paged_release_empty(a));
    larder__paged_release_loose(a);
    fail_keep_first(&r, larder__orphans_release(a));
    larder__assert((r == LARDER_OK) <= (a->orphans.count == 0));
    /* Once more if it failed above: last, as its message names live memory. */
    fail_keep_first(&r, larder__paged_settle(a));
    return r;
}

larder_result larder__release_cached(struct allocator *a)
{
    larder_result r;

    a->stats.num_sync_all_streams++;
    larder__assert(!allocator_is_capturing(a));
    r = larder__events_sync(a);
    larder__assert(r != LARDER_OK || a->events.waiting == 0);
    fail_keep_first(&r, larder__release_idle(a));
    return r;
}
