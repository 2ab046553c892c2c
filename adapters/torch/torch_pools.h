/* torch_pools.h - decides which requests go to a pool in effect.  Private to
 * the plug-in. */
#pragma once

#include <larder/torch.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct torch_route;

/* The pools of one device.  All zero: none is begun. */
struct torch_pools {
    atomic_int begun;
    pthread_mutex_t lock;       /* guards the list */
    struct torch_route *routes; /* last begun first */
};

struct torch_device;

/* Find the pool for a request of this thread and store it where the allocator's
 * filters look during the request.  Call larder__torch_pools_leave() afterwards
 * if *is_aimed was set.  Costs one load if no pool is begun.  ERR_CAPTURING,
 * which is stored: it cannot be determined. */
larder_result larder__torch_pools_aim(struct torch_device *d,
                                      larder_stream stream, bool *is_aimed);
void larder__torch_pools_leave(void);

/* Forget them all. */
void larder__torch_pools_clear(struct torch_pools *pools);
