/* rt_pool.c - memory in the order of a stream. */
#include <string.h>

#include "rt_state.h"

int cudaMallocAsync(void **out, size_t bytes, cud_stream stream)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS && bytes != 0)
        answer = cuMemAllocAsync(&addr, bytes, stream);
    if (answer == CUD_SUCCESS)
        *out = (void *)(uintptr_t)addr;
    return rt_end(answer);
}

int cudaMallocFromPoolAsync(void **out, size_t bytes, void *pool,
                            cud_stream stream)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS && bytes != 0)
        answer = cuMemAllocFromPoolAsync(&addr, bytes, pool, stream);
    if (answer == CUD_SUCCESS)
        *out = (void *)(uintptr_t)addr;
    return rt_end(answer);
}

int cudaFreeAsync(void *ptr, cud_stream stream)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS && ptr != NULL)
        answer = cuMemFreeAsync((uintptr_t)ptr, stream);
    return rt_end(answer);
}

/* ---- pools -------------------------------------------------------------------- */

int cudaMemPoolCreate(void **out, const void *properties)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuMemPoolCreate(out, properties)
                                        : answer);
}

int cudaMemPoolDestroy(void *pool)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuMemPoolDestroy(pool) : answer);
}

int cudaMemPoolTrimTo(void *pool, size_t keep_bytes)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuMemPoolTrimTo(pool, keep_bytes)
                                        : answer);
}

int cudaMemPoolGetAttribute(void *pool, int which, void *out)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS
                      ? cuMemPoolGetAttribute(pool, which, out)
                      : answer);
}

int cudaMemPoolSetAttribute(void *pool, int which, void *value)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS
                      ? cuMemPoolSetAttribute(pool, which, value)
                      : answer);
}

int cudaMemPoolSetAccess(void *pool, const cud_access *list, size_t count)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuMemPoolSetAccess(pool, list, count)
                                        : answer);
}

int cudaMemPoolGetAccess(int *out, void *pool, cud_location *where)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuMemPoolGetAccess(out, pool, where)
                                        : answer);
}

int cudaDeviceGetDefaultMemPool(void **out, int device)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuDeviceGetDefaultMemPool(out, device)
                                        : answer);
}

int cudaDeviceGetMemPool(void **out, int device)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuDeviceGetMemPool(out, device)
                                        : answer);
}

int cudaDeviceSetMemPool(int device, void *pool)
{
    int answer = rt_begin_bare();

    return rt_end(answer == CUD_SUCCESS ? cuDeviceSetMemPool(device, pool)
                                        : answer);
}

/* ---- memory of graphs: there is none ---------------------------------------------- */

int cudaDeviceGetGraphMemAttribute(int device, int which, void *out)
{
    (void)device;
    (void)which;
    memset(out, 0, sizeof(uint64_t));
    return RT_SUCCESS;
}

int cudaDeviceSetGraphMemAttribute(int device, int which, void *value)
{
    (void)device;
    (void)which;
    (void)value;
    return RT_SUCCESS;
}

int cudaDeviceGraphMemTrim(int device)
{
    (void)device;
    return RT_SUCCESS;
}
