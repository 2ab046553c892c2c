/* torch_host.h - a host that drives the plug-in as PyTorch's wrapper does: it
 * finds the functions by name and records the allocations, under its own lock
 * (torch/csrc/cuda/CUDAPluggableAllocator.cpp).
 *
 * LARDER_TORCH_HOST is "sim", or "cuda" for the stand-in driver. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <larder/sim.h>
#include <larder/torch.h>

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

enum { HOST_DEVICES = 2, HOST_DEVICE_MIB = 256 };

/* A symbol of the plug-in, or of the library below it. */
void *host_symbol(const char *name);

/* The library's function, in the copy that the plug-in uses. */
#define LIB(name) (*(__typeof__(&name) *)(void *[1]){host_symbol(#name)})

/* Two devices of 256 MiB whose streams run on command; settings if not NULL. */
void host_up(larder_policy policy, const char *conf);
/* No memory is left on the devices. */
void host_down(void);

/* Whether failures raise: a sanitizer brings a C++ library, but this is a C
 * program, which cannot catch exceptions.  Calls that would raise are skipped
 * then. */
bool host_raises(void);

/* The wrapper's malloc(), free(), recordStream(). */
void *host_malloc(size_t bytes, int device, uintptr_t stream);
void host_free(void *ptr);
void host_record_stream(void *ptr, uintptr_t stream);

/* Everything queued on the stream has run. */
void host_complete(int device, uintptr_t stream);
void host_capture(int device, uintptr_t stream, bool begin);

larder_stats host_stats(int device);
/* The pool of the segment that contains the address. */
larder_pool_id host_pool_of(int device, const void *ptr);

/* The message of the plug-in's last failure contains these words. */
void host_failed(const char *words);
