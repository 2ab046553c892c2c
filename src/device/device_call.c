/* device_call.c - the calls to a device, and what surrounds each: an injected
 * fault may replace it; then it is counted and charged, and described if it
 * failed. */
#include "device/device_object.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/fail.h"
#include "base/sized.h"
#include "base/witness.h"

const char *larder_call_name(larder_call call)
{
    static const char *const names[] = {
#define X(name) #name,
        LARDER_CALL_MAP(X)
#undef X
    };

    return (unsigned)call < LARDER_CALL_COUNT ? names[call] : NULL;
}

struct device_call {
    larder_device *dev;
    larder_call kind;
    larder_result result;
    bool was_injected;
    bool is_by_host; /* of a copy: from or to the host */
};

/* ---- counters ----------------------------------------------------------- */

/* Add to a counter that any thread may read at any time. */
static void call_count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t counter_load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void counter_zero(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, 0, memory_order_relaxed);
}

larder_result larder_device_get_counters(larder_device *dev,
                                         larder_device_counters *out)
{
    larder_device_counters n = {.size = sizeof n};
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK)
        return r;
    for (int i = 0; i < LARDER_CALL_COUNT; i++) {
        n.calls[i] = counter_load(&dev->calls[i]);
        n.failed[i] = counter_load(&dev->failed[i]);
    }
    n.pages_mapped = counter_load(&dev->pages_mapped);
    n.pages_unmapped = counter_load(&dev->pages_unmapped);
    n.time_ns = counter_load(&dev->time_ns);
    return sized_write(out, &n, sizeof n);
}

larder_result larder_device_reset_counters(larder_device *dev)
{
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK)
        return r;
    for (int i = 0; i < LARDER_CALL_COUNT; i++) {
        counter_zero(&dev->calls[i]);
        counter_zero(&dev->failed[i]);
    }
    counter_zero(&dev->pages_mapped);
    counter_zero(&dev->pages_unmapped);
    counter_zero(&dev->time_ns);
    return LARDER_OK;
}

/* ---- prices ------------------------------------------------------------- */

/* The price of a call, and that of each MiB beyond the first `free_mib`.  Calls
 * not listed here cost nothing. */
struct tariff {
    bool is_priced;
    bool has_rate;
    unsigned char price;
    unsigned char rate;
    unsigned char free_mib;
};

