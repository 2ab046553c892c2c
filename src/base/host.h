/* host.h - host memory: every byte the library takes comes through here, so
 * that a test can make any one request fail.  Private to the library. */
#ifndef LARDER_BASE_HOST_H
#define LARDER_BASE_HOST_H

#include <stddef.h>

/* NULL when there is no memory, or count * bytes does not fit in a size_t.
 * Zeroed; aligned for any type. */
void *larder__host_alloc(size_t count, size_t bytes);

/* For one object that the caller sets as a whole: not zeroed.  It costs a third
 * of larder__host_alloc(), as glibc's calloc() passes by what the thread freed
 * last: for what comes and goes with each call of the device. */
void *larder__host_alloc_unset(size_t bytes);

/* Grow or shrink to count * bytes; what is new is not zeroed.  NULL: ptr is
 * as it was. */
void *larder__host_resize(void *ptr, size_t count, size_t bytes);

/* Memory that starts at a multiple of `align`, a power of two.  Not zeroed, so
 * that a large piece costs nothing until it is used. */
void *larder__host_alloc_aligned(size_t align, size_t bytes);

/* Takes NULL. */
void larder__host_free(void *ptr);

/* Make requests fail, for tests: the nth from now (1 = the next) and times-1
 * after it; times 0: all after it; nth 0: none.  Process-wide. */
void larder__host_fail(unsigned long nth, unsigned long times);

#endif
