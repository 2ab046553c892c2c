/* driver_calls.h - the driver's calls that the preload library makes, and those
 * that it replaces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "device/cuda_driver.h"
#include "share_calls.h"

typedef void *cud_pool;

enum {
    CUD_STREAM_LEGACY = 1, /* values of the two default streams' handles */
    CUD_STREAM_PER_THREAD = 2,
    CUD_SYNC_MEMOPS_OF_CONTEXT = 0x80, /* flag of a context */
    CUD_PEER_TOKENS = 5,               /* attribute of a pointer */
    CUD_RANGE_START = 11,
    CUD_RANGE_SIZE = 12,
    CUD_LOOKUP_PER_THREAD = 2 /* flag of cuGetProcAddress() */
};

/* Calls that are made but not replaced.  X(symbol, arguments) */
#define PRELOAD_USE_MAP(X)                                                     \
    X(cuCtxGetCurrent, (cud_context *))                                        \
    X(cuCtxGetDevice, (cud_device *))                                          \
    X(cuCtxPushCurrent_v2, (cud_context))                                      \
    X(cuCtxPopCurrent_v2, (cud_context *))                                     \
    X(cuCtxSynchronize, (void))                                                \
    X(cuDeviceGetCount, (int *))                                               \
    X(cuDeviceGetName, (char *, int, cud_device))                              \
    X(cuDeviceGetUuid_v2, (cud_uuid *, cud_device))                            \
    X(cuDeviceCanAccessPeer, (int *, cud_device, cud_device))                  \
    X(cuDevicePrimaryCtxGetState, (cud_device, unsigned *, int *))             \
    X(cuDevicePrimaryCtxRetain, (cud_context *, cud_device))                   \
    X(cuDevicePrimaryCtxRelease_v2, (cud_device))                              \
    X(cuGetErrorName, (cud_result, const char **))                             \
    X(cuEventCreate, (cud_event *, unsigned))                                  \
    X(cuEventDestroy_v2, (cud_event))                                          \
    X(cuEventRecord, (cud_event, cud_stream))                                  \
    X(cuEventQuery, (cud_event))                                               \
    X(cuEventSynchronize, (cud_event))                                         \
    X(cuStreamSynchronize, (cud_stream))                                       \
    X(cuStreamGetCtx, (cud_stream, cud_context *))                             \
    X(cuStreamIsCapturing, (cud_stream, cud_capture_status *))                 \
    X(cuMemGetAllocationGranularity,                                           \
      (size_t *, const cud_page_prop *, cud_granularity))                      \
    X(cuMemAddressReserve,                                                     \
      (cud_addr *, size_t, size_t, cud_addr, unsigned long long))              \
    X(cuMemAddressFree, (cud_addr, size_t))

/* Calls that are replaced.  X(symbol, name for cuGetProcAddress(), the CUDA
 * version from which that name means this symbol, whether it is the variant for
 * per-thread default streams, arguments) */
