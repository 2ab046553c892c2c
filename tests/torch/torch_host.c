/* torch_host.c - PyTorch's side of the plug-in. */
#include "torch/torch_host.h"

#include <dlfcn.h>
#include <pthread.h>

#include "driver/fakecuda.h"

/* ---- the plug-in ---------------------------------------------------------------- */

void *host_symbol(const char *name)
{
    static void *library;
    void *symbol;

    if (library == NULL)
        library = dlopen(LARDER_TORCH_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        print_error("%s\n", dlerror());
    assert_non_null(library);
    symbol = dlsym(library, name);
    if (symbol == NULL)
        print_error("the plug-in has no %s\n", name);
    assert_non_null(symbol);
    return symbol;
}

/* ---- devices -------------------------------------------------------------------- */

static bool on_driver(void)
{
    const char *host = getenv("LARDER_TORCH_HOST");

    return host != NULL && strcmp(host, "cuda") == 0;
}

static const struct fakecuda_control *driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, FAKECUDA_CONTROL);
    fakecuda_control_fn *fn;

    assert_non_null(symbol);
    memcpy(&fn, &symbol, sizeof fn);
    return fn();
}

static larder_device *plugin_device(int device)
{
    larder_device *dev = NULL;

    assert_int_equal(LIB(larder_torch_device)(device, &dev), LARDER_OK);
    return dev;
}

void host_up(larder_policy policy, const char *conf)
{
    char spec[64];
    int number = -1;

    snprintf(spec, sizeof spec, "sim:%dMiB,events=manual,count=%d",
             HOST_DEVICE_MIB, HOST_DEVICES);
    if (on_driver()) {
        for (int i = 0; i < HOST_DEVICES; i++)
            assert_int_equal(driver()->add(spec, i, &number), LARDER_OK);
        snprintf(spec, sizeof spec, "cuda:0");
    }
    assert_int_equal(
        LIB(larder_torch_configure)(spec, policy, conf == NULL ? "" : conf),
        LARDER_OK);
}

static void assert_nothing_left(const larder_sim_usage *usage)
{
    assert_int_equal(usage->allocations, 0);
    assert_int_equal(usage->pages, 0);
    assert_int_equal(usage->events, 0);
}

void host_down(void)
{
    assert_int_equal(LIB(larder_torch_close)(), LARDER_OK);
    assert_int_equal(LIB(larder_torch_error_count)(), 0);
    for (int i = 0; on_driver() && i < HOST_DEVICES; i++) {
        larder_sim_usage usage = {.size = sizeof usage};

        assert_int_equal(driver()->get_usage(driver()->device(i), &usage),
                         LARDER_OK);
        assert_nothing_left(&usage);
        driver()->remove(i);
    }
    if (on_driver() && driver()->broken() != 0)
        print_error("broken rules of the driver: %s\n", driver()->lines());
    if (on_driver())
        assert_int_equal(driver()->broken(), 0);
}

void host_complete(int device, uintptr_t stream)
{
    larder_result r =
        on_driver() ? driver()->complete(driver()->device(device), stream)
                    : LIB(larder_sim_complete)(plugin_device(device), stream);

    assert_int_equal(r, LARDER_OK);
}

void host_capture(int device, uintptr_t stream, bool begin)
{
    larder_device *dev =
        on_driver() ? driver()->device(device) : plugin_device(device);
    larder_result r;

    if (on_driver())
        r = begin ? driver()->capture_begin(dev, stream)
                  : driver()->capture_end(dev, stream);
    else
        r = begin ? LIB(larder_sim_capture_begin)(dev, stream)
                  : LIB(larder_sim_capture_end)(dev, stream);
    assert_int_equal(r, LARDER_OK);
}

/* ---- the wrapper ---------------------------------------------------------------- */

enum { SLOTS = 4096 };

struct allocation {
    void *ptr;
    size_t bytes;
    int device;
    uintptr_t stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation table[SLOTS];

static struct allocation *table_find(const void *ptr)
{
    for (int i = 0; i < SLOTS; i++) {
        if (table[i].ptr == ptr)
            return &table[i];
    }
    return NULL;
}

/* The address is removed from the map before the plug-in is called. */
static struct allocation table_take(const void *ptr)
{
    struct allocation taken = {0};
    struct allocation *at;

    pthread_mutex_lock(&lock);
    at = table_find(ptr);
    if (at != NULL) {
        taken = *at;
        at->ptr = NULL;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

bool host_raises(void)
{
    static int raises = -1;

    if (raises < 0)
        raises = LIB(larder_torch_raises)() != LARDER_TORCH_NOTHING;
    return raises > 0;
}

void *host_malloc(size_t bytes, int device, uintptr_t stream)
{
    struct allocation *at;
    void *ptr;

    if (host_raises())
        ptr = LIB(larder_torch_pool_alloc)(bytes, device, (void *)stream);
    else
        ptr = LIB(larder_torch_alloc)(bytes, device, (void *)stream);

    if (ptr == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    at = table_find(NULL);
    if (at != NULL)
        *at = (struct allocation){ptr, bytes, device, stream};
    pthread_mutex_unlock(&lock);
    assert_non_null(at);
    return ptr;
}

void host_free(void *ptr)
{
    struct allocation a = table_take(ptr);

    assert_ptr_equal(a.ptr, ptr);
    LIB(larder_torch_free)(ptr, a.bytes, a.device, (void *)a.stream);
}

void host_record_stream(void *ptr, uintptr_t stream)
{
    LIB(larder_torch_record_stream)(ptr, (void *)stream);
}

/* ---- queries -------------------------------------------------------------------- */

static larder_allocator *plugin_allocator(int device)
{
    larder_allocator *a = NULL;

    assert_int_equal(LIB(larder_torch_allocator)(device, &a), LARDER_OK);
    return a;
}

larder_stats host_stats(int device)
{
    larder_stats st;

    LIB(larder_stats_init_sized)(&st, sizeof st);
    assert_int_equal(LIB(larder_stats_get)(plugin_allocator(device), &st),
                     LARDER_OK);
    return st;
}

struct looking {
    larder_addr addr;
    larder_pool_id found;
    bool is_found;
};

static int look(void *ctx, const larder_segment_info *s)
{
    struct looking *l = ctx;

    if (l->addr < s->addr || l->addr - s->addr >= s->bytes)
        return 0;
    l->found = s->pool;
    l->is_found = true;
    return 1;
}

larder_pool_id host_pool_of(int device, const void *ptr)
{
    struct looking l = {.addr = (larder_addr)(uintptr_t)ptr};

    LIB(larder_walk)(plugin_allocator(device), look, NULL, &l);
    assert_true(l.is_found);
    return l.found;
}

void host_failed(const char *words)
{
    const char *last = LIB(larder_torch_last_error)();

    if (strstr(last, words) == NULL)
        print_error("'%s' is not in the last failure: %s\n", words, last);
    assert_non_null(strstr(last, words));
}
