/* device.c - the device object: opened by its spec or created from a table,
 * closed, queried. */
#include "device/device_object.h"

#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/process.h"
#include "base/sized.h"

/* ---- the table ---------------------------------------------------------- */

#define REQUIRED_MAP(X)                                                        \
    X(name)                                                                    \
    X(close)                                                                   \
    X(props)                                                                   \
    X(mem_alloc)                                                               \
    X(mem_free)                                                                \
    X(mem_info)                                                                \
    X(event_create)                                                            \
    X(event_destroy)                                                           \
    X(event_record)                                                            \
    X(event_query)                                                             \
    X(event_sync)                                                              \
    X(stream_sync)

#define VMM_MAP(X)                                                             \
    X(address_reserve)                                                         \
    X(address_free)                                                            \
    X(page_create)                                                             \
    X(page_release)                                                            \
    X(map)                                                                     \
    X(unmap)                                                                   \
    X(set_access)

enum {
#define X(name) +1
    VMM_CALLS = 0 VMM_MAP(X)
#undef X
};

static const char *table_missing(const larder_device_ops *ops)
{
#define X(member)                                                              \
    if (ops->member == NULL) {                                                 \
        return #member;                                                        \
    }
    REQUIRED_MAP(X)
#undef X
    return NULL;
}

static int table_vmm_calls(const larder_device_ops *ops)
{
    int n = 0;

#define X(member) n += ops->member != NULL;
    VMM_MAP(X)
#undef X
    return n;
}

static larder_result table_check(const larder_device_ops *ops)
{
    const char *missing = table_missing(ops);
    int vmm = table_vmm_calls(ops);

    if (missing != NULL)
        return larder__fail(LARDER_ERR_INVALID,
                            "the device table lacks '%s', which is required",
                            missing);
    if ((ops->page_export != NULL) != (ops->page_import != NULL) ||
        (ops->page_export != NULL && vmm == 0))
        return larder__fail(LARDER_ERR_INVALID,
                            "the device table must have 'page_export' and "
                            "'page_import' both, beside the virtual memory "
                            "calls, or neither");
    if (vmm != 0 && vmm != VMM_CALLS)
        return larder__fail(LARDER_ERR_INVALID,
                            "the device table has %d of the %d virtual "
                            "memory calls: it must have all or none",
                            vmm, VMM_CALLS);
    return LARDER_OK;
}

void larder__device_without_vmm(larder_device_ops *ops)
{
#define X(member) ops->member = NULL;
    VMM_MAP(X)
#undef X
    ops->page_export = NULL;
    ops->page_import = NULL;
}

/* ---- creating and closing ----------------------------------------------- */

bool larder__device_is_parents(const larder_device *dev)
{
    return dev->process != process_number();
}

larder_result larder__device_check(const larder_device *dev)
{
    if (dev == NULL)
        return larder__fail(LARDER_ERR_INVALID, "the device is NULL");
    if (larder__device_is_parents(dev))
        return larder__fail_plain(LARDER_ERR_FORKED);
    return LARDER_OK;
}

larder_result larder_device_create(const larder_device_ops *ops, void *self,
                                   larder_device **out)
{
    larder_device_ops table = {.size = sizeof table};
    larder_prices prices;
    larder_device *dev;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if ((r = sized_read(&table, sizeof table, ops)) != LARDER_OK ||
        (r = table_check(&table)) != LARDER_OK)
        return r;
    dev = larder__process_watch() ? larder__host_alloc(1, sizeof *dev) : NULL;
    if (dev == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (pthread_mutex_init(&dev->plan_lock, NULL) != 0) {
        larder__host_free(dev);
        return larder__fail_plain(LARDER_ERR_SYSTEM);
    }
    dev->ops = table;
    dev->self = self;
    dev->process = process_number();
    larder_prices_init(&prices);
    larder_device_set_prices(dev, &prices);
    *out = dev;
    return LARDER_OK;
}

larder_result larder_device_open(const char *spec, int ordinal,
                                 larder_device **out)
{
    if (spec == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (strncmp(spec, "sim:", 4) == 0)
        return larder__sim_open(spec, ordinal, out);
    if (strncmp(spec, "cuda:", 5) == 0 || strncmp(spec, "hip:", 4) == 0)
        return larder__cuda_open(spec, ordinal, out);
    return larder__fail(LARDER_ERR_INVALID,
                        "device '%s' is unknown: expected "
                        "sim:SIZE[,SETTING=VALUE...], cuda:N or hip:N",
                        spec);
}

larder_result larder_device_close(larder_device *dev)
{
    larder_result r;

    if (dev == NULL)
        return LARDER_OK;
    r = larder__device_check(dev);
    if (r != LARDER_OK)
        return r;
    if (atomic_load(&dev->holders) != 0)
        return larder__fail(LARDER_ERR_BUSY,
                            "the device is still used by %ld allocator(s) or "
                            "import(s)",
                            atomic_load(&dev->holders));
    dev->ops.close(dev->self);
    pthread_mutex_destroy(&dev->plan_lock);
    larder__host_free(dev);
    return LARDER_OK;
}

void larder__device_holds(larder_device *dev, uint64_t bytes)
{
    atomic_fetch_add_explicit(dev->over != NULL ? &dev->over->pinned_bytes
                                                : &dev->held_bytes,
                              bytes, memory_order_relaxed);
}

void larder__device_lacks(larder_device *dev, uint64_t bytes)
{
    atomic_fetch_sub_explicit(dev->over != NULL ? &dev->over->pinned_bytes
                                                : &dev->held_bytes,
                              bytes, memory_order_relaxed);
}

uint64_t larder__device_held(const larder_device *dev)
{
    return atomic_load_explicit(&dev->held_bytes, memory_order_relaxed);
}

uint64_t larder__device_pinned(const larder_device *dev)
{
    return atomic_load_explicit(&dev->pinned_bytes, memory_order_relaxed);
}

void larder__device_hold(larder_device *dev)
{
    atomic_fetch_add(&dev->holders, 1);
}

void larder__device_drop(larder_device *dev)
{
    atomic_fetch_sub(&dev->holders, 1);
}

/* ---- properties --------------------------------------------------------- */

bool larder__device_has_vmm(const larder_device *dev)
{
    return dev->ops.map != NULL;
}

bool larder__device_can_import(const larder_device *dev)
{
    return dev->ops.page_import != NULL;
}

void *larder__device_self(const larder_device *dev, const char *name)
{
    return dev != NULL && dev->ops.name == name ? dev->self : NULL;
}

const char *larder_device_name(larder_device *dev)
{
    return dev == NULL ? "" : dev->ops.name;
}

larder_result larder_device_get_props(larder_device *dev,
                                      larder_device_props *out)
{
    larder_device_props props = {.size = sizeof props};
    larder_result r;
    size_t size;

    if ((r = larder__device_check(dev)) != LARDER_OK ||
        (r = sized_get(out, &size)) != LARDER_OK)
        return r;
    r = dev->ops.props(dev->self, &props);
    if (r != LARDER_OK)
        return larder__fail(r, "props failed: %s", larder_result_text(r));
    return sized_write(out, &props, sizeof props);
}
