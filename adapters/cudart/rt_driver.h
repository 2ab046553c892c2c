/* rt_driver.h - driver calls that the runtime uses, in addition to the device
 * layer's list.  Linked with libcuda.so.1. */
#pragma once

#include "device/cuda_driver.h"

typedef void rt_host_fn(void *);
typedef void rt_callback_fn(cud_stream, int, void *);

/* CUmemorytype */
enum { RT_MEMORY_HOST = 1, RT_MEMORY_DEVICE = 2, RT_MEMORY_UNIFIED = 4 };

/* CUDA_MEMCPY3D's source or target, and CUDA_MEMCPY3D_PEER's. */
struct rt_side {
    size_t x_bytes;
    size_t y;
    size_t z;
    size_t lod;
    int memory;
    const void *host;
    cud_addr device;
    void *array;
    cud_context context; /* or reserved */
    size_t pitch;
    size_t height;
};

struct rt_box {
    struct rt_side from;
    struct rt_side to;
    size_t width;
    size_t height;
    size_t depth;
};

#define X(need, name, cuda, hip, arguments) cud_result cuda arguments;
CUD_CALL_MAP(X)
#undef X

cud_result cuDriverGetVersion(int *);
cud_result cuGetProcAddress_v2(const char *, void **, int, unsigned long long,
                               int *);
cud_result cuDeviceGetPCIBusId(char *, int, cud_device);
cud_result cuDeviceGetByPCIBusId(cud_device *, const char *);
cud_result cuDeviceGetDefaultMemPool(void **, cud_device);
cud_result cuDeviceGetMemPool(void **, cud_device);
cud_result cuDeviceSetMemPool(cud_device, void *);
cud_result cuDevicePrimaryCtxReset_v2(cud_device);
cud_result cuCtxSetCurrent(cud_context);
cud_result cuCtxGetDevice(cud_device *);
cud_result cuCtxSynchronize(void);
cud_result cuCtxGetLimit(size_t *, int);
cud_result cuCtxSetLimit(int, size_t);
cud_result cuCtxEnablePeerAccess(cud_context, unsigned);
cud_result cuCtxDisablePeerAccess(cud_context);
cud_result cuCtxGetStreamPriorityRange(int *, int *);
cud_result cuMemAllocPitch_v2(cud_addr *, size_t *, size_t, size_t, unsigned);
cud_result cuMemAllocManaged(cud_addr *, size_t, unsigned);
cud_result cuMemAllocAsync(cud_addr *, size_t, cud_stream);
cud_result cuMemAllocFromPoolAsync(cud_addr *, size_t, void *, cud_stream);
cud_result cuMemFreeAsync(cud_addr, cud_stream);
cud_result cuMemPoolCreate(void **, const void *);
cud_result cuMemPoolDestroy(void *);
cud_result cuMemPoolTrimTo(void *, size_t);
cud_result cuMemPoolGetAttribute(void *, int, void *);
cud_result cuMemPoolSetAttribute(void *, int, void *);
cud_result cuMemPoolSetAccess(void *, const cud_access *, size_t);
cud_result cuMemPoolGetAccess(int *, void *, cud_location *);
cud_result cuMemHostRegister_v2(void *, size_t, unsigned);
cud_result cuMemHostUnregister(void *);
cud_result cuMemHostGetDevicePointer_v2(cud_addr *, void *, unsigned);
cud_result cuMemHostGetFlags(unsigned *, void *);
cud_result cuPointerGetAttribute(void *, int, cud_addr);
cud_result cuIpcGetMemHandle(void *, cud_addr);
cud_result cuIpcOpenMemHandle_v2(cud_addr *, cud_ipc_handle, unsigned);
cud_result cuIpcCloseMemHandle(cud_addr);
cud_result cuIpcGetEventHandle(void *, cud_event);
cud_result cuIpcOpenEventHandle(cud_event *, cud_ipc_handle);
cud_result cuMemcpy(cud_addr, cud_addr, size_t);
cud_result cuMemcpyAsync(cud_addr, cud_addr, size_t, cud_stream);
cud_result cuMemcpyHtoD_v2(cud_addr, const void *, size_t);
cud_result cuMemcpyDtoH_v2(void *, cud_addr, size_t);
cud_result cuMemcpyDtoD_v2(cud_addr, cud_addr, size_t);
cud_result cuMemcpyPeerAsync(cud_addr, cud_context, cud_addr, cud_context,
                             size_t, cud_stream);
