/* torch_pools.c - private pools begun and ended by PyTorch, and the requests
 * that go to them.
 *
 * The decision is made before the allocator is called, because it may query the
 * driver, and passed to the allocator's filter in a thread-local variable. */
#include "torch_pools.h"

#include <stdlib.h>

#include "torch_devices.h"
#include "torch_failure.h"
#include "torch_fork.h"

enum { STREAMS_MAX = 16 };

/* A pool from its begin to its end. */
struct torch_route {
    struct torch_route *next;
    larder_pool_id id;
    uint64_t thread; /* the thread that began it */
    /* The first few captured streams on which it served requests. */
    int stream_count;
    larder_stream streams[STREAMS_MAX];
};

static _Thread_local const struct torch_route *aim;

/* A number for each thread that is never reused, unlike pthread_t. */
static uint64_t this_thread(void)
{
    static atomic_uint_fast64_t numbers;
    static _Thread_local uint64_t own;

    if (own == 0)
        own = atomic_fetch_add(&numbers, 1) + 1;
    return own;
}

static int is_aimed_at(void *ctx, larder_stream stream)
{
    (void)stream;
    return aim == ctx;
}

/* ---- choosing a pool ------------------------------------------------------------ */

static bool has_stream(const struct torch_route *route, larder_stream stream)
{
    for (int i = 0; i < route->stream_count; i++) {
        if (route->streams[i] == stream)
            return true;
    }
    return false;
}

static void note_stream(struct torch_route *route, larder_stream stream)
{
    if (route->stream_count < STREAMS_MAX && !has_stream(route, stream))
        route->streams[route->stream_count++] = stream;
}

static struct torch_route *of_thread(const struct torch_pools *pools)
{
    struct torch_route *route = pools->routes;

    while (route != NULL && route->thread != this_thread())
        route = route->next;
    return route;
}

static struct torch_route *of_stream(const struct torch_pools *pools,
                                     larder_stream stream)
{
    struct torch_route *route = pools->routes;

    while (route != NULL && !has_stream(route, stream))
        route = route->next;
    return route;
}

/* The lock is held.  NULL is the default pool. */
static larder_result choose(struct torch_pools *pools, larder_stream stream,
                            bool is_captured, struct torch_route **out)
{
    *out = of_thread(pools);
    if (*out != NULL) {
        if (is_captured)
            note_stream(*out, stream);
        return LARDER_OK;
    }
    if (!is_captured || pools->routes == NULL)
        return LARDER_OK;
    *out = of_stream(pools, stream);
    if (*out == NULL && pools->routes->next == NULL)
        *out = pools->routes;
    if (*out != NULL)
        return LARDER_OK;
    larder__torch_remember_words(
        "several captures are in progress, and stream 0x%llx belongs to a "
        "thread that began none of them, so the owner of its memory is "
        "unknown; capture one graph at a time",
        (unsigned long long)stream);
    return LARDER_ERR_CAPTURING;
}

larder_result larder__torch_pools_aim(struct torch_device *d,
                                      larder_stream stream, bool *is_aimed)
{
    struct torch_route *route = NULL;
    int captured = 0;
    larder_result r;

    if (atomic_load_explicit(&d->pools.begun, memory_order_acquire) == 0)
        return LARDER_OK;
    r = larder__torch_noted(
        larder_device_stream_is_capturing(d->device, stream, &captured));
    if (r != LARDER_OK)
        return r;
    pthread_mutex_lock(&d->pools.lock);
    r = choose(&d->pools, stream, captured != 0, &route);
    pthread_mutex_unlock(&d->pools.lock);
    *is_aimed = route != NULL;
    if (*is_aimed)
        aim = route;
    return r;
}

void larder__torch_pools_leave(void)
{
    aim = NULL;
}

/* ---- PyTorch's calls ------------------------------------------------------------ */

static void route_add(struct torch_pools *pools, struct torch_route *route)
{
    pthread_mutex_lock(&pools->lock);
    route->next = pools->routes;
    pools->routes = route;
    pthread_mutex_unlock(&pools->lock);
    atomic_fetch_add_explicit(&pools->begun, 1, memory_order_release);
}

/* Remove and return the last one begun with this id. */
static struct torch_route *route_take(struct torch_pools *pools,
                                      larder_pool_id id)
{
    struct torch_route **link = &pools->routes;
    struct torch_route *route;

    pthread_mutex_lock(&pools->lock);
    while (*link != NULL &&
           ((*link)->id.first != id.first || (*link)->id.second != id.second))
        link = &(*link)->next;
    route = *link;
    if (route != NULL) {
        *link = route->next;
        atomic_fetch_sub(&pools->begun, 1);
    }
    pthread_mutex_unlock(&pools->lock);
    return route;
}

static larder_result torch_pools_begin(struct torch_device *d,
                                       larder_pool_id id)
{
    struct torch_route *route = calloc(1, sizeof *route);
    larder_result r;

    if (route == NULL) {
        larder__torch_remember_words("no host memory to begin a pool");
        return LARDER_ERR_NO_HOST_MEMORY;
    }
    route->id = id;
    route->thread = this_thread();
    r = larder_pool_begin(atomic_load(&d->allocator), id, is_aimed_at, route);
    if (r == LARDER_OK)
        route_add(&d->pools, route);
    else
        free(route);
    return larder__torch_noted(r);
}

void larder_torch_begin_pool(int device, uint64_t id_first, uint64_t id_second,
                             void *filter)
{
    struct torch_device *d;
    larder_result r = larder__torch_device_get(device, &d);

    (void)filter;
    if (r == LARDER_OK)
        r = torch_pools_begin(d, (larder_pool_id){id_first, id_second});
    larder__torch_raise(r);
}

/* The allocator comes first: then it no longer calls the filter with the
 * route. */
void larder_torch_end_pool(int device, uint64_t id_first, uint64_t id_second)
{
    const larder_pool_id id = {id_first, id_second};
    struct torch_device *d;

    if (larder__torch_is_forked() ||
        larder__torch_device_get(device, &d) != LARDER_OK)
        return;
    if (larder__torch_noted(larder_pool_end(atomic_load(&d->allocator), id)) ==
        LARDER_OK)
        free(route_take(&d->pools, id));
}

void larder_torch_release_pool(int device, uint64_t id_first,
                               uint64_t id_second)
{
    const larder_pool_id id = {id_first, id_second};
    struct torch_device *d;

    if (!larder__torch_is_forked() &&
        larder__torch_device_get(device, &d) == LARDER_OK)
        (void)larder__torch_noted(
            larder_pool_release(atomic_load(&d->allocator), id));
}

void larder__torch_pools_clear(struct torch_pools *pools)
{
    while (pools->routes != NULL) {
        struct torch_route *route = pools->routes;

        pools->routes = route->next;
        free(route);
    }
    atomic_store(&pools->begun, 0);
}
