/* preload_first.c - a program whose thread makes the first call of the driver
 * while a library's constructor, which has the dynamic linker's lock, looks one
 * up.
 *
 * preload_first LIBRARY, which is this file compiled with LIBRARY defined. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "device/cuda_driver.h"

extern atomic_bool preload_first_begins;
cud_result cuMemFree_v2(cud_addr addr);

#ifdef LIBRARY

__attribute__((constructor)) static void look_up(void)
{
    const struct timespec while_the_thread_calls = {.tv_nsec = 200000000};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    atomic_store(&preload_first_begins, true);
    (void)nanosleep(&while_the_thread_calls, NULL);
    puts(dlsym(driver, "cuMemAlloc_v2") != NULL ? "found" : "none");
}

#else

atomic_bool preload_first_begins;

static void *call_first(void *unused)
{
    while (!atomic_load(&preload_first_begins))
        continue;
    (void)cuMemFree_v2(0);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc != 2 || pthread_create(&thread, NULL, call_first, NULL) != 0)
        return 99;
    if (dlopen(argv[1], RTLD_NOW) == NULL)
        return 98;
    return pthread_join(thread, NULL) == 0 ? 0 : 97;
}

#endif
