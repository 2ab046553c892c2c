/* tag_limit.c - statistics and limits of tags. */
#include "core/request/request.h"
#include "core/segments/release.h"
#include "core/state/held.h"

#include <larder/tag.h>

#include "base/fail.h"
#include "base/sized.h"
#include "core/entry/handle.h"
#include "core/pools/private.h"
#include "core/pools/tags.h"
#include "core/segments/segment.h"

/* ---- limits --------------------------------------------------------------- */

static bool has_room(const struct private_pool *p, uint64_t bytes)
{
    return holding_is_within(&p->holding, bytes);
}

bool larder__usage_allows(struct allocator *a, const struct request *q)
{
    struct private_pool *owner = q->heap->pool->owner;
    uint64_t bytes;

    larder__assert(allocator_is_locked(a));
    if (owner == NULL || owner->holding.limit_bytes == 0)
        return true;
    if (owner->tag == NULL)
        return larder__private_allows(q);
    bytes = larder__pool_growth(a, q);
    if (has_room(owner, bytes))
        return true;
    if (!allocator_is_capturing(a))
        (void)larder__private_release_cached(a, owner);
    if (has_room(owner, bytes))
        return true;
    owner->usage.refused++;
    return false;
}

/* ---- the public calls ----------------------------------------------------- */

static larder_result usage_copy(const struct private_pool *p,
                                larder_tag_usage *out)
{
    const struct usage *u = &p->usage;
    larder_tag_usage all = {
        .allocation_count = u->allocations,
        .allocated_bytes = u->allocated_bytes,
        .peak_allocated_bytes = u->allocated_peak,
        .requested_bytes = u->requested_bytes,
        .reserved_bytes = p->holding.held_bytes,
        .peak_reserved_bytes = u->reserved_peak,
        .limit_bytes = p->holding.limit_bytes,
        .refused_count = u->refused,
        .is_paused = p->is_paused,
        .paused_bytes = p->paused_bytes,
        .kept_bytes = kept_bytes(&p->kept),
    };

    return sized_write(out, &all, sizeof all);
}

static larder_result usage_check(const larder_tag_usage *out)
{
    if (out == NULL || out->size < sizeof out->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_tag_usage: set its size before the call");
    return LARDER_OK;
}

larder_result larder_tag_stats(larder_allocator *handle, const char *name,
                               larder_tag_usage *out)
{
    struct allocator *a;
    struct tag *tag;
    larder_result r = usage_check(out);

    if (r != LARDER_OK || (r = larder__handle_lock(handle, &a)) != LARDER_OK)
        return r;
    r = larder__tag_find(a, name, &tag);
    if (r == LARDER_OK)
        r = usage_copy(tag->pool, out);
    return larder__handle_end(a, r);
}

larder_result larder_tag_limit(larder_allocator *handle, const char *name,
                               uint64_t bytes)
{
    struct allocator *a;
    struct tag *tag;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__tag_get(a, name, &tag);
    if (r == LARDER_OK)
        tag->pool->holding.limit_bytes = bytes;
    return larder__handle_end(a, r);
}
