/* rt_calls.h - the runtime's calls that are implemented. refused.list has those
 * of the public interface that are not. */
#pragma once

#include "rt_driver.h"
#include "rt_types.h"

/* X(symbol, arguments): each returns an error number. */
#define RT_CALL_MAP(X)                                                         \
    X(cudaGetLastError, (void))                                                \
    X(cudaPeekAtLastError, (void))                                             \
    X(cudaDriverGetVersion, (int *))                                           \
    X(cudaRuntimeGetVersion, (int *))                                          \
    X(cudaGetDriverEntryPoint,                                                 \
      (const char *, void **, unsigned long long, int *))                      \
    X(cudaGetDriverEntryPointByVersion,                                        \
      (const char *, void **, unsigned, unsigned long long, int *))            \
    X(cudaProfilerStart, (void))                                               \
    X(cudaProfilerStop, (void))                                                \
    X(cudaGetDeviceCount, (int *))                                             \
    X(cudaGetDevice, (int *))                                                  \
    X(cudaSetDevice, (int))                                                    \
    X(cudaInitDevice, (int, unsigned, unsigned))                               \
    X(cudaSetValidDevices, (int *, int))                                       \
    X(cudaSetDeviceFlags, (unsigned))                                          \
    X(cudaGetDeviceFlags, (unsigned *))                                        \
    X(cudaDeviceSynchronize, (void))                                           \
    X(cudaDeviceReset, (void))                                                 \
    X(cudaDeviceGetAttribute, (int *, int, int))                               \
    X(cudaGetDeviceProperties, (struct rt_properties *, int))                  \
    X(cudaChooseDevice, (int *, const struct rt_properties *))                 \
    X(cudaDeviceGetPCIBusId, (char *, int, int))                               \
    X(cudaDeviceGetByPCIBusId, (int *, const char *))                          \
    X(cudaDeviceGetLimit, (size_t *, int))                                     \
    X(cudaDeviceSetLimit, (int, size_t))                                       \
    X(cudaDeviceGetCacheConfig, (int *))                                       \
    X(cudaDeviceSetCacheConfig, (int))                                         \
    X(cudaDeviceGetSharedMemConfig, (int *))                                   \
    X(cudaDeviceSetSharedMemConfig, (int))                                     \
    X(cudaDeviceGetStreamPriorityRange, (int *, int *))                        \
    X(cudaDeviceCanAccessPeer, (int *, int, int))                              \
    X(cudaDeviceEnablePeerAccess, (int, unsigned))                             \
    X(cudaDeviceDisablePeerAccess, (int))                                      \
    X(cudaDeviceGetP2PAttribute, (int *, int, int, int))                       \
    X(cudaDeviceFlushGPUDirectRDMAWrites, (int, int))                          \
    X(cudaCtxResetPersistingL2Cache, (void))                                   \
    X(cudaMalloc, (void **, size_t))                                           \
    X(cudaFree, (void *))                                                      \
    X(cudaMallocPitch, (void **, size_t *, size_t, size_t))                    \
    X(cudaMalloc3D, (struct rt_pitched *, struct rt_extent))                   \
    X(cudaMallocManaged, (void **, size_t, unsigned))                          \
    X(cudaMemGetInfo, (size_t *, size_t *))                                    \
    X(cudaPointerGetAttributes,                                                \
      (struct rt_pointer_attributes *, const void *))                          \
    X(cudaMemAdvise, (const void *, size_t, int, cud_location))                \
    X(cudaIpcGetMemHandle, (void *, void *))                                   \
    X(cudaIpcOpenMemHandle, (void **, cud_ipc_handle, unsigned))               \
    X(cudaIpcCloseMemHandle, (void *))                                         \
    X(cudaIpcGetEventHandle, (void *, cud_event))                              \
    X(cudaIpcOpenEventHandle, (cud_event *, cud_ipc_handle))                   \
    X(cudaHostAlloc, (void **, size_t, unsigned))                              \
    X(cudaMallocHost, (void **, size_t))                                       \
    X(cudaFreeHost, (void *))                                                  \
    X(cudaHostRegister, (void *, size_t, unsigned))                            \
    X(cudaHostUnregister, (void *))                                            \
    X(cudaHostGetDevicePointer, (void **, void *, unsigned))                   \
    X(cudaHostGetFlags, (unsigned *, void *))                                  \
    X(cudaMemcpy, (void *, const void *, size_t, int))                         \
    X(cudaMemcpyAsync, (void *, const void *, size_t, int, cud_stream))        \
    X(cudaMemcpy3D, (const struct rt_copy_3d *))                               \
    X(cudaMemcpy3DAsync, (const struct rt_copy_3d *, cud_stream))              \
    X(cudaMemcpy3DPeer, (const struct rt_copy_3d_peer *))                      \
    X(cudaMemcpy3DPeerAsync, (const struct rt_copy_3d_peer *, cud_stream))     \
    X(cudaMemcpyPeer, (void *, int, const void *, int, size_t))                \
    X(cudaMemcpyPeerAsync,                                                     \
      (void *, int, const void *, int, size_t, cud_stream))                    \
    X(cudaMemcpy2D,                                                            \
      (void *, size_t, const void *, size_t, size_t, size_t, int))             \
    X(cudaMemcpy2DAsync,                                                       \
      (void *, size_t, const void *, size_t, size_t, size_t, int, cud_stream)) \
    X(cudaMemcpyToSymbol, (const void *, const void *, size_t, size_t, int))   \
    X(cudaMemcpyFromSymbol, (void *, const void *, size_t, size_t, int))       \
    X(cudaMemcpyToSymbolAsync,                                                 \
      (const void *, const void *, size_t, size_t, int, cud_stream))           \
    X(cudaMemcpyFromSymbolAsync,                                               \
      (void *, const void *, size_t, size_t, int, cud_stream))                 \
    X(cudaMemset, (void *, int, size_t))                                       \
    X(cudaMemsetAsync, (void *, int, size_t, cud_stream))                      \
    X(cudaMemset2D, (void *, size_t, int, size_t, size_t))                     \
    X(cudaMemset2DAsync, (void *, size_t, int, size_t, size_t, cud_stream))    \
    X(cudaMallocAsync, (void **, size_t, cud_stream))                          \
    X(cudaMallocFromPoolAsync, (void **, size_t, void *, cud_stream))          \
    X(cudaFreeAsync, (void *, cud_stream))                                     \
    X(cudaMemPoolCreate, (void **, const void *))                              \
    X(cudaMemPoolDestroy, (void *))                                            \
    X(cudaMemPoolTrimTo, (void *, size_t))                                     \
    X(cudaMemPoolGetAttribute, (void *, int, void *))                          \
    X(cudaMemPoolSetAttribute, (void *, int, void *))                          \
    X(cudaMemPoolSetAccess, (void *, const cud_access *, size_t))              \
    X(cudaMemPoolGetAccess, (int *, void *, cud_location *))                   \
    X(cudaDeviceGetDefaultMemPool, (void **, int))                             \
    X(cudaDeviceGetMemPool, (void **, int))                                    \
    X(cudaDeviceSetMemPool, (int, void *))                                     \
    X(cudaDeviceGetGraphMemAttribute, (int, int, void *))                      \
    X(cudaDeviceSetGraphMemAttribute, (int, int, void *))                      \
    X(cudaDeviceGraphMemTrim, (int))                                           \
    X(cudaStreamCreate, (cud_stream *))                                        \
    X(cudaStreamCreateWithFlags, (cud_stream *, unsigned))                     \
    X(cudaStreamCreateWithPriority, (cud_stream *, unsigned, int))             \
    X(cudaStreamDestroy, (cud_stream))                                         \
    X(cudaStreamSynchronize, (cud_stream))                                     \
    X(cudaStreamQuery, (cud_stream))                                           \
    X(cudaStreamWaitEvent, (cud_stream, cud_event, unsigned))                  \
    X(cudaStreamGetFlags, (cud_stream, unsigned *))                            \
    X(cudaStreamGetPriority, (cud_stream, int *))                              \
    X(cudaStreamGetId, (cud_stream, unsigned long long *))                     \
    X(cudaStreamGetDevice, (cud_stream, int *))                                \
    X(cudaStreamAddCallback, (cud_stream, rt_callback_fn *, void *, unsigned)) \
    X(cudaLaunchHostFunc, (cud_stream, rt_host_fn *, void *))                  \
    X(cudaStreamAttachMemAsync, (cud_stream, void *, size_t, unsigned))        \
    X(cudaStreamGetAttribute, (cud_stream, int, void *))                       \
    X(cudaStreamSetAttribute, (cud_stream, int, const void *))                 \
    X(cudaStreamCopyAttributes, (cud_stream, cud_stream))                      \
    X(cudaEventCreate, (cud_event *))                                          \
    X(cudaEventCreateWithFlags, (cud_event *, unsigned))                       \
    X(cudaEventDestroy, (cud_event))                                           \
    X(cudaEventRecord, (cud_event, cud_stream))                                \
    X(cudaEventRecordWithFlags, (cud_event, cud_stream, unsigned))             \
    X(cudaEventQuery, (cud_event))                                             \
    X(cudaEventSynchronize, (cud_event))                                       \
    X(cudaEventElapsedTime, (float *, cud_event, cud_event))                   \
    X(cudaStreamBeginCapture, (cud_stream, int))                               \
    X(cudaStreamBeginCaptureToGraph,                                           \
      (cud_stream, void *, const void *, const void *, size_t, int))           \
    X(cudaStreamEndCapture, (cud_stream, void **))                             \
    X(cudaStreamIsCapturing, (cud_stream, int *))                              \
    X(cudaThreadExchangeStreamCaptureMode, (int *))                            \
    X(cudaGraphCreate, (void **, unsigned))                                    \
    X(cudaGraphDestroy, (void *))                                              \
    X(cudaGraphInstantiate, (void **, void *, unsigned long long))             \
    X(cudaGraphInstantiateWithFlags, (void **, void *, unsigned long long))    \
    X(cudaGraphInstantiateWithParams, (void **, void *, void *))               \
    X(cudaGraphExecDestroy, (void *))                                          \
    X(cudaGraphExecUpdate, (void *, void *, void *))                           \
    X(cudaGraphUpload, (void *, cud_stream))                                   \
    X(cudaGraphLaunch, (void *, cud_stream))                                   \
    X(cudaGraphGetNodes, (void *, void **, size_t *))                          \
    X(cudaGraphGetRootNodes, (void *, void **, size_t *))                      \
    X(cudaGraphRetainUserObject, (void *, void *, unsigned, unsigned))         \
    X(cudaUserObjectCreate,                                                    \
      (void **, void *, rt_host_fn *, unsigned, unsigned))                     \
    X(cudaUserObjectRetain, (void *, unsigned))                                \
    X(cudaUserObjectRelease, (void *, unsigned))                               \
    X(cudaLaunchKernel, (const void *, struct rt_dim3, struct rt_dim3,         \
                         void **, size_t, cud_stream))                         \
    X(__cudaLaunchKernel,                                                      \
      (void *, struct rt_dim3, struct rt_dim3, void **, size_t, cud_stream))   \
    X(cudaLaunchCooperativeKernel,                                             \
      (const void *, struct rt_dim3, struct rt_dim3, void **, size_t,          \
       cud_stream))                                                            \
    X(cudaLaunchKernelExC,                                                     \
      (const struct rt_launch_config *, const void *, void **))                \
    X(__cudaPopCallConfiguration,                                              \
      (struct rt_dim3 *, struct rt_dim3 *, size_t *, void *))                  \
    X(cudaFuncGetAttributes, (struct rt_function_attributes *, const void *))  \
    X(cudaFuncSetAttribute, (const void *, int, int))                          \
    X(cudaFuncSetCacheConfig, (const void *, int))                             \
    X(cudaFuncSetSharedMemConfig, (const void *, int))                         \
    X(cudaFuncGetName, (const char **, const void *))                          \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessor,                           \
      (int *, const void *, int, size_t))                                      \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,                  \
      (int *, const void *, int, size_t, unsigned))                            \
    X(cudaOccupancyAvailableDynamicSMemPerBlock,                               \
      (size_t *, const void *, int, int))                                      \
    X(cudaGetFuncBySymbol, (void **, const void *))                            \
    X(cudaGetKernel, (void **, const void *))                                  \
    X(__cudaGetKernel, (void **, const void *))                                \
    X(cudaKernelSetAttributeForDevice, (void *, int, int, int))                \
    X(cudaGetSymbolAddress, (void **, const void *))                           \
    X(cudaGetSymbolSize, (size_t *, const void *))                             \
    X(cudaLibraryLoadData, (void **, const void *, int *, void **, unsigned,   \
                            int *, void **, unsigned))                         \
    X(cudaLibraryLoadFromFile, (void **, const char *, int *, void **,         \
                                unsigned, int *, void **, unsigned))           \
    X(cudaLibraryUnload, (void *))                                             \
    X(cudaLibraryGetKernel, (void **, void *, const char *))                   \
    X(cudaLibraryGetKernelCount, (unsigned *, void *))                         \
    X(cudaLibraryEnumerateKernels, (void **, unsigned, void *))

