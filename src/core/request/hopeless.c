/* hopeless.c - requests that cannot succeed whatever is released, and those
 * that a setting rejects. */
#include "base/bits.h"
#include "core/pools/tags.h"
#include "core/request/request.h"
#include "core/state/held.h"

bool larder__request_is_hopeless(const struct allocator *a,
                                 const struct request *q)
{
    uint64_t total = a->props.total_bytes - a->props.context_bytes;
    uint64_t live = (uint64_t)metric_all(&a->stats.allocated_bytes) -
                    larder__tags_paused_bytes(a);

    if (a->allowed_bytes < total)
        total = a->allowed_bytes;
    total -= bits_lesser(total, held_owed_to_others(a, q->heap->pool));
    return q->size > total || live > total - q->size;
}

bool larder__request_reject(struct allocator *a, struct request *q)
{
    q->rejected = q->refused_by != REFUSED_BY_DEVICE && a->conf.throw_on_oom;
    a->stats.num_oom_rejections += q->rejected;
    return q->rejected;
}
