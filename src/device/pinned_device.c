/* pinned_device.c - a device whose memory is host memory, page-locked for
 * another device. */
#include <stdio.h>
#include <unistd.h>

#include <larder/pinned.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/ticks.h"
#include "device/device_object.h"

static const char pinned_name[] = "pinned";

struct pinned {
    larder_device *over;
    larder_device_props props;
    struct pinned_times times;
};

static void duration_add(struct pinned_duration *d, uint64_t begin_ns)
{
    uint64_t ns = larder__ticks_system_ns() - begin_ns;

    if (d->count == 0 || ns < d->min_ns)
        d->min_ns = ns;
    if (ns > d->max_ns)
        d->max_ns = ns;
    d->total_ns += ns;
    d->count++;
}

/* ---- memory ---------------------------------------------------------------- */

static larder_result op_mem_alloc(void *self, uint64_t bytes, larder_addr *out)
{
    struct pinned *p = self;
    uint64_t begin_ns = larder__ticks_system_ns();
    void *ptr = NULL;
    larder_result r = larder_device_host_alloc(p->over, bytes, &ptr);

    if (r == LARDER_ERR_NO_HOST_MEMORY) /* out of memory here */
        return LARDER_ERR_OUT_OF_MEMORY;
    if (r != LARDER_OK)
        return r;
    duration_add(&p->times.alloc, begin_ns);
    *out = (larder_addr)(uintptr_t)ptr;
    return LARDER_OK;
}

static larder_result op_mem_free(void *self, larder_addr addr)
{
    struct pinned *p = self;
    uint64_t begin_ns = larder__ticks_system_ns();
    larder_result r = larder_device_host_free(p->over, (void *)(uintptr_t)addr);

    if (r == LARDER_OK)
        duration_add(&p->times.free, begin_ns);
    return r;
}

static uint64_t pages_bytes(int name)
{
    long pages = sysconf(name);
    long bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
}

static larder_result op_mem_info(void *self, uint64_t *free_bytes,
                                 uint64_t *total_bytes)
{
    const struct pinned *p = self;

    *free_bytes = pages_bytes(_SC_AVPHYS_PAGES);
    *total_bytes = p->props.total_bytes;
    return LARDER_OK;
}

static larder_result op_props(void *self, larder_device_props *out)
{
    const struct pinned *p = self;

    *out = p->props;
    return LARDER_OK;
}

/* ---- order: the other device's --------------------------------------------- */

/* Define op_NAME(), which is the other device's call. */
#define OVER(name, parameters, ...)                                            \
    static larder_result op_##name parameters                                  \
    {                                                                          \
        return larder_device_##name(((struct pinned *)self)->over,             \
                                    __VA_ARGS__);                              \
    }

OVER(event_create, (void *self, uint64_t *out), out)
OVER(event_destroy, (void *self, uint64_t event), event)
OVER(event_record, (void *self, uint64_t event, larder_stream stream), event,
     stream)
OVER(event_query, (void *self, uint64_t event), event)
OVER(event_sync, (void *self, uint64_t event), event)

/* Nothing is ever queued on the host's pseudo-stream. */
static larder_result op_stream_sync(void *self, larder_stream stream)
{
    if (stream == LARDER_PINNED_STREAM)
        return LARDER_OK;
    return larder_device_stream_sync(((struct pinned *)self)->over, stream);
}

static larder_result op_stream_check(void *self, larder_stream stream)
{
    if (stream == LARDER_PINNED_STREAM)
        return LARDER_OK;
    return larder__device_stream_check(((struct pinned *)self)->over, stream);
}

static larder_result op_stream_is_capturing(void *self, larder_stream stream,
                                            int *out)
{
    *out = 0;
    if (stream == LARDER_PINNED_STREAM)
        return LARDER_OK;
    return larder_device_stream_is_capturing(((struct pinned *)self)->over,
                                             stream, out);
}

static const char *op_error_text(void *self)
{
    const larder_device *over = ((struct pinned *)self)->over;

    return over->ops.error_text != NULL ? over->ops.error_text(over->self) : "";
}

/* ---- creating and closing -------------------------------------------------- */

static void op_close(void *self)
{
    struct pinned *p = self;

    larder__device_drop(p->over);
    larder__host_free(p);
}

static const larder_device_ops pinned_ops = {
    .size = sizeof pinned_ops,
    .name = pinned_name,
    .close = op_close,
    .props = op_props,
    .mem_alloc = op_mem_alloc,
    .mem_free = op_mem_free,
    .mem_info = op_mem_info,
    .event_create = op_event_create,
    .event_destroy = op_event_destroy,
    .event_record = op_event_record,
    .event_query = op_event_query,
    .event_sync = op_event_sync,
    .stream_sync = op_stream_sync,
    .stream_check = op_stream_check,
    .stream_is_capturing = op_stream_is_capturing,
    .error_text = op_error_text,
};

static larder_result pinned_init(struct pinned *p)
{
    larder_device_props over = {.size = sizeof over};
    larder_result r = larder_device_get_props(p->over, &over);

    if (r != LARDER_OK)
        return r;
    p->props = (larder_device_props){
        .size = sizeof p->props,
        .total_bytes = pages_bytes(_SC_PHYS_PAGES),
        .ordinal = over.ordinal,
    };
    snprintf(p->props.name, sizeof p->props.name, "pinned host memory");
    return LARDER_OK;
}

larder_result larder__pinned_device_create(larder_device *over,
                                           larder_device **out)
{
    struct pinned *p;
    larder_result r;

    if (over->ops.host_alloc == NULL || over->ops.host_free == NULL)
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "the device '%s' has no pinned host memory",
                            larder_device_name(over));
    p = larder__host_alloc(1, sizeof *p);
    if (p == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    p->over = over;
    r = pinned_init(p);
    if (r == LARDER_OK)
        r = larder_device_create(&pinned_ops, p, out);
    if (r == LARDER_OK) {
        (*out)->over = over;
        larder__device_hold(over);
    } else {
        larder__host_free(p);
    }
    return r;
}

struct pinned_times *larder__pinned_device_times(const larder_device *dev)
{
    struct pinned *p = larder__device_self(dev, pinned_name);

    return p == NULL ? NULL : &p->times;
}
