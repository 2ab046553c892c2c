/* ladder.c - steps that the policies' ladders share, for when neither the cache
 * nor the device has room. */
#include "base/fail.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/request/request.h"
#include "core/segments/release.h"

larder_result larder__ladder_refuse(struct allocator *a, struct request *q)
{
    uint64_t device_bytes = a->props.total_bytes - a->props.context_bytes;

    q->refused_by =
        a->allowed_bytes < device_bytes ? REFUSED_BY_LIMIT : REFUSED_BY_DEVICE;
    (void)larder__request_reject(a, q);
    return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

void larder__ladder_release(struct allocator *a, struct request *q)
{
    if (a->conf.reclaim_budget_ms == CONF_UNLIMITED) {
        (void)larder__release_cached(a); /* the next search decides */
        return;
    }
    a->stats.num_sync_all_streams++;
    while (larder__request_wait_one(a, q))
        ;
    (void)larder__release_idle(a);
}
