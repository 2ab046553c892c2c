#include "core/segments/cached.h"

#include "base/fail.h"
#include "core/segments/events.h"
#include "core/segments/orphan.h"
#include "core/state/policy.h"
#include "core/pools/private.h"
#include "core/segments/release.h"

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