cud_result cuMemcpy3D_v2(const struct rt_box *);
cud_result cuMemcpy3DAsync_v2(const struct rt_box *, cud_stream);
cud_result cuMemcpy3DPeerAsync(const struct rt_box *, cud_stream);
cud_result cuMemsetD2D8Async(cud_addr, size_t, unsigned char, size_t, size_t,
                             cud_stream);
cud_result cuMemsetD8_v2(cud_addr, unsigned char, size_t);
cud_result cuStreamCreateWithPriority(cud_stream *, unsigned, int);
cud_result cuStreamDestroy_v2(cud_stream);
cud_result cuStreamGetFlags(cud_stream, unsigned *);
cud_result cuStreamQuery(cud_stream);
cud_result cuStreamWaitEvent(cud_stream, cud_event, unsigned);
cud_result cuStreamGetPriority(cud_stream, int *);
cud_result cuStreamGetId(cud_stream, unsigned long long *);
cud_result cuStreamGetCtx(cud_stream, cud_context *);
cud_result cuStreamAddCallback(cud_stream, rt_callback_fn *, void *, unsigned);
cud_result cuLaunchHostFunc(cud_stream, rt_host_fn *, void *);
cud_result cuEventRecordWithFlags(cud_event, cud_stream, unsigned);
cud_result cuEventElapsedTime(float *, cud_event, cud_event);
cud_result cuStreamBeginCapture_v2(cud_stream, cud_capture_mode);
cud_result cuStreamBeginCaptureToGraph(cud_stream, void *, const void *,
                                       const void *, size_t, cud_capture_mode);
cud_result cuStreamEndCapture(cud_stream, void **);
cud_result cuStreamGetCaptureInfo_v3(cud_stream, cud_capture_status *,
                                     unsigned long long *, void **,
                                     const void **, const void **, size_t *);
cud_result cuStreamUpdateCaptureDependencies_v2(cud_stream, void *,
                                                const void *, size_t, unsigned);
cud_result cuGraphCreate(void **, unsigned);
cud_result cuGraphDestroy(void *);
cud_result cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
cud_result cuGraphExecDestroy(void *);
cud_result cuGraphExecUpdate_v2(void *, void *, void *);
cud_result cuGraphUpload(void *, cud_stream);
cud_result cuGraphLaunch(void *, cud_stream);
cud_result cuGraphGetNodes(void *, void **, size_t *);
cud_result cuGraphRetainUserObject(void *, void *, unsigned, unsigned);
cud_result cuUserObjectCreate(void **, void *, rt_host_fn *, unsigned,
                              unsigned);
cud_result cuUserObjectRetain(void *, unsigned);
cud_result cuUserObjectRelease(void *, unsigned);
cud_result cuLibraryLoadData(void **, const void *, int *, void **, unsigned,
                             int *, void **, unsigned);
cud_result cuLibraryLoadFromFile(void **, const char *, int *, void **,
                                 unsigned, int *, void **, unsigned);
cud_result cuLibraryUnload(void *);
cud_result cuLibraryGetModule(void **, void *);
cud_result cuLibraryGetKernel(void **, void *, const char *);
cud_result cuKernelGetFunction(void **, void *);
cud_result cuKernelGetAttribute(int *, int, void *, cud_device);
cud_result cuKernelSetAttribute(int, int, void *, cud_device);
cud_result cuFuncGetName(const char **, void *);
cud_result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, void *,
                                                                int, size_t,
                                                                unsigned);
cud_result cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned,
                          unsigned, unsigned, unsigned, cud_stream, void **,
                          void **);
