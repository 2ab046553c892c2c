/* driver_load.c - finds the driver's real calls.
 *
 * This library's dlsym() shadows the C library's, so the real one is looked up
 * by version.  It searches the driver's library itself, so it never finds a
 * hook, and calls through its results never reach one. */
#include "preload_state.h"
#include "lookup.h"

#include <dlfcn.h>
#include <string.h>

typedef void *dlsym_fn(void *, const char *);

static _Atomic(dlsym_fn *) real_dlsym;

/* The versions of dlsym() in the C libraries of today's architectures. */
static dlsym_fn *find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5",
                                           "GLIBC_2.17", "GLIBC_2.27"};
    void *found = NULL;
    dlsym_fn *fn = NULL;

    for (size_t i = 0;
         found == NULL && i < sizeof versions / sizeof versions[0]; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&fn, &found, sizeof fn);
    return fn;
}

static dlsym_fn *get_dlsym(void)
{
    dlsym_fn *fn = atomic_load_explicit(&real_dlsym, memory_order_relaxed);

    if (fn == NULL) {
        fn = find_dlsym();
        atomic_store_explicit(&real_dlsym, fn, memory_order_relaxed);
    }
    return fn;
}

static void *find_nothing(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

void *preload_dlsym_target(void)
{
    dlsym_fn *fn = get_dlsym();
    void *out;

    if (fn == NULL) /* an unknown architecture's C library */
        fn = find_nothing;
    memcpy(&out, &fn, sizeof out);
    return out;
}

void *preload_real_dlsym(void *handle, const char *name)
{
    dlsym_fn *fn = get_dlsym();

    return fn == NULL ? NULL : fn(handle, name);
}

struct driver {
    void *library;
    struct preload_calls calls;
    bool is_complete;
};

static struct driver driver;
static atomic_bool is_loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the two */

/* The library that the program has loaded or, if none, the one it would
 * load. */
static void *library_open(void)
{
    void *out = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    return out != NULL
               ? out
               : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void driver_load_find(const struct driver *d, void *out,
                             const char *symbol)
{
    void *found = preload_real_dlsym(d->library, symbol);

    memcpy(out, &found, sizeof found);
}

/* Without these calls nothing can be served, and the driver is used
 * directly. */
static bool has_needed(const struct preload_calls *calls)
{
    return calls->cuCtxGetCurrent != NULL && calls->cuCtxGetDevice != NULL &&
           calls->cuCtxPushCurrent_v2 != NULL &&
           calls->cuCtxPopCurrent_v2 != NULL &&
           calls->cuCtxSynchronize != NULL &&
           calls->cuDevicePrimaryCtxRetain != NULL &&
           calls->cuDevicePrimaryCtxRelease_v2 != NULL &&
           calls->cuDeviceTotalMem_v2 != NULL && calls->cuEventCreate != NULL &&
           calls->cuEventDestroy_v2 != NULL && calls->cuEventRecord != NULL &&
           calls->cuEventQuery != NULL && calls->cuEventSynchronize != NULL &&
           calls->cuStreamSynchronize != NULL && calls->cuMemAlloc_v2 != NULL &&
           calls->cuMemFree_v2 != NULL && calls->cuMemGetInfo_v2 != NULL;
}

static void load(struct driver *d)
{
    d->library = library_open();
    if (d->library == NULL)
        return;
#define X(symbol, arguments) driver_load_find(d, &d->calls.symbol, #symbol);
    PRELOAD_USE_MAP(X)
#undef X
#define X(symbol, name, since, per_thread, arguments)                          \
    driver_load_find(d, &d->calls.symbol, #symbol);
    PRELOAD_HOOK_MAP(X)
#undef X
#define X(symbol, name, since, per_thread, types, params, args)                \
    driver_load_find(d, &d->calls.symbol, #symbol);
    PRELOAD_WORK_MAP(X)
    PRELOAD_SHARE_MAP(X)
#undef X
    d->is_complete = has_needed(&d->calls);
}

/* Not with pthread_once(): a constructor, which has the dynamic linker's lock,
 * would wait for a thread that waits for that lock.  Who comes second finds the
 * same. */
static void load_once(void)
{
    struct driver found = {.library = NULL};

    if (atomic_load_explicit(&is_loaded, memory_order_acquire))
        return;
    load(&found);
    pthread_mutex_lock(&lock);
    if (!atomic_load(&is_loaded))
        driver = found;
    atomic_store_explicit(&is_loaded, true, memory_order_release);
    pthread_mutex_unlock(&lock);
}

const struct preload_calls *preload_driver(void)
{
    load_once();
    return driver.is_complete ? &driver.calls : NULL;
}

void *preload_driver_symbol(const char *name)
{
    load_once();
    return driver.library == NULL ? NULL
                                  : preload_real_dlsym(driver.library, name);
}
