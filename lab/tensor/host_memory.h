/* host_memory.h - host memory: every byte the lab takes comes through here,
 * so that a test can make any one request fail.
 */
#ifndef LAB_TENSOR_HOST_MEMORY_H
#define LAB_TENSOR_HOST_MEMORY_H

#include <stddef.h>

/* For what the lab keeps its books in.  NULL when there is no memory; aligned
 * for any type.  A request of 0 bytes gives a pointer too. */
void *lab__host_alloc(size_t bytes);
void *lab__host_zeroed(size_t bytes);
void lab__host_free(void *ptr); /* takes NULL */

/* For the bytes of tensors: large ones are taken from the system and go back
 * to it at once.  Aligned to 64.  *zeroed tells whether they are 0 already.
 * Freeing needs the same number of bytes. */
void *lab__host_pages(size_t bytes, int *zeroed);
void lab__host_pages_free(void *ptr, size_t bytes);

/* Make requests fail, for tests: after `passes` that succeed one fails, or
 * every one.  A negative number ends it.  Process-wide. */
void lab__host_fail_after(long passes);
void lab__host_fail_from(long passes);

#endif
