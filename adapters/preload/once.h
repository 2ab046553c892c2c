/* once.h - pthread_once() that costs a single load after the first time: each
 * launch passes two of them. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct preload_once {
    pthread_once_t once;
    atomic_bool is_done;
};

#define PRELOAD_ONCE                                                           \
    {                                                                          \
        .once = PTHREAD_ONCE_INIT                                              \
    }

static inline void preload_once(struct preload_once *o, void (*fn)(void))
{
    if (atomic_load_explicit(&o->is_done, memory_order_acquire))
        return;
    pthread_once(&o->once, fn);
    atomic_store_explicit(&o->is_done, true, memory_order_release);
}
