/* torch_moving.c - live memory moves while the program's work is held back by the
 * preload library. */
#include "torch_moving.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include <larder/migrate.h>

/* Of preload.h, in the library that the program was started with. */
static larder_result (*preload_hold)(void);
static void (*preload_release)(void);

static larder_result hold(void *ctx)
{
    (void)ctx;
    return preload_hold();
}

static void release(void *ctx)
{
    (void)ctx;
    preload_release();
}

larder_result larder__torch_guard(larder_allocator *a)
{
    void *first = dlsym(RTLD_DEFAULT, "larder_preload_hold");
    void *last = dlsym(RTLD_DEFAULT, "larder_preload_release");

    if (first == NULL || last == NULL)
        return LARDER_OK;
    memcpy(&preload_hold, &first, sizeof first);
    memcpy(&preload_release, &last, sizeof last);
    return larder_migrate_guard(a, hold, release, NULL);
}
