/* fake_entries.h - the driver calls that the stand-in answers: one list makes
 * their declarations and what cuGetProcAddress() finds. */
#ifndef LARDER_TESTS_FAKECUDA_FAKE_ENTRIES_H
#define LARDER_TESTS_FAKECUDA_FAKE_ENTRIES_H

#include "device/cuda_driver.h"

/* Those of the device backend are in CUD_CALL_MAP; these are the other ones
 * that programs use.  X(symbol, arguments) */
#define FAKE_ENTRY_MAP(X)                                                      \
    X(cuDriverGetVersion, (int *))                                             \
    X(cuDeviceComputeCapability, (int *, int *, cud_device))                   \
    X(cuDevicePrimaryCtxGetState, (cud_device, unsigned *, int *))             \
    X(cuDevicePrimaryCtxSetFlags_v2, (cud_device, unsigned))                   \
    X(cuDevicePrimaryCtxReset_v2, (cud_device))                                \
    X(cuCtxCreate_v2, (cud_context *, unsigned, cud_device))                   \
    X(cuCtxDestroy_v2, (cud_context))                                          \
    X(cuCtxSetCurrent, (cud_context))                                          \
    X(cuCtxGetDevice, (cud_device *))                                          \
    X(cuCtxSynchronize, (void))                                                \
    X(cuCtxEnablePeerAccess, (cud_context, unsigned))                          \
    X(cuCtxGetStreamPriorityRange, (int *, int *))                             \
    X(cuMemAllocPitch_v2, (cud_addr *, size_t *, size_t, size_t, unsigned))    \
    X(cuMemAllocManaged, (cud_addr *, size_t, unsigned))                       \
    X(cuMemAllocAsync, (cud_addr *, size_t, cud_stream))                       \
    X(cuMemAllocFromPoolAsync, (cud_addr *, size_t, void *, cud_stream))       \
    X(cuMemFreeAsync, (cud_addr, cud_stream))                                  \
    X(cuMemAllocHost_v2, (void **, size_t))                                    \
    X(cuMemGetAddressRange_v2, (cud_addr *, size_t *, cud_addr))               \
    X(cuPointerGetAttribute, (void *, int, cud_addr))                          \
    X(cuPointerGetAttributes, (unsigned, int *, void **, cud_addr))            \
    X(cuIpcGetMemHandle, (void *, cud_addr))                                   \
    X(cuMemcpyHtoD_v2, (cud_addr, const void *, size_t))                       \
    X(cuMemcpyDtoH_v2, (void *, cud_addr, size_t))                             \
    X(cuMemcpyDtoD_v2, (cud_addr, cud_addr, size_t))                           \
    X(cuMemcpy, (cud_addr, cud_addr, size_t))                                  \
    X(cuMemcpyAsync, (cud_addr, cud_addr, size_t, cud_stream))                 \
    X(cuMemsetD8_v2, (cud_addr, unsigned char, size_t))                        \
    X(cuMemsetD32_v2, (cud_addr, unsigned, size_t))                            \
    X(cuMemsetD32Async, (cud_addr, unsigned, size_t, cud_stream))              \
    X(cuStreamCreate, (cud_stream *, unsigned))                                \
    X(cuStreamCreateWithPriority, (cud_stream *, unsigned, int))               \
    X(cuStreamDestroy_v2, (cud_stream))                                        \
    X(cuStreamQuery, (cud_stream))                                             \
    X(cuStreamGetCtx, (cud_stream, cud_context *))                             \
    X(cuStreamWaitEvent, (cud_stream, cud_event, unsigned))                    \
    X(cuStreamBeginCapture_v2, (cud_stream, cud_capture_mode))                 \
    X(cuStreamEndCapture, (cud_stream, void **))                               \
    X(cuGraphDestroy, (void *))                                                \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))      \
    X(cuGraphLaunch, (void *, cud_stream))                                     \
    X(cuEventElapsedTime, (float *, cud_event, cud_event))                     \
    X(cuModuleLoadData, (void **, const void *))                               \
    X(cuMulticastCreate, (void *, const void *))                               \
    X(cuMulticastAddDevice, (unsigned long long, cud_device))                  \
    X(cuMulticastBindMem, (unsigned long long, size_t, unsigned long long,     \
                           size_t, size_t, unsigned long long))                \
    X(cuMulticastUnbind, (unsigned long long, cud_device, size_t, size_t))     \
    X(cuStreamWriteValue32, (cud_stream, cud_addr, unsigned, unsigned))        \
    X(cuLaunchKernel,                                                          \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, cud_stream, void **, void **))                                \
    X(cuGetProcAddress_v2,                                                     \
      (const char *, void **, int, unsigned long long, int *))                 \
    X(cuGetProcAddress, (const char *, void **, int, unsigned long long))

#define X(symbol, arguments) cud_result symbol arguments;
FAKE_ENTRY_MAP(X)
#undef X
#define X(need, name, cuda, hip, arguments) cud_result cuda arguments;
CUD_CALL_MAP(X)
#undef X

#endif
