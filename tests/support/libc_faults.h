/* libc_faults.h - the C library's allocation functions, of which any call can
 * be made to fail, and which count what is held.
 *
 * For one source of a program; no threads.  Under the sanitizers, which bring
 * their own, nothing fails: LIBC_FAULTS is 0. */
#ifndef LARDER_TESTS_SUPPORT_LIBC_FAULTS_H
#define LARDER_TESTS_SUPPORT_LIBC_FAULTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "support/sanitized.h"

#if !defined(IS_SANITIZED) && defined(__GLIBC__)
#define LIBC_FAULTS 1
#else
#define LIBC_FAULTS 0
#endif

static struct {
    unsigned long calls;
    unsigned long nth; /* this call fails; 0: none */
    bool lasting;      /* and so do those after it */
    long held;         /* allocations that were not freed */
} libc_faults;

static inline void libc_fail(unsigned long nth, bool lasting)
{
    libc_faults.calls = 0;
    libc_faults.nth = nth;
    libc_faults.lasting = lasting;
}

#if LIBC_FAULTS

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static bool libc_refuses(void)
{
    unsigned long nth = libc_faults.nth;

    libc_faults.calls++;
    if (nth == 0 || libc_faults.calls < nth ||
        (libc_faults.calls > nth && !libc_faults.lasting))
        return false;
    errno = ENOMEM;
    return true;
}

static void *libc_held(void *p)
{
    libc_faults.held += p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return libc_refuses() ? NULL : libc_held(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return libc_refuses() ? NULL : libc_held(__libc_calloc(count, size));
}

void *realloc(void *p, size_t size)
{
    void *q;

    if (libc_refuses())
        return NULL;
    q = __libc_realloc(p, size);
    libc_faults.held += (q != NULL) - (p != NULL && (q != NULL || size == 0));
    return q;
}

void free(void *p)
{
    int saved = errno;

    libc_faults.held -= p != NULL;
    __libc_free(p);
    errno = saved;
}

#endif
#endif
