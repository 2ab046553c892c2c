/* pool_limit.c - what a private pool holds, and its limit. */
#include <string.h>

#include "base/fail.h"
#include "base/sized.h"
#include "core/entry/handle.h"
#include "core/pools/private.h"

/* The memory that it holds, and its segments carved from pieces. */
static uint64_t reserved_bytes(const struct allocator *a,
                               const struct private_pool *p)
{
    uint64_t bytes = p->holding.held_bytes;

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->heap->pool->owner == p && s->kind == SEGMENT_CARVED)
            bytes += s->bytes;
    }
    return bytes;
}

bool larder__private_allows(const struct allocator *a, const struct request *q)
{
    const struct private_pool *p = q->heap->pool->owner;

    if (p == NULL || p->holding.limit_bytes == 0)
        return true;
    larder__assert(q->segment_bytes >= q->size || q->segment_bytes == 0);
    return q->segment_bytes <= p->holding.limit_bytes &&
           reserved_bytes(a, p) <= p->holding.limit_bytes - q->segment_bytes;
}

static void pool_limit_count_block(const struct block *b, larder_pool_info *out)
{
    if (b->state != BLOCK_LIVE && b->state != BLOCK_PENDING)
        return;
    larder__assert(b->requested > 0 && b->requested <= b->bytes);
    out->active_bytes += b->bytes;
    out->requested_bytes += b->requested;
    if (b->state != BLOCK_LIVE)
        return;
    out->allocated_bytes += b->bytes;
    out->allocations++;
}

void larder__private_info(struct allocator *a, const struct private_pool *p,
                          larder_pool_info *out)
{
    larder__assert(allocator_is_locked(a));
    out->limit_bytes = p->holding.limit_bytes;
    out->users = p->users;
    out->is_begun = p->route != NULL;
    out->reserved_bytes = reserved_bytes(a, p);
    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->heap->pool->owner != p)
            continue;
        out->segments++;
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b))
            pool_limit_count_block(b, out);
    }
    larder__assert(out->allocated_bytes == p->usage.allocated_bytes);
    larder__assert(out->allocations == p->usage.allocations);
    larder__assert(out->allocated_bytes <= out->active_bytes);
}

/* ---- the public calls ------------------------------------------------------ */

larder_result larder_pool_set_limit(larder_allocator *handle, larder_pool_id id,
                                    uint64_t bytes)
{
    struct allocator *a;
    struct private_pool *p;
    larder_result r = larder__private_lock(handle, id, &a, &p, NULL);

    if (r != LARDER_OK)
        return r;
    p->holding.limit_bytes = bytes;
    return larder__handle_end(a, LARDER_OK);
}

void larder_pool_info_init_sized(larder_pool_info *info, size_t size)
{
    sized_init(info, size);
}

larder_result larder_pool_info_get(larder_allocator *handle, larder_pool_id id,
                                   larder_pool_info *info)
{
    struct allocator *a;
    struct private_pool *p;
    larder_pool_info own;
    larder_result r;

    if (info == NULL || info->size < sizeof info->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_pool_info: use larder_pool_info_init()");
    r = larder__private_lock(handle, id, &a, &p, NULL);
    if (r != LARDER_OK)
        return r;
    larder_pool_info_init(&own);
    larder__private_info(a, p, &own);
    larder__handle_unlock(a);
    return sized_write(info, &own, sizeof own);
}
