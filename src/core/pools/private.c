#include "core/pools/private.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/pools/pool.h"
#include "core/pools/tags.h"

static bool id_equal(larder_pool_id x, larder_pool_id y)
{
    return x.first == y.first && x.second == y.second;
}

static larder_result id_fail(larder_result r, larder_pool_id id,
                             const char *what)
{
    return larder__fail(r, "private pool (%llu, %llu) %s",
                        (unsigned long long)id.first,
                        (unsigned long long)id.second, what);
}

static struct private_pool *private_get(struct allocator *a, larder_pool_id id)
{
    struct private_pool *p = a->private_pools;

    while (p != NULL &&
           (p->tag != NULL || p->region != NULL || !id_equal(p->id, id)))
        p = p->next;
    return p;
}

larder_result larder__private_find(struct allocator *a, larder_pool_id id,
                                   struct private_pool **out)
{
    *out = private_get(a, id);
    return *out != NULL
               ? LARDER_OK
               : id_fail(LARDER_ERR_UNKNOWN_POOL, id, "does not exist");
}

static struct route **route_find(struct allocator *a, larder_pool_id id)
{
    struct route **link = &a->routes;

    while (*link != NULL && !id_equal((*link)->to->id, id))
        link = &(*link)->next;
    return link;
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

void larder__private_append(struct allocator *a, struct private_pool *p)
{
    struct private_pool **link = &a->private_pools;

    while (*link != NULL)
        link = &(*link)->next;
    *link = p;
}

static larder_result begin_check(struct allocator *a, larder_pool_id id,
                                 const struct private_pool *p)
{
    if (id.first == 0 && id.second == 0)
        return larder__fail(LARDER_ERR_INVALID,
                            "pool (0, 0) is the default pool: it cannot be "
                            "begun");
    if (*route_find(a, id) != NULL)
        return id_fail(LARDER_ERR_INVALID, id, "is already begun");
    if (p != NULL && p->users == 0)
        return id_fail(LARDER_ERR_INVALID, id, "was released by its last user");
    return LARDER_OK;
}

larder_result larder__private_begin(struct allocator *a, larder_pool_id id,
                                    larder_pool_filter *filter, void *ctx)
{
    struct private_pool *p = private_get(a, id);
    struct private_pool *made = NULL;
    struct route *route;
    larder_result r = begin_check(a, id, p);

    if (r != LARDER_OK)
        return r;
    route = larder__host_alloc(1, sizeof *route);
    if (route != NULL && p == NULL)
        p = made = larder__private_create(id);
    if (route == NULL || p == NULL) {
        larder__host_free(route);
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    if (made != NULL)
        larder__private_append(a, made);
    p->users++;
    *route = (struct route){.to = p, .filter = filter, .ctx = ctx};
    if (a->conf.rules->newest_scope_first) {
        route->next = a->routes;
        a->routes = route;
    } else {
        *route_find(a, id) = route; /* not there: the end of the list */
    }
    return LARDER_OK;
}

larder_result larder__private_end(struct allocator *a, larder_pool_id id)
{
    struct route **link = route_find(a, id);
    struct route *route = *link;

    if (route == NULL)
        return id_fail(LARDER_ERR_UNKNOWN_POOL, id, "is not begun");
    *link = route->next;
    larder__host_free(route);
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
    p->users--;
    return LARDER_OK;
}

void larder__private_free(struct allocator *a, struct private_pool *p)
{
    holding_set(&a->account, &p->holding, 0, 0);
    larder__host_free(p->region);
    larder__pools_destroy(p->pools);
    larder__host_free(p);
}

void larder__private_remove(struct allocator *a, struct private_pool *p)
{
    struct private_pool **link = &a->private_pools;

    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    larder__private_free(a, p);
}

static uint64_t pool_cached_bytes(const struct pool *pool)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < pool->heap_count; i++) {
        const struct bins *bins = pool->heaps[i]->bins;

        for (struct block *b = larder__bins_fit(bins, 0); b != NULL;
             b = bins_next(bins, b))
            bytes += b->bytes;
    }
    return bytes;
}

uint64_t larder__private_cached_bytes(const struct allocator *a)
{
    uint64_t bytes = 0;

    for (const struct private_pool *p = a->private_pools; p != NULL;
         p = p->next) {
        if (!private_is_paused(p))
            bytes += pool_cached_bytes(&p->pools[POOL_SMALL]) +
                     pool_cached_bytes(&p->pools[POOL_LARGE]);
    }
    return bytes;
}

void larder__private_destroy(struct allocator *a)
{
    while (a->routes != NULL) {
        struct route *route = a->routes;

        a->routes = route->next;
        larder__host_free(route);
    }
    while (a->private_pools != NULL) {
        struct private_pool *p = a->private_pools;

        a->private_pools = p->next;
        larder__private_free(a, p);
    }
}
