/* order.c - the queued work that may still use memory which a heap has free. */
#include "core/segments/order.h"

#include "base/fail.h"
#include "core/segments/events.h"

/* The second stream of the heap's free memory.  False: there is none. */
static bool has_lent(const struct heap *heap)
{
    const struct private_pool *owner = heap->pool->owner;

    return owner != NULL && owner->has_lent &&
           owner->lent_stream != heap->stream;
}

larder_result larder__order_pass(struct allocator *a, const struct heap *heap)
{
    larder_result r = larder__events_pass(a, heap->stream);

    if (r == LARDER_OK && has_lent(heap))
        r = larder__events_pass(a, heap->pool->owner->lent_stream);
    return r;
}

larder_result larder__order_sync(struct allocator *a, const struct heap *heap)
{
    larder_result r;

    if (a->policy->is_host)
        return LARDER_OK;
    r = larder_device_stream_sync(a->device, heap->stream);
    if (has_lent(heap))
        fail_keep_first(&r, larder_device_stream_sync(
                                a->device, heap->pool->owner->lent_stream));
    return r;
}
