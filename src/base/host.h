/* host.h - host memory: every allocation of the library goes through here, so
 * that a test can make any one of them fail.  Private to the library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Zeroed, and aligned for any type.  NULL: no memory, or count * bytes does not
 * fit in a size_t. */
void *larder__host_alloc(size_t count, size_t bytes);

/* Not zeroed, for one object that the caller initialises completely.  It costs
 * a third of larder__host_alloc(), because glibc's calloc() does not use the
 * thread's cache: use it for objects that come and go with each device call. */
void *larder__host_alloc_unset(size_t bytes);

/* Resize the array whose pointer lies at `array` to count * bytes; new bytes are
 * not zeroed.  False: it is unchanged. */
bool larder__host_grow(void *array, size_t count, size_t bytes);

/* Have room for `needed` items in an array, which may move; new ones are not
 * zeroed.  False: no host memory; the array is as before. */
#define HOST_ROOM(items, capacity, needed)                                     \
    ((needed) <= (capacity) ||                                                 \
     larder__host_room(&(items), &(capacity), (needed), sizeof *(items)))

/* At least double the array whose pointer lies at `array`. */
bool larder__host_room(void *array, size_t *capacity, size_t needed,
                       size_t bytes);

/* Memory aligned to `align`, a power of two.  Not zeroed, so that a large
 * allocation costs nothing until it is used. */
void *larder__host_alloc_aligned(size_t align, size_t bytes);

/* Accepts NULL. */
void larder__host_free(void *ptr);

/* For tests: make requests fail, the nth from now (1 is the next) and times-1
 * after it. times 0: all after it; nth 0: none.  Process-wide. */
void larder__host_fail(unsigned long nth, unsigned long times);
