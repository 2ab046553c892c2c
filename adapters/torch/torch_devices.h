/* torch_devices.h - an allocator for each of PyTorch's devices, made when it is
 * first needed.  Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_DEVICES_H
#define LARDER_ADAPTERS_TORCH_DEVICES_H

#include <larder/device.h>
#include <larder/torch.h>

#include <stdatomic.h>

#include "torch_pools.h"

struct torch_device {
    /* Set last, once and for all: NULL until all else is there. */
    _Atomic(larder_allocator *) allocator;
    larder_device *device;
    struct torch_pools pools;
};

/* PyTorch's device, its allocator made.  Not in a child that was forked since
 * one was: see torch_fork.h. */
larder_result larder__torch_device_get(int number, struct torch_device **out);

/* Call fn for each device whose allocator is there, until it is not 0; for none
 * in such a child. */
typedef int torch_device_fn(void *ctx, struct torch_device *d);
int larder__torch_device_each(torch_device_fn *fn, void *ctx);

#endif
