/* torch_pools.h - which requests go to a pool that was begun.
 * Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_POOLS_H
#define LARDER_ADAPTERS_TORCH_POOLS_H

#include <larder/torch.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct torch_route;

/* Of one device.  All zero is: none begun. */
struct torch_pools {
    atomic_int begun;
    pthread_mutex_t lock;       /* of the list */
    struct torch_route *routes; /* the last begun first */
};

struct torch_device;

/* Find the pool for a request of this thread, and leave it where the
 * allocator's filters look while the request is made; _leave() after it, if
 * *is_aimed became true.  Nothing but a load where no pool is begun.
 * ERR_CAPTURING, remembered, if it cannot be told. */
larder_result larder__torch_pools_aim(struct torch_device *d,
                                      larder_stream stream, bool *is_aimed);
void larder__torch_pools_leave(void);

/* Forget them all. */
void larder__torch_pools_clear(struct torch_pools *pools);

#endif