#define PRELOAD_HOOK_MAP(X)                                                    \
    X(cuGetProcAddress, "cuGetProcAddress", 11030, false,                      \
      (const char *, void **, int, unsigned long long))                        \
    X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, false,                   \
      (const char *, void **, int, unsigned long long, int *))                 \
    X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, false,                    \
      (size_t *, cud_device))                                                  \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, false,     \
      (cud_device))                                                            \
    X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, false, (cud_context))             \
    X(cuStreamDestroy_v2, "cuStreamDestroy", 4000, false, (cud_stream))        \
    X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, false,           \
      (cud_stream, cud_capture_mode))                                          \
    X(cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture", 10010, true,       \
      (cud_stream, cud_capture_mode))                                          \
    X(cuStreamBeginCapture, "cuStreamBeginCapture", 10000, false,              \
      (cud_stream))                                                            \
    X(cuStreamBeginCapture_ptsz, "cuStreamBeginCapture", 10000, true,          \
      (cud_stream))                                                            \
    X(cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030,       \
      false,                                                                   \
      (cud_stream, void *, const void *, const void *, size_t,                 \
       cud_capture_mode))                                                      \
    X(cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph", 12030,  \
      true,                                                                    \
      (cud_stream, void *, const void *, const void *, size_t,                 \
       cud_capture_mode))                                                      \
    X(cuStreamBeginRecaptureToGraph, "cuStreamBeginRecaptureToGraph", 13030,   \
      false, (cud_stream, cud_capture_mode, void *, void *, void *))           \
    X(cuStreamBeginRecaptureToGraph_ptsz, "cuStreamBeginRecaptureToGraph",     \
      13030, true, (cud_stream, cud_capture_mode, void *, void *, void *))     \
    X(cuStreamEndCapture, "cuStreamEndCapture", 10000, false,                  \
      (cud_stream, void **))                                                   \
    X(cuStreamEndCapture_ptsz, "cuStreamEndCapture", 10000, true,              \
      (cud_stream, void **))                                                   \
    X(cuCtxSetFlags, "cuCtxSetFlags", 12010, false, (unsigned))                \
    X(cuDevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags", 7000, false,   \
      (cud_device, unsigned))                                                  \
    X(cuDevicePrimaryCtxSetFlags_v2, "cuDevicePrimaryCtxSetFlags", 11000,      \
      false, (cud_device, unsigned))                                           \
    X(cuMemSetAccess, "cuMemSetAccess", 10020, false,                          \
      (cud_addr, size_t, const cud_access *, size_t))                          \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020, false, (cud_addr *, size_t))          \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, false,                      \
      (cud_addr *, size_t *, size_t, size_t, unsigned))                        \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000, false,                     \
      (cud_addr *, size_t, unsigned))                                          \
    X(cuMemAllocAsync, "cuMemAllocAsync", 11020, false,                        \
      (cud_addr *, size_t, cud_stream))                                        \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, true,                    \
      (cud_addr *, size_t, cud_stream))                                        \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, false,        \
      (cud_addr *, size_t, cud_pool, cud_stream))                              \
    X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, true,    \
      (cud_addr *, size_t, cud_pool, cud_stream))                              \
    X(cuMemFree_v2, "cuMemFree", 3020, false, (cud_addr))                      \
    X(cuMemFreeAsync, "cuMemFreeAsync", 11020, false, (cud_addr, cud_stream))  \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, true,                      \
      (cud_addr, cud_stream))                                                  \
    X(cuMemGetInfo_v2, "cuMemGetInfo", 3020, false, (size_t *, size_t *))      \
    X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, false,            \
      (cud_addr *, size_t *, cud_addr))                                        \
    X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000, false,             \
      (void *, int, cud_addr))                                                 \
    X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000, false,           \
      (unsigned, int *, void **, cud_addr))                                    \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, false, (void *, cud_addr)) \
    X(cuMemCreate, "cuMemCreate", 10020, false,                                \
      (cud_page *, size_t, const cud_page_prop *, unsigned long long))         \
    X(cuMemRelease, "cuMemRelease", 10020, false, (cud_page))                  \
    X(cuMemMap, "cuMemMap", 10020, false,                                      \
      (cud_addr, size_t, size_t, cud_page, unsigned long long))                \
    X(cuMemUnmap, "cuMemUnmap", 10020, false, (cud_addr, size_t))              \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000,       \
      false, (cud_page *, void *))

/* The real calls; those that the driver lacks are NULL. */
struct preload_calls {
#define X(symbol, arguments) cud_result(*symbol) arguments;
    PRELOAD_USE_MAP(X)
#undef X
#define X(symbol, name, since, per_thread, arguments)                          \
    cud_result(*symbol) arguments;
    PRELOAD_HOOK_MAP(X)
#undef X
#define X(symbol, name, since, per_thread, types, params, args)                \
    cud_result(*symbol) types;
    PRELOAD_WORK_MAP(X)
    PRELOAD_SHARE_MAP(X)
#undef X
};

/* Our replacements. */
#define X(symbol, name, since, per_thread, arguments)                          \
    __attribute__((visibility("default"))) cud_result symbol arguments;
PRELOAD_HOOK_MAP(X)
#undef X
#define X(symbol, name, since, per_thread, types, params, args)                \
    __attribute__((visibility("default"))) cud_result symbol types;
PRELOAD_WORK_MAP(X)
PRELOAD_SHARE_MAP(X)
#undef X

/* The result of a real call; CUD_NOT_SUPPORTED if the driver lacks it. */
#define PRELOAD_REAL(real, symbol, ...)                                        \
    ((real)->symbol == NULL ? CUD_NOT_SUPPORTED : (real)->symbol(__VA_ARGS__))
