/* pools_api.c - the public calls on private pools. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/entry/handle.h"
#include "core/pools/private.h"
#include "core/policy_larder/lend.h"
#include "core/state/zone.h"

larder_result larder_pool_begin(larder_allocator *handle, larder_pool_id id,
                                larder_pool_filter *filter, void *ctx)
{
    struct allocator *a;
    struct private_pool *p;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    p = larder__pool_index_get(&a->privates.index, id);
    if (p != NULL)
        r = larder__pool_recall(a, p);
    if (r == LARDER_OK)
        r = larder__private_begin(a, id, filter, ctx);
    return larder__handle_end(a, r);
}

larder_result larder_pool_end(larder_allocator *handle, larder_pool_id id)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, larder__private_end(a, id));
}

larder_result larder_pool_release(larder_allocator *handle, larder_pool_id id)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, larder__private_release(a, id));
}

static larder_result set_flag(larder_allocator *handle, larder_pool_id id,
                              bool on, size_t offset)
{
    struct allocator *a;
    struct private_pool *p;
    larder_result r = larder__private_lock(handle, id, &a, &p, NULL);

    if (r != LARDER_OK)
        return r;
    *(bool *)((char *)p + offset) = on;
    larder__private_decide(a);
    return larder__handle_end(a, r);
}

larder_result larder_pool_set_lending(larder_allocator *handle,
                                      larder_pool_id id, int on)
{
    return set_flag(handle, id, on != 0, offsetof(struct private_pool, lends));
}

larder_result larder_pool_set_whole(larder_allocator *handle, larder_pool_id id,
                                    int on)
{
    return set_flag(handle, id, on != 0,
                    offsetof(struct private_pool, is_kept_whole));
}

larder_result larder_pool_lend(larder_allocator *handle, larder_pool_id id,
                               larder_stream stream)
{
    struct allocator *a;
    struct private_pool *p;
    larder_result r =
        larder__private_lock(handle, id, &a, &p, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, larder__pool_lend(a, p, stream));
}

larder_result larder_pool_recall(larder_allocator *handle, larder_pool_id id)
{
    struct allocator *a;
    struct private_pool *p;
    larder_result r =
        larder__private_lock(handle, id, &a, &p, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, larder__pool_recall(a, p));
}

larder_result larder_capture_begin(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    a->captures++;
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_capture_end(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    if (a->captures == 0)
        r = larder__fail(LARDER_ERR_INVALID, "larder_capture_end() without a "
                                             "larder_capture_begin()");
    else
        a->captures--;
    return larder__handle_end(a, r);
}

static bool is_live_in(struct allocator *a, const struct private_pool *p,
                       larder_addr addr)
{
    const struct block *b = zone_find(a, addr);

    return b != NULL && b->segment->heap->pool->owner == p;
}

static int addr_compare(const void *x, const void *y)
{
    larder_addr a = *(const larder_addr *)x;
    larder_addr b = *(const larder_addr *)y;

    return (a > b) - (a < b);
}

/* The addresses form a set: sorted, so that duplicates count once. */
static bool live_is(struct allocator *a, const struct private_pool *p,
                    const larder_addr *sorted, size_t count)
{
    size_t different = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_live_in(a, p, sorted[i]))
            return false;
        different += i == 0 || sorted[i] != sorted[i - 1];
    }
    larder__assert(different <= p->usage.allocations);
    return p->usage.allocations == different;
}

larder_result larder_pool_live_is(larder_allocator *handle, larder_pool_id id,
                                  const larder_addr *addrs, size_t count,
                                  int *same)
{
    struct allocator *a;
    struct private_pool *p;
    larder_addr *sorted;
    larder_result r;

    if (same == NULL || (addrs == NULL && count > 0))
        return larder__fail_plain(LARDER_ERR_INVALID);
    sorted = larder__host_alloc(count + 1, sizeof *sorted);
    if (sorted == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (count > 0)
        memcpy(sorted, addrs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, addr_compare);
    r = larder__private_lock(handle, id, &a, &p, NULL);
    if (r == LARDER_OK) {
        *same = live_is(a, p, sorted, count);
        larder__handle_unlock(a);
    }
    larder__host_free(sorted);
    return r;
}