#define X(symbol, arguments) int symbol arguments;
RT_CALL_MAP(X)
#undef X

/* Calls whose signature or name differs between the two versions. */
#if RT_MAJOR >= 13
int cudaMemPrefetchAsync(const void *, size_t, cud_location, unsigned,
                         cud_stream);
int cudaStreamGetCaptureInfo(cud_stream, int *, unsigned long long *, void **,
                             const void **, const void **, size_t *);
int cudaStreamUpdateCaptureDependencies(cud_stream, void *, const void *,
                                        size_t, unsigned);
#else
int cudaGetDeviceProperties_v2(struct rt_properties *, int);
int cudaMemPrefetchAsync(const void *, size_t, int, cud_stream);
int cudaMemPrefetchAsync_v2(const void *, size_t, cud_location, unsigned,
                            cud_stream);
int cudaMemAdvise_v2(const void *, size_t, int, cud_location);
int cudaEventElapsedTime_v2(float *, cud_event, cud_event);
int cudaStreamGetCaptureInfo(cud_stream, int *, unsigned long long *);
int cudaStreamGetCaptureInfo_v2(cud_stream, int *, unsigned long long *,
                                void **, const void **, size_t *);
int cudaStreamGetCaptureInfo_v3(cud_stream, int *, unsigned long long *,
                                void **, const void **, const void **,
                                size_t *);
int cudaStreamUpdateCaptureDependencies(cud_stream, void *, size_t, unsigned);
int cudaStreamUpdateCaptureDependencies_v2(cud_stream, void *, const void *,
                                           size_t, unsigned);
#endif

/* Calls that return something else. */
const char *cudaGetErrorName(int);
const char *cudaGetErrorString(int);
unsigned __cudaPushCallConfiguration(struct rt_dim3, struct rt_dim3, size_t,
                                     void *);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
char __cudaInitModule(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int,
                            void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int,
                       int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int,
                              size_t, int, int);
