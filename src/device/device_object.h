/* device_object.h - what a larder_device is made of.  Private to the device
 * layer.
 *
 * Counters, prices and the mask of planned faults are relaxed atomics: each
 * stands for itself, nothing is published through them. */
#ifndef LARDER_DEVICE_OBJECT_H
#define LARDER_DEVICE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"

enum device_price {
#define X(name, ns) DEVICE_PRICE_##name,
    LARDER_PRICE_MAP(X)
#undef X
        DEVICE_PRICE_COUNT
};

/* Calls that fail: those with first <= number < last, counted from when the
 * plan was made. */
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
    unsigned process; /* whose it is (base/process.h) */

    larder_device *over; /* a device whose memory is pinned for it, or NULL */
    _Atomic uint64_t held_bytes;   /* by allocators */
    _Atomic uint64_t pinned_bytes; /* of the host, for this device */

    _Atomic uint64_t prices[DEVICE_PRICE_COUNT];
    _Atomic uint64_t calls[LARDER_CALL_COUNT];
    _Atomic uint64_t failed[LARDER_CALL_COUNT];
    _Atomic uint64_t pages_mapped;
    _Atomic uint64_t pages_unmapped;
    _Atomic uint64_t time_ns;

    /* A bit for each kind of call with a plan; the plans themselves are
     * guarded by plan_lock, which a call without one never takes. */
    _Atomic uint32_t planned;
    pthread_mutex_t plan_lock;
    struct device_plan plans[LARDER_CALL_COUNT];
};

/* It was made before a fork, and this is the child. */
bool larder__device_is_parents(const larder_device *dev);

_Static_assert(LARDER_CALL_COUNT <= 32, "a bit for each call");

#endif
