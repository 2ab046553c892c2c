#include "core/entry/handle.h"

#include <pthread.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/state/shard.h"

/* Keeps dead handles reachable, so that leak checkers know them. */
static _Atomic(struct larder_allocator *) all_handles;

/* ---- forks ---------------------------------------------------------------- */

/* Kept reachable, for leak checkers too. */
static void handle_in_child(void)
{
    for (struct larder_allocator *h = atomic_load(&all_handles); h != NULL;
         h = h->next) {
        if (h->of_parent == NULL)
            h->of_parent = atomic_load(&h->allocator);
        atomic_store(&h->allocator, NULL);
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
    atomic_init(&h->allocator, a);
    h->next = atomic_load(&all_handles);
    while (!atomic_compare_exchange_weak(&all_handles, &h->next, h))
        ;
    return h;
}

larder_result larder__handle_bad(larder_allocator *handle)
{
    if (handle == NULL)
        return larder__fail(LARDER_ERR_INVALID, "the allocator is NULL");
    if (handle->of_parent != NULL)
        return larder__fail(LARDER_ERR_FORKED,
                            "allocator %p was made before a fork: it is the "
                            "parent process's",
                            (void *)handle);
    return larder__fail(LARDER_ERR_DESTROYED, "allocator %p was destroyed",
                        (void *)handle);
}

larder_result larder__handle_lock(larder_allocator *handle,
                                  struct allocator **out)
{
    *out = handle_allocator(handle);
    if (*out == NULL)
        return larder__handle_bad(handle);
    larder__lock_all(*out);
    history_enter(*out, NULL);
    return LARDER_OK;
}

void larder__handle_unlock(struct allocator *a)
{
    larder__unlock_all(a);
}
