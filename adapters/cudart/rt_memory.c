/* rt_memory.c - device memory, host memory, and attributes of addresses. */
#include <string.h>

#include "rt_state.h"

/* ---- device ------------------------------------------------------------------- */

/* Allocating 0 bytes returns NULL. */
int cudaMalloc(void **out, size_t bytes)
{
    int answer = out == NULL ? RT_INVALID_VALUE : rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS && bytes != 0)
        answer = cuMemAlloc_v2(&addr, bytes);
    return rt_end_with(answer, addr, out);
}

int cudaFree(void *ptr)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS && ptr != NULL)
        answer = cuMemFree_v2((uintptr_t)ptr);
    return rt_end(answer);
}

int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS)
        answer = cuMemAllocPitch_v2(&addr, pitch, width, height, 4);
    return rt_end_with(answer, addr, out);
}

int cudaMalloc3D(struct rt_pitched *out, struct rt_extent extent)
{
    if (extent.depth != 0 && extent.height > SIZE_MAX / extent.depth)
        return rt_end(RT_OUT_OF_MEMORY);
    out->xsize = extent.width;
    out->ysize = extent.height;
    return cudaMallocPitch(&out->ptr, &out->pitch, extent.width,
                           extent.height * extent.depth);
}

int cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS)
        answer = cuMemAllocManaged(&addr, bytes, flags);
    return rt_end_with(answer, addr, out);
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    RT_PASS(cuMemGetInfo_v2(free_bytes, total_bytes));
}

int cudaIpcGetMemHandle(void *out, void *ptr)
{
    RT_PASS(cuIpcGetMemHandle(out, (uintptr_t)ptr));
}

int cudaIpcOpenMemHandle(void **out, cud_ipc_handle handle, unsigned flags)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS)
        answer = cuIpcOpenMemHandle_v2(&addr, handle, flags);
    return rt_end_with(answer, addr, out);
}

int cudaIpcCloseMemHandle(void *ptr)
{
    RT_PASS(cuIpcCloseMemHandle((uintptr_t)ptr));
}

/* ---- advice, which changes nothing ----------------------------------------------- */

int cudaMemAdvise(const void *ptr, size_t bytes, int advice,
                  cud_location location)
{
    (void)ptr;
    (void)bytes;
    (void)advice;
    (void)location;
    return RT_SUCCESS;
}

#if RT_MAJOR >= 13

int cudaMemPrefetchAsync(const void *ptr, size_t bytes, cud_location location,
                         unsigned flags, cud_stream stream)
{
    (void)ptr;
    (void)bytes;
    (void)location;
    (void)flags;
    (void)stream;
    return RT_SUCCESS;
}

#else

int cudaMemAdvise_v2(const void *ptr, size_t bytes, int advice,
                     cud_location location)
{
    return cudaMemAdvise(ptr, bytes, advice, location);
}

int cudaMemPrefetchAsync(const void *ptr, size_t bytes, int device,
                         cud_stream stream)
{
    (void)ptr;
    (void)bytes;
    (void)device;
    (void)stream;
    return RT_SUCCESS;
}

int cudaMemPrefetchAsync_v2(const void *ptr, size_t bytes,
                            cud_location location, unsigned flags,
                            cud_stream stream)
{
    (void)location;
    (void)flags;
    return cudaMemPrefetchAsync(ptr, bytes, 0, stream);
}

#endif

/* ---- host ------------------------------------------------------------------------- */

int cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    RT_PASS(cuMemHostAlloc(out, bytes, flags));
}

int cudaMallocHost(void **out, size_t bytes)
{
    return cudaHostAlloc(out, bytes, 0);
}

int cudaFreeHost(void *ptr)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS && ptr != NULL)
        answer = cuMemFreeHost(ptr);
    return rt_end(answer);
}

int cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
    RT_PASS(cuMemHostRegister_v2(ptr, bytes, flags));
}

int cudaHostUnregister(void *ptr)
{
    RT_PASS(cuMemHostUnregister(ptr));
}

int cudaHostGetDevicePointer(void **out, void *ptr, unsigned flags)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS)
        answer = cuMemHostGetDevicePointer_v2(&addr, ptr, flags);
    return rt_end_with(answer, addr, out);
}

int cudaHostGetFlags(unsigned *out, void *ptr)
{
    RT_PASS(cuMemHostGetFlags(out, ptr));
}

/* ---- owner of an address ------------------------------------------------------------ */

/* CUpointer_attribute and CUmemorytype */
enum { POINTER_KIND = 2, POINTER_DEVICE = 9, KIND_HOST = 1 };

/* An unknown address is unregistered host memory, not an error. */
int cudaPointerGetAttributes(struct rt_pointer_attributes *out, const void *ptr)
{
    int answer = rt_begin();
    unsigned kind = 0;

    if (answer != CUD_SUCCESS)
        return rt_end(answer);
    memset(out, 0, sizeof *out);
    out->device = -2;
    if (cuPointerGetAttribute(&kind, POINTER_KIND, (uintptr_t)ptr) !=
        CUD_SUCCESS) {
        out->type = RT_UNREGISTERED;
        out->hostPointer = (void *)ptr;
        return RT_SUCCESS;
    }
    out->type = kind == KIND_HOST ? RT_ON_HOST : RT_ON_DEVICE;
    out->devicePointer = (void *)ptr;
    if (kind == KIND_HOST)
        out->hostPointer = out->devicePointer;
    return rt_end(
        cuPointerGetAttribute(&out->device, POINTER_DEVICE, (uintptr_t)ptr));
}
