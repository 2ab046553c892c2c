/* pools_api.c - the public calls on private pools. */
#include "base/fail.h"
#include "core/handle.h"
#include "core/pool.h"
#include "core/private.h"

larder_result larder_pool_begin(larder_allocator *handle, larder_pool_id id,
                                larder_pool_filter *filter, void *ctx)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__private_begin(a, id, filter, ctx);
    larder__handle_unlock(a);
    return r;
}

larder_result larder_pool_end(larder_allocator *handle, larder_pool_id id)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__private_end(a, id);
    larder__handle_unlock(a);
    return r;
}

larder_result larder_pool_release(larder_allocator *handle, larder_pool_id id)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__private_release(a, id);
    larder__handle_unlock(a);
    return r;
}

/* The number of live blocks of the pool. */
static size_t count_live(struct allocator *a, const struct private_pool *p)
{
    size_t count = 0;

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->heap->pool->owner != p)
            continue;
        for (const struct block *b = s->head; b != NULL;
             b = slab_get(&a->slab, b->next))
            count += b->state == BLOCK_LIVE;
    }
    return count;
}

static bool is_live_in(struct allocator *a, const struct private_pool *p,
                       larder_addr addr)
{
    uint32_t number = larder__map_get(&a->map, addr);

    return number != 0 &&
           slab_at(&a->slab, number)->segment->heap->pool->owner == p;
}

larder_result larder_pool_live_is(larder_allocator *handle, larder_pool_id id,
                                  const larder_addr *addrs, size_t count,
                                  int *same)
{
    struct allocator *a;
    struct private_pool *p;
    size_t found = 0;
    larder_result r;

    if (same == NULL || (addrs == NULL && count > 0))
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    r = larder__private_find(a, id, &p);
    if (r == LARDER_OK) {
        while (found < count && is_live_in(a, p, addrs[found]))
            found++;
        *same = found == count && count_live(a, p) == count;
    }
    larder__handle_unlock(a);
    return r;
}
