/* torch_devices.h - an allocator for each of PyTorch's devices, created at
 * first use.  Private to the plug-in. */
#pragma once

#include <larder/device.h>
#include <larder/torch.h>

#include <stdatomic.h>

#include "torch_pools.h"

struct torch_device {
    /* Set last and only once: NULL until everything else is initialised. */
    _Atomic(larder_allocator *) allocator;
    larder_device *device;
    struct torch_pools pools;
};

/* Find PyTorch's device, and create its allocator.  Fails in a child forked
 * after one was created: see torch_fork.h. */
larder_result larder__torch_device_get(int number, struct torch_device **out);

/* Call fn for each device that has an allocator, until it returns nonzero; for
 * none in such a child. */
typedef int torch_device_fn(void *ctx, struct torch_device *d);
int larder__torch_device_each(torch_device_fn *fn, void *ctx);