#define PRICED(call, name)                                                     \
    [LARDER_CALL_##call] = {.is_priced = true, .price = DEVICE_PRICE_##name}
#define PRICED_BY_SIZE(call, mib)                                              \
    [LARDER_CALL_##call] = {.is_priced = true,                                 \
                            .has_rate = true,                                  \
                            .price = DEVICE_PRICE_##call,                      \
                            .rate = DEVICE_PRICE_##call##_per_mib,             \
                            .free_mib = (mib)}

static const struct tariff tariffs[LARDER_CALL_COUNT] = {
    PRICED_BY_SIZE(mem_alloc, 2),
    PRICED(mem_free, mem_free),
    PRICED(address_reserve, address_reserve),
    PRICED_BY_SIZE(page_create, 2),
    PRICED(page_release, page_release),
    PRICED(map, map),
    PRICED(unmap, unmap),
    PRICED(set_access, set_access),
    PRICED(event_record, event_record),
    PRICED(event_query, event_query),
    PRICED(event_sync, wait),
    PRICED(stream_sync, wait),
    PRICED_BY_SIZE(copy, 0),
};

static uint64_t rate_cost(uint64_t bytes, uint64_t rate)
{
    return bytes / LARDER_MIB * rate + bytes % LARDER_MIB * rate / LARDER_MIB;
}

static void call_charge(const struct device_call *c, uint64_t bytes)
{
    const struct tariff *t = &tariffs[c->kind];
    uint64_t free_bytes = t->free_mib * LARDER_MIB;
    unsigned rate = c->is_by_host ? DEVICE_PRICE_copy_host_per_mib : t->rate;
    uint64_t ns;

    if (!t->is_priced)
        return;
    ns = counter_load(&c->dev->prices[t->price]);
    if (t->has_rate && bytes > free_bytes)
        ns +=
            rate_cost(bytes - free_bytes, counter_load(&c->dev->prices[rate]));
    call_count(&c->dev->time_ns, ns);
}

/* ---- injected faults ---------------------------------------------------- */

larder_result larder_device_fail(larder_device *dev, larder_call call,
                                 uint64_t nth, uint64_t times,
                                 larder_result with)
{
    larder_result r = larder__device_check(dev);
    uint32_t bit;

    if (r != LARDER_OK)
        return r;
    if ((unsigned)call >= LARDER_CALL_COUNT || (nth != 0 && with == LARDER_OK))
        return larder__fail_plain(LARDER_ERR_INVALID);
    bit = UINT32_C(1) << call;
    mutex_take(&dev->plan_lock, RANK_DEVICE_PLAN);
    dev->plans[call] = (struct device_plan){
        .first = nth,
        .last =
            times == 0 || times > UINT64_MAX - nth ? UINT64_MAX : nth + times,
        .with = with,
    };
    if (nth != 0)
        atomic_fetch_or_explicit(&dev->planned, bit, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&dev->planned, ~bit, memory_order_relaxed);
    mutex_leave(&dev->plan_lock);
    return LARDER_OK;
}

static bool is_planned(larder_device *dev, uint32_t bit)
{
    return atomic_load_explicit(&dev->planned, memory_order_relaxed) & bit;
}

/* The result that replaces the call's; LARDER_OK: let the call through. */
static larder_result planned_result(larder_device *dev, larder_call kind)
{
    uint32_t bit = UINT32_C(1) << kind;
    larder_result r = LARDER_OK;

    if (!is_planned(dev, bit))
        return LARDER_OK;
    mutex_take(&dev->plan_lock, RANK_DEVICE_PLAN);
    if (is_planned(dev, bit)) { /* the plan may have ended meanwhile */
        struct device_plan *plan = &dev->plans[kind];
        uint64_t number = ++plan->seen;

        if (number >= plan->first)
            r = plan->with;
        if (number + 1 >= plan->last)
            atomic_fetch_and_explicit(&dev->planned, ~bit,
                                      memory_order_relaxed);
    }
    mutex_leave(&dev->plan_lock);
    return r;
}

/* ---- begin and end of a call -------------------------------------------- */

/* Whether `r` is a success; c->result is set to it in any case. */
static bool call_end(struct device_call *c, larder_result r, uint64_t bytes)
{
    larder_device *dev = c->dev;
    bool ok = r == LARDER_OK ||
              (r == LARDER_ERR_NOT_READY && c->kind == LARDER_CALL_event_query);

    c->result = r;
    call_count(ok ? &dev->calls[c->kind] : &dev->failed[c->kind], 1);
    call_charge(c, ok ? bytes : 0);
    return ok;
}

/* Whether to call the device; if not, c->result is the reason. */
static bool call_begin(struct device_call *c, larder_call kind, bool is_there)
{
    larder_result planned;

    c->kind = kind;
    if (larder__device_is_parents(c->dev)) {
        c->result = LARDER_ERR_FORKED;
        return false;
    }
    if (!is_there) {
        c->result = LARDER_ERR_UNSUPPORTED;
        return false;
    }
    planned = planned_result(c->dev, kind);
    if (planned == LARDER_OK)
        return true;
    c->was_injected = true;
    call_end(c, planned, 0);
    return false;
}

/* Make the call `op` with these arguments.  True if it succeeded. `bytes`
 * determines its price; 0 if the price does not depend on a size. c->dev must
 * be set. */
#define DEVICE_CALL(c, op, bytes, ...)                                         \
    (call_begin(c, LARDER_CALL_##op, (c)->dev->ops.op != NULL) &&              \
     call_end(c, (c)->dev->ops.op((c)->dev->self, __VA_ARGS__), bytes))

/* Why a function of the device just returned `r`: the device's own message if
 * it has one. */
static const char *device_reason(const larder_device *dev, larder_result r)
{
    const char *text = NULL;

    if (r != LARDER_ERR_FORKED && dev->ops.error_text != NULL)
        text = dev->ops.error_text(dev->self);
    return text != NULL && text[0] != '\0' ? text : larder_result_text(r);
}

static const char *call_reason(const struct device_call *c)
{
    if (c->was_injected)
        return "larder_device_fail() requested it";
    if (c->result == LARDER_ERR_UNSUPPORTED)
        return "the device has no such call";
    return device_reason(c->dev, c->result);
}

/* Set the thread's last error and return c->result. `about` is printed after
 * the name of the call, for example "of 512 bytes". */
__attribute__((format(printf, 2, 3))) static larder_result call_fail(
    const struct device_call *c, const char *about, ...)
{
    char what[160];
    va_list args;

    va_start(args, about);
    vsnprintf(what, sizeof what, about, args);
    va_end(args);
    return larder__fail(c->result, "%s %s failed: %s",
                        larder_call_name(c->kind), what, call_reason(c));
}

/* ---- the calls: one function for each entry of the table ------------------ */

#define UNPACKED(...) __VA_ARGS__

/* Define a function that makes this call if `is_fine`; its price depends on `bytes`.
 * What follows says what a failed call was about. */
#define DEVICE_FUNCTION(function, call, is_fine, parameters, bytes, arguments, \
                        ...)                                                   \
    larder_result function(larder_device *dev, UNPACKED parameters)            \
    {                                                                          \
        struct device_call c = {.dev = dev};                                   \
                                                                               \
        if (dev == NULL || !(is_fine))                                         \
            return larder__fail_plain(LARDER_ERR_INVALID);                     \
        if (DEVICE_CALL(&c, call, bytes, UNPACKED arguments))                  \
            return c.result;                                                   \
        return call_fail(&c, __VA_ARGS__);                                     \
    }

/* ---- memory ------------------------------------------------------------- */

DEVICE_FUNCTION(larder__device_mem_alloc, mem_alloc, true,
                (uint64_t bytes, larder_addr *out), bytes, (bytes, out),
                "of %" PRIu64 " bytes", bytes)
DEVICE_FUNCTION(larder__device_mem_free, mem_free, true, (larder_addr addr), 0,
                (addr), "of 0x%" PRIx64, addr)
DEVICE_FUNCTION(larder_device_mem_info, mem_info,
                free_bytes != NULL && total_bytes != NULL,
                (uint64_t * free_bytes, uint64_t *total_bytes), 0,
                (free_bytes, total_bytes), "of device '%s'", dev->ops.name)

/* ---- virtual memory ----------------------------------------------------- */

DEVICE_FUNCTION(larder__device_address_reserve, address_reserve, true,
                (uint64_t bytes, larder_addr *out), 0, (bytes, out),
                "of %" PRIu64 " bytes", bytes)
DEVICE_FUNCTION(larder__device_address_free, address_free, true,
                (larder_addr addr, uint64_t bytes), 0, (addr, bytes),
                "of %" PRIu64 " bytes at 0x%" PRIx64, bytes, addr)
DEVICE_FUNCTION(larder__device_page_create, page_create, true,
                (uint64_t bytes, uint64_t *out), bytes, (bytes, out),
                "of %" PRIu64 " bytes", bytes)
DEVICE_FUNCTION(larder__device_page_release, page_release, true,
                (uint64_t page), 0, (page), "of page 0x%" PRIx64, page)

larder_result larder__device_map(larder_device *dev, larder_addr addr,
                                 uint64_t bytes, uint64_t page)
{
    struct device_call c = {.dev = dev};

    if (!DEVICE_CALL(&c, map, 0, addr, bytes, page))
        return call_fail(
            &c, "of page 0x%" PRIx64 " to %" PRIu64 " bytes at 0x%" PRIx64,
            page, bytes, addr);
    call_count(&dev->pages_mapped, 1);
    return LARDER_OK;
}

larder_result larder__device_unmap(larder_device *dev, larder_addr addr,
                                   uint64_t bytes, uint64_t pages)
{
    struct device_call c = {.dev = dev};

    if (!DEVICE_CALL(&c, unmap, 0, addr, bytes))
        return call_fail(&c, "of %" PRIu64 " bytes at 0x%" PRIx64, bytes, addr);
    call_count(&dev->pages_unmapped, pages);
    return LARDER_OK;
}

DEVICE_FUNCTION(larder__device_set_access, set_access, true,
                (larder_addr addr, uint64_t bytes), 0, (addr, bytes),
                "to %" PRIu64 " bytes at 0x%" PRIx64, bytes, addr)
DEVICE_FUNCTION(larder__device_page_export, page_export, true,
                (uint64_t page, larder_page_handle *out), 0, (page, out),
                "of page 0x%" PRIx64, page)
DEVICE_FUNCTION(larder__device_page_import, page_import, true,
                (const larder_page_handle *handle, uint64_t bytes,
                 uint64_t *out),
                0, (handle, bytes, out), "of %" PRIu64 " bytes", bytes)

/* ---- order -------------------------------------------------------------- */

DEVICE_FUNCTION(larder_device_event_create, event_create, out != NULL,
                (uint64_t * out), 0, (out), "on device '%s'", dev->ops.name)
DEVICE_FUNCTION(larder_device_event_destroy, event_destroy, true,
                (uint64_t event), 0, (event), "of event 0x%" PRIx64, event)
DEVICE_FUNCTION(larder_device_event_record, event_record, true,
                (uint64_t event, larder_stream stream), 0, (event, stream),
                "of event 0x%" PRIx64 " on stream %" PRIu64, event, stream)
DEVICE_FUNCTION(larder_device_event_query, event_query, true, (uint64_t event),
                0, (event), "of event 0x%" PRIx64, event)
DEVICE_FUNCTION(larder_device_event_sync, event_sync, true, (uint64_t event), 0,
                (event), "with event 0x%" PRIx64, event)
DEVICE_FUNCTION(larder_device_stream_sync, stream_sync, true,
                (larder_stream stream), 0, (stream), "with stream %" PRIu64,
                stream)

/* A query about a stream is no call that is counted. */
static larder_result stream_fail(const larder_device *dev, larder_stream stream,
                                 larder_result r)
{
    const char *why = dev == NULL || r == LARDER_ERR_UNKNOWN_STREAM
                          ? larder_result_text(r)
                          : device_reason(dev, r);

    return larder__fail(r, "stream %" PRIu64 ": %s", stream, why);
}

larder_result larder__device_stream_check(larder_device *dev,
                                          larder_stream stream)
{
    larder_result r = larder__device_check(dev);

    if (r == LARDER_OK && dev->ops.stream_check != NULL)
        r = dev->ops.stream_check(dev->self, stream);
    return r == LARDER_OK ? r : stream_fail(dev, stream, r);
}

larder_result larder__device_unordered_use(larder_device *dev, larder_addr addr,
                                           uint64_t bytes,
                                           const larder_stream *streams,
                                           size_t count, larder_stream *out)
{
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK || dev->ops.unordered_use == NULL)
        return r;
    return dev->ops.unordered_use(dev->self, addr, bytes, streams, count, out);
}

