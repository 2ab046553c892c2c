/* ort.c - ONNX Runtime's functions have no context argument, so there are
 * several sets of them, one for each owner. */
#include "adapter.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(larder_allocator *) owners[LARDER_ORT_SETS];

static void *set_alloc(int set, size_t bytes)
{
    larder_allocator *a = atomic_load(&owners[set]);
    larder_addr addr = 0;

    if (a == NULL || larder_alloc(a, bytes, 0, &addr) != LARDER_OK)
        return NULL;
    return (void *)(uintptr_t)addr;
}

static void set_free(int set, const void *ptr)
{
    larder_allocator *a = atomic_load(&owners[set]);

    if (a != NULL && ptr != NULL)
        (void)larder_free(a, (uintptr_t)ptr);
}

static void set_empty_cache(int set)
{
    larder_allocator *a = atomic_load(&owners[set]);

    if (a != NULL)
        (void)larder_empty_cache(a);
}

#define SET_MAP(X)                                                             \
    X(0)                                                                       \
    X(1)                                                                       \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define X(n)                                                                   \
    static void *alloc_##n(size_t bytes)                                       \
    {                                                                          \
        return set_alloc(n, bytes);                                            \
    }                                                                          \
    static void free_##n(void *ptr)                                            \
    {                                                                          \
        set_free(n, ptr);                                                      \
    }                                                                          \
    static void empty_cache_##n(void)                                          \
    {                                                                          \
        set_empty_cache(n);                                                    \
    }
SET_MAP(X)
#undef X

static const larder_ort_functions sets[LARDER_ORT_SETS] = {
#define X(n) {alloc_##n, free_##n, empty_cache_##n},
    SET_MAP(X)
#undef X
};

/* The lock is held.  The allocator belongs to the set from now on. */
static larder_result set_take(larder_adapter *ad, int device, int *out)
{
    larder_allocator *a;
    larder_device *dev;
    larder_result r;
    int set = 0;

    while (set < LARDER_ORT_SETS && atomic_load(&owners[set]) != NULL)
        set++;
    if (set == LARDER_ORT_SETS)
        return LARDER_ERR_BUSY;
    pthread_mutex_lock(&ad->lock);
    r = larder__adapter_device(ad, device, &dev);
    if (r == LARDER_OK)
        r = larder__adapter_make(ad, dev, &a);
    pthread_mutex_unlock(&ad->lock);
    if (r != LARDER_OK)
        return r;
    atomic_store(&owners[set], a);
    *out = set;
    return LARDER_OK;
}

larder_result larder_ort_functions_take(larder_adapter *ad, int device,
                                        larder_ort_functions *out)
{
    larder_result r;
    int set;

    if (ad == NULL || out == NULL || device < 0 || device >= ADAPTER_DEVICES)
        return LARDER_ERR_INVALID;
    pthread_mutex_lock(&lock);
    r = set_take(ad, device, &set);
    pthread_mutex_unlock(&lock);
    if (r == LARDER_OK)
        *out = sets[set];
    return r;
}

larder_result larder_ort_functions_release(
    const larder_ort_functions *functions)
{
    larder_allocator *a = NULL;

    if (functions == NULL)
        return LARDER_ERR_INVALID;
    for (int set = 0; set < LARDER_ORT_SETS; set++) {
        if (functions->alloc == sets[set].alloc)
            a = atomic_exchange(&owners[set], NULL);
    }
    return a == NULL ? LARDER_ERR_INVALID : larder_destroy(a);
}
