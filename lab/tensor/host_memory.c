/* host_memory.c - host memory: the only place of the lab that asks libc for it,
 * so that any request may fail. */
#include "tensor/host_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Larger requests bypass the C library's heap, which may or may not keep freed
 * memory: users should see host memory being released. */
enum { PAGES_MIN_BYTES = 64 * 1024, PAGES_ALIGN = 64 };

/* `armed` keeps the usual case to one relaxed load. */
static _Atomic int armed;
static _Atomic long left;
static _Atomic int fails_all;

static void plan(long passes, int all)
{
    atomic_store(&armed, 0);
    atomic_store(&left, passes);
    atomic_store(&fails_all, all);
    atomic_store(&armed, passes >= 0);
}

void lab__host_fail_after(long passes)
{
    plan(passes, 0);
}

void lab__host_fail_from(long passes)
{
    plan(passes, 1);
}

/* A breakpoint here stops at every request that is made to fail. */
static int must_fail(void)
{
    long n;

    if (!atomic_load_explicit(&armed, memory_order_relaxed))
        return 0;
    n = atomic_fetch_sub(&left, 1);
    return n == 0 || (n < 0 && atomic_load(&fails_all));
}

void *lab__host_alloc(size_t bytes)
{
    return must_fail() ? NULL : malloc(bytes != 0 ? bytes : 1);
}

void *lab__host_zeroed(size_t bytes)
{
    return must_fail() ? NULL : calloc(1, bytes != 0 ? bytes : 1);
}

void lab__host_free(void *ptr)
{
    free(ptr);
}

static void *pages_map(size_t bytes)
{
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return got != MAP_FAILED ? got : NULL;
}

void *lab__host_pages(size_t bytes, int *zeroed)
{
    void *ptr = NULL;

    if (must_fail())
        return NULL;
    *zeroed = bytes >= PAGES_MIN_BYTES;
    if (*zeroed)
        return pages_map(bytes);
    return posix_memalign(&ptr, PAGES_ALIGN, bytes) == 0 ? ptr : NULL;
}

void lab__host_pages_free(void *ptr, size_t bytes)
{
    if (bytes >= PAGES_MIN_BYTES)
        munmap(ptr, bytes);
    else
        free(ptr);
}
