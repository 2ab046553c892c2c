/* device_call.c - what surrounds every call to a device: faults, counts,
 * prices, messages. */
#include "device/device_call.h"

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

/* ---- counters ----------------------------------------------------------- */

void larder__call_count(_Atomic uint64_t *counter, uint64_t n)
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
    larder__call_count(&c->dev->time_ns, ns);
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

bool larder__call_begin(struct device_call *c, larder_call kind, bool is_there)
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
    larder__call_end(c, planned, 0);
    return false;
}

bool larder__call_end(struct device_call *c, larder_result r, uint64_t bytes)
{
    larder_device *dev = c->dev;
    bool ok = r == LARDER_OK ||
              (r == LARDER_ERR_NOT_READY && c->kind == LARDER_CALL_event_query);

    c->result = r;
    larder__call_count(ok ? &dev->calls[c->kind] : &dev->failed[c->kind], 1);
    call_charge(c, ok ? bytes : 0);
    return ok;
}

const char *larder__device_reason(const larder_device *dev, larder_result r)
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
    return larder__device_reason(c->dev, c->result);
}

larder_result larder__call_fail(const struct device_call *c, const char *about,
                                ...)
{
    char what[160];
    va_list args;

    va_start(args, about);
    vsnprintf(what, sizeof what, about, args);
    va_end(args);
    return larder__fail(c->result, "%s %s failed: %s",
                        larder_call_name(c->kind), what, call_reason(c));
}
