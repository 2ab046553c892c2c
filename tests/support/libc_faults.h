/* libc_faults.h - stricter replacements for the C library's allocation
 * functions.  Any call can be made to fail, and allocated bytes are counted.
 * Under libc_guard() a program that reads or writes beyond an allocation, or
 * after its free, is ended by a signal.  New memory is filled with garbage.
 *
 * Include in one source file of a program; not for threads.  Under the
 * sanitizers, which have their own functions, all of it does nothing and
 * LIBC_FAULTS is 0. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
    long held;         /* allocations not freed */
    bool guarded;      /* new ones are guarded */
} libc_faults;

static inline void libc_fail(unsigned long nth, bool lasting)
{
    libc_faults.calls = 0;
    libc_faults.nth = nth;
    libc_faults.lasting = lasting;
}

static inline void libc_guard(bool is_on)
{
    libc_faults.guarded = is_on;
}

#if LIBC_FAULTS

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

/* ---- guarded memory -------------------------------------------------------- */

/* Addresses are used once, so that freed memory stays inaccessible.  Each
 * allocation ends at a page's end, in front of an inaccessible page. */
enum { GUARD_PAGE = 4096, GUARD_PAGES = 1 << 21, GUARD_RUBBISH = 0xA5 };

static struct {
    unsigned char *base;
    size_t next;                /* page */
    uint32_t size[GUARD_PAGES]; /* of the allocation that begins in the page */
} libc_guarded;

static bool guard_has(const void *p)
{
    const unsigned char *at = p;

    return libc_guarded.base != NULL && at >= libc_guarded.base &&
           at < libc_guarded.base + (size_t)GUARD_PAGES * GUARD_PAGE;
}

static size_t guard_page(const void *p)
{
    return (size_t)((const unsigned char *)p - libc_guarded.base) / GUARD_PAGE;
}

static size_t pages_up(size_t size)
{
    return (size + GUARD_PAGE - 1) / GUARD_PAGE;
}

static bool guard_begin(void)
{
    void *base;

    if (libc_guarded.base != NULL)
        return true;
    base = mmap(NULL, (size_t)GUARD_PAGES * GUARD_PAGE, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED)
        libc_guarded.base = base;
    return base != MAP_FAILED;
}

/* NULL: all addresses are used up.  An allocation without alignment ends at its
 * page's end. */
static void *guard_take(size_t size, size_t align)
{
    size_t pages = pages_up(size);
    unsigned char *p;

    if (!guard_begin() || size > UINT32_MAX ||
        pages >= GUARD_PAGES - libc_guarded.next)
        return NULL;
    p = libc_guarded.base + libc_guarded.next * GUARD_PAGE;
    if (pages > 0 &&
        mprotect(p, pages * GUARD_PAGE, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    p += (pages * GUARD_PAGE - size) & ~(align - 1);
    libc_guarded.size[guard_page(p)] = (uint32_t)size;
    libc_guarded.next += pages + 1;
    return p;
}

static size_t guard_size(const void *p)
{
    return libc_guarded.size[guard_page(p)];
}

static void guard_give(void *p)
{
    unsigned char *begin = libc_guarded.base + guard_page(p) * GUARD_PAGE;
    size_t bytes = pages_up(guard_size(p)) * GUARD_PAGE;

    if (bytes == 0)
        return;
    madvise(begin, bytes, MADV_DONTNEED);
    mprotect(begin, bytes, PROT_NONE);
}

/* ---- the functions --------------------------------------------------------- */

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

static void *libc_take(size_t size)
{
    void *p = libc_faults.guarded ? guard_take(size, 1) : NULL;

    if (p != NULL)
        memset(p, GUARD_RUBBISH, size);
    if (p == NULL)
        p = __libc_malloc(size);
    libc_faults.held += p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return libc_refuses() ? NULL : libc_take(size);
}

void *calloc(size_t count, size_t size)
{
    void *p;

    if (libc_refuses() || (size > 0 && count > SIZE_MAX / size))
        return NULL;
    p = libc_take(count * size);
    return p != NULL ? memset(p, 0, count * size) : NULL;
}

static void *libc_move(void *p, size_t size)
{
    void *q = libc_take(size);

    if (q == NULL)
        return NULL;
    memcpy(q, p, guard_size(p) < size ? guard_size(p) : size);
    free(p);
    return q;
}

void *realloc(void *p, size_t size)
{
    void *q;

    if (libc_refuses())
        return NULL;
    if (p == NULL)
        return libc_take(size);
    if (guard_has(p))
        return libc_move(p, size);
    q = __libc_realloc(p, size);
    libc_faults.held -= q == NULL && size == 0;
    return q;
}

/* Always guarded: where leaks are detected, __libc_memalign() is the
 * sanitizer's. */
int posix_memalign(void **out, size_t align, size_t size)
{
    void *p = libc_refuses() ? NULL : guard_take(size, align);

    if (p == NULL)
        return ENOMEM;
    libc_faults.held++;
    *out = p;
    return 0;
}

void free(void *p)
{
    int saved = errno;

    libc_faults.held -= p != NULL;
    if (guard_has(p))
        guard_give(p);
    else
        __libc_free(p);
    errno = saved;
}

#endif
