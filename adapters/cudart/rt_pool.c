/* rt_pool.c - stream-ordered memory. */
#include <string.h>

#include "rt_state.h"

int cudaMallocAsync(void **out, size_t bytes, cud_stream stream)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS && bytes != 0)
        answer = cuMemAllocAsync(&addr, bytes, stream);
    return rt_end_with(answer, addr, out);
}

int cudaMallocFromPoolAsync(void **out, size_t bytes, void *pool,
                            cud_stream stream)
{
    int answer = rt_begin();
    cud_addr addr = 0;

    if (answer == CUD_SUCCESS && bytes != 0)
        answer = cuMemAllocFromPoolAsync(&addr, bytes, pool, stream);
    return rt_end_with(answer, addr, out);
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
    RT_PASS_BARE(cuMemPoolCreate(out, properties));
}

int cudaMemPoolDestroy(void *pool)
{
    RT_PASS_BARE(cuMemPoolDestroy(pool));
}

int cudaMemPoolTrimTo(void *pool, size_t keep_bytes)
{
    RT_PASS_BARE(cuMemPoolTrimTo(pool, keep_bytes));
}

int cudaMemPoolGetAttribute(void *pool, int which, void *out)
{
    RT_PASS_BARE(cuMemPoolGetAttribute(pool, which, out));
}

int cudaMemPoolSetAttribute(void *pool, int which, void *value)
{
    RT_PASS_BARE(cuMemPoolSetAttribute(pool, which, value));
}

int cudaMemPoolSetAccess(void *pool, const cud_access *list, size_t count)
{
    RT_PASS_BARE(cuMemPoolSetAccess(pool, list, count));
}

int cudaMemPoolGetAccess(int *out, void *pool, cud_location *where)
{
    RT_PASS_BARE(cuMemPoolGetAccess(out, pool, where));
}

int cudaDeviceGetDefaultMemPool(void **out, int device)
{
    RT_PASS_BARE(cuDeviceGetDefaultMemPool(out, device));
}

int cudaDeviceGetMemPool(void **out, int device)
{
    RT_PASS_BARE(cuDeviceGetMemPool(out, device));
}

int cudaDeviceSetMemPool(int device, void *pool)
{
    RT_PASS_BARE(cuDeviceSetMemPool(device, pool));
}

/* ---- graph memory (unsupported) --------------------------------------------------- */

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
