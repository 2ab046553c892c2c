/* host_memory.h - host memory: every allocation of the lab goes through here,
 * so that a test can make any one of them fail. */
#pragma once

#include <stddef.h>

/* For the lab's own data structures.  NULL: no memory; aligned for any type.  A
 * request of 0 bytes returns a pointer too. */
void *lab__host_alloc(size_t bytes);
void *lab__host_zeroed(size_t bytes);
void lab__host_free(void *ptr); /* accepts NULL */

/* For the bytes of tensors: large ones are allocated from the system and
 * released to it at once.  Aligned to 64. *zeroed tells whether they are 0
 * already.  Freeing needs the same number of bytes. */
void *lab__host_pages(size_t bytes, int *zeroed);
void lab__host_pages_free(void *ptr, size_t bytes);

/* For tests: after `passes` requests that succeed, one request fails
 * (lab__host_fail_after), or all do (lab__host_fail_from).  A negative number
 * ends it.  Process-wide. */
void lab__host_fail_after(long passes);
void lab__host_fail_from(long passes);
