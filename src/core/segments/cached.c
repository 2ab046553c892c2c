#include "core/segments/cached.h"

#include "base/fail.h"
#include "core/pools/private.h"
#include "core/pools/tags.h"
#include "core/segments/events.h"
#include "core/segments/orphan.h"
#include "core/segments/release.h"

/* ---- private pools -------------------------------------------------------- */

/* Whether no segment is the pool's any more. */
static bool private_is_empty(const struct allocator *a,
                             const struct private_pool *p)
{
    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->heap->pool->owner == p)
            return false;
    }
    return true;
}

larder_result larder__private_release_cached(struct allocator *a,
                                             struct private_pool *p)
{
    larder_result r = LARDER_OK;

    for (int kind = 0; kind < POOL_KINDS; kind++)
        fail_keep_first(&r, larder__release_pool(a, &p->pools[kind]));
    return r;
}

larder_result larder__private_release_unused(struct allocator *a)
{
    struct private_pool **link = &a->private_pools;
    larder_result r = LARDER_OK;

    while (*link != NULL) {
        struct private_pool *p = *link;

        if (p->users == 0 && p->region == NULL && !private_is_paused(p))
            fail_keep_first(&r, larder__private_release_cached(a, p));
        if (p->users == 0 && p->tag == NULL && p->region == NULL &&
            private_is_empty(a, p)) {
            *link = p->next;
            larder__private_free(a, p);
        } else {
            link = &p->next;
        }
    }
    return r;
}

larder_result larder__private_release_idle(struct allocator *a)
{
    larder_result r = larder__private_release_unused(a);

    for (struct private_pool *p = a->private_pools; p != NULL; p = p->next) {
        if (p->region != NULL)
            fail_keep_first(&r, larder__private_release_cached(a, p));
    }
    return r;
}

/* ---- everything ----------------------------------------------------------- */

larder_result larder__release_idle(struct allocator *a)
{
    larder_result r = larder__release_pool(a, &a->pools[POOL_LARGE]);

    fail_keep_first(&r, larder__release_pool(a, &a->pools[POOL_LONG]));
    fail_keep_first(&r, larder__release_pool(a, &a->pools[POOL_SMALL]));
    fail_keep_first(&r, larder__private_release_idle(a));
    if (a->larder != NULL)
        a->policy->state->release_loose(a);
    fail_keep_first(&r, larder__orphans_release(a));
    return r;
}

larder_result larder__release_cached(struct allocator *a)
{
    larder_result r;

    a->stats.num_sync_all_streams++;
    r = larder__events_sync(a);
    fail_keep_first(&r, larder__release_idle(a));
    return r;
}
