/* private.c - private pools: for graph captures and for users; what they hold,
 * and their limits. */
#include "core/pools/private.h"

#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"
#include "core/entry/handle.h"
#include "core/pools/pool.h"

static larder_result id_fail(larder_result r, larder_pool_id id,
                             const char *what)
{
    return larder__fail(r, "private pool (%llu, %llu) %s",
                        (unsigned long long)id.first,
                        (unsigned long long)id.second, what);
}

larder_result larder__private_find(struct allocator *a, larder_pool_id id,
                                   struct private_pool **out)
{
    *out = larder__pool_index_get(&a->privates.index, id);
    return *out != NULL
               ? LARDER_OK
               : id_fail(LARDER_ERR_UNKNOWN_POOL, id, "does not exist");
}

larder_result larder__private_lock(larder_allocator *handle, larder_pool_id id,
                                   struct allocator **a,
                                   struct private_pool **out,
                                   const void *caller)
{
    larder_result r = larder__handle_lock_for(handle, a, caller);

    if (r != LARDER_OK)
        return r;
    r = larder__private_find(*a, id, out);
    if (r != LARDER_OK)
        larder__handle_unlock(*a);
    return r;
}

/* ---- captures --------------------------------------------------------------- */

void larder__private_decide(struct allocator *a)
{
    const struct route *r = a->routes;

    while (r != NULL && r->to->lends && !r->to->is_captured)
        r = r->next;
    a->routes_lend = a->policy->is_paged && r == NULL;
}

bool larder__private_is_graphs(struct allocator *a, larder_stream stream)
{
    int is_capturing = 0;

    return a->captures > 0 ||
           larder_device_stream_is_capturing(a->device, stream,
                                             &is_capturing) != LARDER_OK ||
           is_capturing;
}

static bool route_is_graphs(const struct route *r, larder_stream stream)
{
    return r->to->has_graph ||
           (r->filter != NULL && !r->filter(r->ctx, stream));
}

bool larder__private_may_be_graphs(struct allocator *a, larder_stream stream)
{
    const struct route *r = allocator_is_capturing(a) ? a->routes : NULL;

    while (r != NULL && !route_is_graphs(r, stream))
        r = r->next;
    return r != NULL || larder__private_is_graphs(a, stream);
}

struct private_pool *larder__private_create(larder_pool_id id)
{
    struct private_pool *p = larder__host_alloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->id = id;
    larder__pools_init(p->pools, p);
    return p;
}

/* ---- lists ---------------------------------------------------------------- */

void larder__private_append(struct allocator *a, struct private_pool *p)
{
    p->link = a->privates.end != NULL ? a->privates.end : &a->privates.first;
    *p->link = p;
    a->privates.end = &p->next;
    a->privates.regions += p->region != NULL;
    larder__assert(p->next == NULL && p->users == 0);
    larder__assert(p->holding.held_bytes == 0);
}

static bool is_of_user(const struct private_pool *p)
{
    return p->tag == NULL && p->region == NULL;
}

static void private_unlink(struct allocator *a, const struct private_pool *p)
{
    larder__assert(*p->link == p);
    *p->link = p->next;
    if (p->next != NULL)
        p->next->link = p->link;
    else
        a->privates.end = p->link;
    a->privates.regions -= p->region != NULL;
}

void larder__private_append_unused(struct allocator *a, struct private_pool *p)
{
    larder__assert(p->users == 0 && p->unused_next == NULL);
    larder__assert(a->privates.unused_last != p);
    if (a->privates.unused_last != NULL)
        a->privates.unused_last->unused_next = p;
    else
        a->privates.unused = p;
    a->privates.unused_last = p;
}

static void route_link(struct allocator *a, struct route *route)
{
    struct route **link = &a->routes;

    while (*link != NULL && !a->conf.rules->newest_scope_first)
        link = &(*link)->next;
    route->next = *link;
    *link = route;
    larder__assert(route->to->route == route && route->to->users > 0);
}

