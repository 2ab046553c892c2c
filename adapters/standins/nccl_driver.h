/* nccl_driver.h - the driver's calls that NCCL makes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* In stream order, between any addresses of devices and the host. */
int nccl_copy(uintptr_t to, uintptr_t from, size_t bytes, void *stream);
int nccl_synchronize(void *stream);
bool nccl_is_captured(void *stream);
/* The thread's context, and its device; NULL and -1: none. */
void *nccl_context(void);
int nccl_device(void);
void nccl_set_context(void *context);

#pragma GCC visibility pop
