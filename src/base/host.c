/* host.c - host memory: the only place that asks libc for it, so that any
 * request may fail. */
#include "base/host.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Requests [first, last), counted from when the plan was made, fail. `planned`
 * keeps the usual case to one relaxed load. */
static _Atomic int planned;
static _Atomic unsigned long counted;
static _Atomic unsigned long fail_first, fail_last; /* other threads go on */

void larder__host_fail(unsigned long nth, unsigned long times)
{
    atomic_store(&planned, 0);
    atomic_store(&counted, 0);
    fail_first = nth;
    fail_last = times == 0 ? ULONG_MAX : nth + times;
    atomic_store(&planned, nth != 0);
}

/* A breakpoint here stops at every request that is made to fail. */
static int must_fail(void)
{
    unsigned long n;

    if (!atomic_load_explicit(&planned, memory_order_relaxed))
        return 0;
    n = atomic_fetch_add(&counted, 1) + 1;
    return n >= fail_first && n < fail_last;
}

void *larder__host_alloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : calloc(count, bytes);
}

void *larder__host_alloc_unset(size_t bytes)
{
    return must_fail() ? NULL : malloc(bytes);
}

bool larder__host_grow(void *array, size_t count, size_t bytes)
{
    void *ptr;

    if ((bytes != 0 && count > SIZE_MAX / bytes) || must_fail())
        return false;
    memcpy(&ptr, array, sizeof ptr);
    ptr = realloc(ptr, count * bytes);
    if (ptr != NULL)
        memcpy(array, &ptr, sizeof ptr);
    return ptr != NULL;
}

bool larder__host_room(void *array, size_t *capacity, size_t needed,
                       size_t bytes)
{
    enum { FIRST_ITEMS = 16 };
    size_t wider = *capacity > 0 ? 2 * *capacity : FIRST_ITEMS;

    if (wider < needed)
        wider = needed;
    if (!larder__host_grow(array, wider, bytes))
        return false;
    *capacity = wider;
    return true;
}

void *larder__host_alloc_aligned(size_t align, size_t bytes)
{
    void *ptr = NULL;

    if (must_fail() || posix_memalign(&ptr, align, bytes) != 0)
        return NULL;
    return ptr;
}

void larder__host_free(void *ptr)
{
    free(ptr);
}
