/* adapter.h - internals of an adapter. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <larder/adapters.h>

enum { ADAPTER_DEVICES = 64 };

struct adapter_device {
    larder_device *device;
    _Atomic(larder_allocator *) allocator; /* NULL: not created yet */
};

struct larder_adapter {
    pthread_mutex_t lock; /* guards creation */
    larder_policy policy;
    char *spec;
    char *conf; /* NULL: use the environment's */
    struct adapter_device devices[ADAPTER_DEVICES];
};

/* The device, opened if necessary; the lock is held. */
larder_result larder__adapter_device(larder_adapter *ad, int number,
                                     larder_device **out);
/* Create an allocator on it as the options say. */
larder_result larder__adapter_make(larder_adapter *ad, larder_device *dev,
                                   larder_allocator **out);