static void route_unlink(struct allocator *a, const struct route *route)
{
    struct route **link = &a->routes;

    while (*link != route) {
        larder__assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = route->next;
}

/* ---- begin and end --------------------------------------------------------- */

static larder_result begin_check(larder_pool_id id,
                                 const struct private_pool *p)
{
    if (id.first == 0 && id.second == 0)
        return larder__fail(LARDER_ERR_INVALID,
                            "pool (0, 0) is the default pool: it cannot be "
                            "begun");
    if (p != NULL && p->route != NULL)
        return id_fail(LARDER_ERR_INVALID, id, "is already begun");
    if (p != NULL && p->users == 0)
        return id_fail(LARDER_ERR_INVALID, id, "was released by its last user");
    return LARDER_OK;
}

/* Make a new pool of the user's.  NULL: no host memory. */
static struct private_pool *private_make(struct allocator *a, larder_pool_id id)
{
    struct private_pool *p = larder__pool_index_reserve(&a->privates.index)
                                 ? larder__private_create(id)
                                 : NULL;

    if (p == NULL)
        return NULL;
    larder__private_append(a, p);
    larder__pool_index_add(&a->privates.index, p);
    return p;
}

larder_result larder__private_begin(struct allocator *a, larder_pool_id id,
                                    larder_pool_filter *filter, void *ctx)
{
    struct private_pool *p = larder__pool_index_get(&a->privates.index, id);
    struct route *route;
    larder_result r = begin_check(id, p);

    larder__assert(allocator_is_locked(a));
    if (r != LARDER_OK)
        return r;
    route = larder__host_alloc(1, sizeof *route);
    if (route != NULL && p == NULL)
        p = private_make(a, id);
    if (route == NULL || p == NULL) {
        larder__host_free(route);
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    p->users++;
    p->route = route;
    *route = (struct route){.to = p, .filter = filter, .ctx = ctx};
    route_link(a, route);
    larder__private_decide(a);
    return LARDER_OK;
}

larder_result larder__private_end(struct allocator *a, larder_pool_id id)
{
    struct private_pool *p = larder__pool_index_get(&a->privates.index, id);

    if (p == NULL || p->route == NULL)
        return id_fail(LARDER_ERR_UNKNOWN_POOL, id, "is not begun");
    route_unlink(a, p->route);
    larder__host_free(p->route);
    p->route = NULL;
    larder__private_decide(a);
    return LARDER_OK;
}

larder_result larder__private_release(struct allocator *a, larder_pool_id id)
{
    struct private_pool *p;
    larder_result r = larder__private_find(a, id, &p);

    if (r != LARDER_OK)
        return r;
    if (p->users == 0)
        return id_fail(LARDER_ERR_UNKNOWN_POOL, id,
                       "was released by its last user");
    larder__assert(p->users > 0 && p->unused_next == NULL);
    if (--p->users == 0)
        larder__private_append_unused(a, p);
    return LARDER_OK;
}

static void private_free(struct allocator *a, struct private_pool *p)
{
    holding_set(&a->account, &p->holding, 0, 0);
    larder__host_free(p->region);
    larder__pools_destroy(p->pools);
    larder__host_free(p);
}

void larder__private_remove(struct allocator *a, struct private_pool *p)
{
    larder__assert(p->route == NULL && p->unused_next == NULL);
    private_unlink(a, p);
    if (is_of_user(p))
        larder__pool_index_remove(&a->privates.index, p);
    private_free(a, p);
}

static uint64_t pools_cached_bytes(const struct pool *pools)
{
    uint64_t bytes = 0;
    const struct heap *heap;

    for (size_t i = 0; (heap = pools_heap(pools, i)) != NULL; i++) {
        for (struct block *b = larder__bins_fit(heap->bins, 0); b != NULL;
             b = bins_next(heap->bins, b))
            bytes += b->bytes;
    }
    return bytes;
}

uint64_t larder__private_cached_bytes(const struct allocator *a)
{
    uint64_t bytes = 0;

    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next)
        bytes += p->is_paused ? 0 : pools_cached_bytes(p->pools);
    return bytes;
}

void larder__private_destroy(struct allocator *a)
{
    while (a->routes != NULL) {
        struct route *route = a->routes;

        a->routes = route->next;
        larder__host_free(route);
    }
    while (a->privates.first != NULL) {
        struct private_pool *p = a->privates.first;

        a->privates.first = p->next;
        private_free(a, p);
    }
    larder__pool_index_destroy(&a->privates.index);
}

/* ---- limits -------------------------------------------------------------- */

/* The memory that it holds, and its segments carved from pieces. */
static uint64_t reserved_bytes(const struct private_pool *p)
{
    uint64_t bytes = p->holding.held_bytes;

    for (const struct segment *s = p->segments; s != NULL; s = s->pool_next)
        bytes += s->kind == SEGMENT_CARVED ? s->bytes : 0;
    return bytes;
}

bool larder__private_allows(const struct request *q)
{
    const struct private_pool *p = q->heap->pool->owner;

    if (p == NULL || p->holding.limit_bytes == 0)
        return true;
    larder__assert(q->segment_bytes >= q->size || q->segment_bytes == 0);
    return q->segment_bytes <= p->holding.limit_bytes &&
           reserved_bytes(p) <= p->holding.limit_bytes - q->segment_bytes;
}

static void info_count_block(const struct block *b, larder_pool_info *out)
{
    if (!block_is_in_use(b))
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
    out->reserved_bytes = reserved_bytes(p);
    for (const struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        out->segments++;
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b))
            info_count_block(b, out);
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
