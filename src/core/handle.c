#include "core/handle.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/recording.h"

/* Keeps dead handles reachable, so that leak checkers know them. */
static _Atomic(struct larder_allocator *) all_handles;

larder_allocator *larder__handle_make(struct allocator *a)
{
    struct larder_allocator *h = larder__host_alloc(1, sizeof *h);

    if (h == NULL)
        return NULL;
    atomic_init(&h->allocator, a);
    h->next = atomic_load(&all_handles);
    while (!atomic_compare_exchange_weak(&all_handles, &h->next, h))
        ;
    return h;
}

larder_result larder__handle_get(larder_allocator *handle,
                                 struct allocator **out)
{
    if (handle == NULL)
        return larder__fail(LARDER_ERR_INVALID, "the allocator is NULL");
    *out = atomic_load_explicit(&handle->allocator, memory_order_acquire);
    if (*out == NULL)
        return larder__fail(LARDER_ERR_DESTROYED, "allocator %p was destroyed",
                            (void *)handle);
    return LARDER_OK;
}

larder_result larder__handle_lock(larder_allocator *handle,
                                  struct allocator **out)
{
    larder_result r = larder__handle_get(handle, out);

    if (r == LARDER_OK) {
        lock_take(&(*out)->lock);
        history_enter(*out, NULL);
    }
    return r;
}

void larder__handle_unlock(struct allocator *a)
{
    lock_leave(&a->lock);
}
