/* device_object.h - the structure of larder_device.  Private to the device
 * layer.
 *
 * Counters, prices and the mask of planned faults are relaxed atomics: they are
 * independent of each other, and nothing is published through them. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"

enum device_price {
#define X(name, ns) DEVICE_PRICE_##name,
    LARDER_PRICE_MAP(X)
#undef X
        DEVICE_PRICE_COUNT
};

/* Calls that are to fail: those with first <= number < last, counted from when
 * the plan was made. */
struct device_plan {
    uint64_t seen;
    uint64_t first;
    uint64_t last;
    larder_result with;
};

struct larder_device {
    larder_device_ops ops;
    void *self;
    _Atomic long holders;
    unsigned process; /* the process that owns it (base/process.h) */

    larder_device *over; /* the device that memory is pinned for, or NULL */
    _Atomic uint64_t held_bytes;   /* by allocators */
    _Atomic uint64_t pinned_bytes; /* host memory, for this device */

    _Atomic uint64_t prices[DEVICE_PRICE_COUNT];
    _Atomic uint64_t calls[LARDER_CALL_COUNT];
    _Atomic uint64_t failed[LARDER_CALL_COUNT];
    _Atomic uint64_t pages_mapped;
    _Atomic uint64_t pages_unmapped;
    _Atomic uint64_t time_ns;

    /* One bit for each kind of call with a plan.  The plans are guarded by
     * plan_lock, which a call without a plan never takes. */
    _Atomic uint32_t planned;
    pthread_mutex_t plan_lock;
    struct device_plan plans[LARDER_CALL_COUNT];
};

/* Whether it was created before a fork and this is the child. */
bool larder__device_is_parents(const larder_device *dev);

/* Remove the calls of virtual memory from a table, and those on its pages. */
void larder__device_without_vmm(larder_device_ops *ops);

/* Open a device; `spec` begins with "sim:". */
larder_result larder__sim_open(const char *spec, int ordinal,
                               larder_device **out);
/* The same; it begins with "cuda:" or "hip:". */
larder_result larder__cuda_open(const char *spec, int ordinal,
                                larder_device **out);

_Static_assert(LARDER_CALL_COUNT <= 32, "a bit for each call");