larder_result larder__device_processes(larder_device *dev,
                                       larder_process_fn *fn, void *ctx)
{
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK)
        return r;
    r = LARDER_ERR_UNSUPPORTED;
    if (dev->ops.processes != NULL)
        r = dev->ops.processes(dev->self, fn, ctx);
    return r == LARDER_OK ? LARDER_OK : larder__fail_plain(r);
}

larder_result larder_device_stream_is_capturing(larder_device *dev,
                                                larder_stream stream, int *out)
{
    larder_result r = larder__device_check(dev);
    int capturing = 0;

    if (r != LARDER_OK)
        return r;
    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (dev->ops.stream_is_capturing != NULL)
        r = dev->ops.stream_is_capturing(dev->self, stream, &capturing);
    if (r != LARDER_OK)
        return stream_fail(dev, stream, r);
    *out = capturing;
    return LARDER_OK;
}

/* ---- data and host memory ----------------------------------------------- */

larder_result larder_device_copy(larder_device *dev, uint64_t dst, uint64_t src,
                                 uint64_t bytes, larder_copy_kind kind,
                                 larder_stream stream)
{
    struct device_call c = {
        .dev = dev,
        .is_by_host = kind != LARDER_COPY_ON_DEVICE,
    };

    if (dev == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (DEVICE_CALL(&c, copy, bytes, dst, src, bytes, kind, stream))
        return LARDER_OK;
    return call_fail(&c,
                     "of %" PRIu64 " bytes from 0x%" PRIx64 " to 0x%" PRIx64
                     " on stream %" PRIu64,
                     bytes, src, dst, stream);
}

DEVICE_FUNCTION(larder_device_fill, fill, true,
                (larder_addr dst, unsigned char value, uint64_t bytes,
                 larder_stream stream),
                0, (dst, value, bytes, stream),
                "of %" PRIu64 " bytes at 0x%" PRIx64 " on stream %" PRIu64,
                bytes, dst, stream)
DEVICE_FUNCTION(larder_device_host_alloc, host_alloc, out != NULL,
                (uint64_t bytes, void **out), 0, (bytes, out),
                "of %" PRIu64 " bytes", bytes)

larder_result larder_device_host_free(larder_device *dev, void *ptr)
{
    struct device_call c = {.dev = dev};

    if (dev == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (ptr == NULL || DEVICE_CALL(&c, host_free, 0, ptr))
        return LARDER_OK;
    return call_fail(&c, "of %p", ptr);
}
