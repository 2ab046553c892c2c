/* fake_entries.h - the driver calls that the stand-in implements.  One list
 * generates their declarations and the table of cuGetProcAddress(). */
#pragma once

#include "device/cuda_driver.h"

/* The device backend's calls are in CUD_CALL_MAP; these are the others that
 * programs use.  X(symbol, arguments) */
#define FAKE_ENTRY_MAP(X)                                                      \
    X(cuDriverGetVersion, (int *))                                             \
    X(cuDeviceComputeCapability, (int *, int *, cud_device))                   \
    X(cuDeviceGetPCIBusId, (char *, int, cud_device))                          \
    X(cuDeviceGetByPCIBusId, (cud_device *, const char *))                     \
    X(cuDeviceGetDefaultMemPool, (void **, cud_device))                        \
    X(cuDeviceGetMemPool, (void **, cud_device))                               \
    X(cuDeviceSetMemPool, (cud_device, void *))                                \
    X(cuCtxGetApiVersion, (cud_context, unsigned *))                           \
    X(cuCtxGetFlags, (unsigned *))                                             \
    X(cuCtxGetLimit, (size_t *, int))                                          \
    X(cuCtxSetLimit, (int, size_t))                                            \
    X(cuCtxGetCacheConfig, (int *))                                            \
    X(cuCtxSetCacheConfig, (int))                                              \
    X(cuCtxDisablePeerAccess, (cud_context))                                   \
    X(cuMemPoolCreate, (void **, const void *))                                \
    X(cuMemPoolDestroy, (void *))                                              \
    X(cuMemPoolTrimTo, (void *, size_t))                                       \
    X(cuMemPoolGetAttribute, (void *, int, void *))                            \
    X(cuMemPoolSetAttribute, (void *, int, void *))                            \
    X(cuMemPoolSetAccess, (void *, const cud_access *, size_t))                \
    X(cuMemPoolGetAccess, (int *, void *, cud_location *))                     \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned))                        \
    X(cuMemHostUnregister, (void *))                                           \
    X(cuMemHostGetDevicePointer_v2, (cud_addr *, void *, unsigned))            \
    X(cuMemHostGetFlags, (unsigned *, void *))                                 \
    X(cuMemcpyPeerAsync,                                                       \
      (cud_addr, cud_context, cud_addr, cud_context, size_t, cud_stream))      \
    X(cuStreamBeginCaptureToGraph, (cud_stream, void *, const void *,          \
                                    const void *, size_t, cud_capture_mode))   \
    X(cuStreamGetCaptureInfo_v3,                                               \
      (cud_stream, cud_capture_status *, unsigned long long *, void **,        \
       const void **, const void **, size_t *))                                \
    X(cuStreamGetPriority, (cud_stream, int *))                                \
    X(cuStreamGetFlags, (cud_stream, unsigned *))                              \
    X(cuStreamGetId, (cud_stream, unsigned long long *))                       \
    X(cuStreamUpdateCaptureDependencies_v2,                                    \
      (cud_stream, void *, const void *, size_t, unsigned))                    \
    X(cuEventRecordWithFlags, (cud_event, cud_stream, unsigned))               \
    X(cuStreamAddCallback,                                                     \
      (cud_stream, void (*)(cud_stream, cud_result, void *), void *,           \
       unsigned))                                                              \
    X(cuLaunchHostFunc, (cud_stream, void (*)(void *), void *))                \
    X(cuGraphCreate, (void **, unsigned))                                      \
    X(cuGraphExecDestroy, (void *))                                            \
    X(cuGraphExecUpdate_v2, (void *, void *, void *))                          \
    X(cuGraphUpload, (void *, cud_stream))                                     \
    X(cuGraphGetNodes, (void *, void **, size_t *))                            \
    X(cuGraphRetainUserObject, (void *, void *, unsigned, unsigned))           \
    X(cuUserObjectCreate,                                                      \
      (void **, void *, void (*)(void *), unsigned, unsigned))                 \
    X(cuUserObjectRetain, (void *, unsigned))                                  \
    X(cuUserObjectRelease, (void *, unsigned))                                 \
    X(cuModuleLoad, (void **, const char *))                                   \
    X(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))   \
    X(cuModuleLoadFatBinary, (void **, const void *))                          \
    X(cuModuleUnload, (void *))                                                \
    X(cuModuleGetFunction, (void **, void *, const char *))                    \
    X(cuModuleGetGlobal_v2, (cud_addr *, size_t *, void *, const char *))      \
    X(cuModuleGetLoadingMode, (int *))                                         \
    X(cuLibraryLoadData, (void **, const void *, int *, void **, unsigned,     \
                          int *, void **, unsigned))                           \
    X(cuLibraryLoadFromFile, (void **, const char *, int *, void **, unsigned, \
                              int *, void **, unsigned))                       \
    X(cuLibraryUnload, (void *))                                               \
    X(cuLibraryGetKernel, (void **, void *, const char *))                     \
    X(cuLibraryGetModule, (void **, void *))                                   \
    X(cuLibraryGetGlobal, (cud_addr *, size_t *, void *, const char *))        \
    X(cuLibraryGetManaged, (cud_addr *, size_t *, void *, const char *))       \
    X(cuKernelGetFunction, (void **, void *))                                  \
    X(cuKernelGetAttribute, (int *, int, void *, cud_device))                  \
    X(cuKernelSetAttribute, (int, int, void *, cud_device))                    \
    X(cuFuncGetAttribute, (int *, int, void *))                                \
    X(cuFuncSetAttribute, (void *, int, int))                                  \
    X(cuFuncSetCacheConfig, (void *, int))                                     \
    X(cuFuncSetSharedMemConfig, (void *, int))                                 \
    X(cuFuncGetName, (const char **, void *))                                  \
    X(cuFuncGetModule, (void **, void *))                                      \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                             \
      (int *, void *, int, size_t))                                            \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,                    \
      (int *, void *, int, size_t, unsigned))                                  \
    X(cuOccupancyMaxPotentialBlockSize,                                        \
      (int *, int *, void *, size_t (*)(int), size_t, int))                    \
    X(cuLaunchCooperativeKernel,                                               \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, cud_stream, void **))                                         \
    X(cuLaunchKernelEx, (const void *, void *, void **, void **))              \
    X(cuLinkCreate_v2, (unsigned, int *, void **, void **))                    \
    X(cuLinkAddData_v2,                                                        \
      (void *, int, void *, size_t, const char *, unsigned, int *, void **))   \
    X(cuLinkAddFile_v2, (void *, int, const char *, unsigned, int *, void **)) \
    X(cuLinkComplete, (void *, const void **, size_t *))                       \
    X(cuLinkDestroy, (void *))                                                 \
    X(cuTensorMapEncodeTiled,                                                  \
      (void *, int, unsigned, void *, const void *, const void *,              \
       const void *, const void *, int, int, int, int))                        \
    X(cuGetExportTable, (const void **, const void *))                         \
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
    X(cuMemGetAllocationPropertiesFromHandle, (cud_page_prop *, cud_page))     \
    X(cuMemRetainAllocationHandle, (cud_page *, void *))                       \
    X(cuMemGetAddressRange_v2, (cud_addr *, size_t *, cud_addr))               \
    X(cuPointerGetAttribute, (void *, int, cud_addr))                          \
    X(cuPointerGetAttributes, (unsigned, int *, void **, cud_addr))            \
    X(cuIpcGetMemHandle, (void *, cud_addr))                                   \
    X(cuIpcOpenMemHandle_v2, (cud_addr *, cud_ipc_handle, unsigned))           \
    X(cuIpcCloseMemHandle, (cud_addr))                                         \
    X(cuIpcGetEventHandle, (void *, cud_event))                                \
    X(cuIpcOpenEventHandle, (cud_event *, cud_ipc_handle))                     \
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
    X(cuMemcpyPeer, (cud_addr, cud_context, cud_addr, cud_context, size_t))    \
    X(cuMemcpy2D_v2, (const void *))                                           \
    X(cuMemcpy2DUnaligned_v2, (const void *))                                  \
    X(cuMemcpy2DAsync_v2, (const void *, cud_stream))                          \
    X(cuMemcpy3D_v2, (const void *))                                           \
    X(cuMemcpy3DAsync_v2, (const void *, cud_stream))                          \
    X(cuMemcpy3DPeer, (const void *))                                          \
    X(cuMemcpy3DPeerAsync, (const void *, cud_stream))                         \
    X(cuMemsetD2D8_v2, (cud_addr, size_t, unsigned char, size_t, size_t))      \
    X(cuMemsetD2D8Async,                                                       \
      (cud_addr, size_t, unsigned char, size_t, size_t, cud_stream))           \
    X(cuProfilerStart, (void))                                                 \
    X(cuProfilerStop, (void))                                                  \
    X(cuCtxResetPersistingL2Cache, (void))                                     \
    X(cuCtxGetSharedMemConfig, (int *))                                        \
    X(cuCtxSetSharedMemConfig, (int))                                          \
    X(cuFlushGPUDirectRDMAWrites, (int, int))                                  \
    X(cuMemAdvise_v2, (cud_addr, size_t, int, cud_location))                   \
    X(cuMemAdvise, (cud_addr, size_t, int, cud_device))                        \
    X(cuMemPrefetchAsync_v2,                                                   \
      (cud_addr, size_t, cud_location, unsigned, cud_stream))                  \
    X(cuMemPrefetchAsync, (cud_addr, size_t, cud_device, cud_stream))          \
    X(cuStreamAttachMemAsync, (cud_stream, cud_addr, size_t, unsigned))        \
    X(cuStreamGetAttribute, (cud_stream, int, void *))                         \
    X(cuStreamSetAttribute, (cud_stream, int, const void *))                   \
    X(cuStreamCopyAttributes, (cud_stream, cud_stream))                        \
    X(cuStreamGetDevice, (cud_stream, cud_device *))                           \
    X(cuDeviceGetP2PAttribute, (int *, int, cud_device, cud_device))           \
    X(cuKernelSetCacheConfig, (void *, int, cud_device))                       \
    X(cuKernelGetName, (const char **, void *))                                \
    X(cuOccupancyAvailableDynamicSMemPerBlock, (size_t *, void *, int, int))   \
    X(cuGraphInstantiateWithParams, (void *, void *, void *))                  \
    X(cuGraphGetRootNodes, (void *, void **, size_t *))                        \
    X(cuStreamGetCaptureInfo_v2,                                               \
      (cud_stream, cud_capture_status *, unsigned long long *, void **,        \
       const void **, size_t *))                                               \
    X(cuStreamGetCaptureInfo,                                                  \
      (cud_stream, cud_capture_status *, unsigned long long *))                \
    X(cuGetProcAddress_v2,                                                     \
      (const char *, void **, int, unsigned long long, int *))                 \
    X(cuGetProcAddress, (const char *, void **, int, unsigned long long))      \
    X(cuOfTomorrow, (uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,         \
                     uint64_t, uint64_t, double, uint64_t *))

/* For programs of this release each name means a different variant,
 * cuOfTomorrow(), which stands for calls of a newer driver. */
enum { FAKE_TOMORROW = 90000 };

#define X(symbol, arguments) cud_result symbol arguments;
FAKE_ENTRY_MAP(X)
#undef X
#define X(need, name, cuda, hip, arguments) cud_result cuda arguments;
CUD_CALL_MAP(X)
#undef X
