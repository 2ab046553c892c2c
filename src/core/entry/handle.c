/* handle.c - the object behind larder_allocator. */
#include "core/entry/handle.h"

#include <pthread.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/state/shard.h"

/* Keeps dead handles reachable for leak checkers. */
static _Atomic(struct larder_allocator *) all_handles;

/* ---- forks ---------------------------------------------------------------- */

/* The allocators of the parent stay reachable, for leak checkers. */
static void handle_in_child(void)
{
    for (struct larder_allocator *h = atomic_load(&all_handles); h != NULL;
         h = h->next) {
        if (h->of_parent == NULL)
            h->of_parent = handle_allocator(h);
        atomic_store(&h->allocator, NULL);
        atomic_store(&h->watched, NULL);
    }
}

static bool is_watched;

static void handle_watch(void)
{
    is_watched = pthread_atfork(NULL, NULL, handle_in_child) == 0;
}

static bool handle_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    return pthread_once(&once, handle_watch) == 0 && is_watched;
}

/* ---- handles -------------------------------------------------------------- */

larder_allocator *larder__handle_make(struct allocator *a)
{
    struct larder_allocator *h =
        handle_watch_forks() ? larder__host_alloc(1, sizeof *h) : NULL;

    if (h == NULL)
        return NULL;
    larder__assert(a->policy != NULL && a->device != NULL);
    atomic_init(a->conf.debug > 0 ? &h->watched : &h->allocator, a);
    a->handle = h;
    h->next = atomic_load(&all_handles);
    while (!atomic_compare_exchange_weak(&all_handles, &h->next, h))
        ;
    return h;
}

/* The call is counted before the allocator is loaded, and larder__handle_take()
 * removes the allocator before it reads the count, so at least one of the two
 * sees the other. */
struct allocator *larder__handle_enter(larder_allocator *handle)
{
    struct allocator *a = handle_quick(handle);

    if (a != NULL || handle == NULL)
        return a;
    atomic_fetch_add(&handle->calls, 1);
    a = atomic_load(&handle->watched);
    if (a == NULL)
        atomic_fetch_sub(&handle->calls, 1);
    return a;
}

/* A handle cannot become watched during a call, so a count of 0 means that this
 * call was not counted. */
void larder__handle_leave(larder_allocator *handle)
{
    if (atomic_load_explicit(&handle->calls, memory_order_relaxed) != 0)
        atomic_fetch_sub(&handle->calls, 1);
}

larder_result larder__handle_alone(const larder_allocator *handle)
{
    if (atomic_load(&handle->calls) <= 1)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_BUSY,
                        "allocator %p cannot be destroyed: another call on it "
                        "is in progress",
                        (const void *)handle);
}

larder_result larder__handle_take(larder_allocator *handle)
{
    struct allocator *a = atomic_exchange(&handle->watched, NULL);
    larder_result r;

    if (a == NULL)
        return atomic_exchange(&handle->allocator, NULL) != NULL
                   ? LARDER_OK
                   : larder__handle_bad(handle);
    r = larder__handle_alone(handle);
    if (r != LARDER_OK)
        atomic_store(&handle->watched, a);
    return r;
}

larder_result larder__handle_bad(larder_allocator *handle)
{
    if (handle == NULL)
        return larder__fail(LARDER_ERR_INVALID, "the allocator is NULL");
    if (handle->of_parent != NULL)
        return larder__fail(LARDER_ERR_FORKED,
                            "allocator %p was created before a fork, by the "
                            "parent process",
                            (void *)handle);
    return larder__fail(LARDER_ERR_DESTROYED, "allocator %p was destroyed",
                        (void *)handle);
}

larder_result larder__handle_lock_for(larder_allocator *handle,
                                      struct allocator **out,
                                      const void *caller)
{
    *out = larder__handle_enter(handle);
    if (*out == NULL)
        return larder__handle_bad(handle);
    allocator_lock(*out);
    history_enter(*out, caller);
    return LARDER_OK;
}

larder_result larder__handle_lock(larder_allocator *handle,
                                  struct allocator **out)
{
    return larder__handle_lock_for(handle, out, NULL);
}

void larder__handle_unlock(struct allocator *a)
{
    larder_allocator *handle = a->handle;

    allocator_unlock(a);
    larder__handle_leave(handle);
}

larder_result larder__handle_end(struct allocator *a, larder_result r)
{
    larder__handle_unlock(a);
    return r;
}

/* ---- captures ------------------------------------------------------------ */

larder_result larder__capturing_forbids(const struct allocator *a,
                                        const char *what)
{
    if (!allocator_is_capturing(a))
        return LARDER_OK;
    return larder__fail(LARDER_ERR_CAPTURING,
                        "%s while a private pool is begun or a stream is being "
                        "captured",
                        what);
}
