/* host_peak.c - counts the C library's allocation functions.  Threads are not
 * counted correctly; none of these tests uses any. */
#include "snapshot/host_peak.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

#include "support/sanitized.h"

static uint64_t used, peak, base;

void host_peak_reset(void)
{
    base = used;
    peak = used;
}

uint64_t host_peak_get(void)
{
    return peak - base;
}

#if !defined(IS_SANITIZED) && defined(__GLIBC__)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static void *took(void *p)
{
    if (p != NULL)
        used += malloc_usable_size(p);
    if (used > peak)
        peak = used;
    return p;
}

static void gave(void *p)
{
    if (p != NULL)
        used -= malloc_usable_size(p);
}

void *malloc(size_t size)
{
    return took(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return took(__libc_calloc(count, size));
}

void *realloc(void *p, size_t size)
{
    size_t before = p == NULL ? 0 : malloc_usable_size(p);
    void *q = __libc_realloc(p, size);

    if (q != NULL || size == 0)
        used -= before;
    return took(q);
}

void free(void *p)
{
    int saved = errno;

    gave(p);
    __libc_free(p);
    errno = saved;
}

#endif
