/* fake_memory.c - device and host memory, and copies. */
#include "fakecuda/fake_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- device ---------------------------------------------------------------- */

cud_result cuMemAlloc_v2(cud_addr *out, size_t bytes)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_addr addr = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    if (bytes == 0)
        return fake_end(
            fake_broken(__func__, CUD_INVALID_VALUE, "0 bytes are asked for"));
    answer = fake_capture_guard(__func__, d);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = larder__device_mem_alloc(d->dev, bytes, &addr);
    if (r == LARDER_OK)
        *out = addr;
    return fake_end_sim(__func__, d, r);
}

cud_result cuMemFree_v2(cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (addr == 0)
        return fake_end(CUD_SUCCESS);
    if (fake_pool_owns(addr))
        return fake_end_sim(__func__, d, fake_pool_free(d, addr));
    return fake_end_sim(__func__, d, larder__device_mem_free(d->dev, addr));
}

cud_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    uint64_t free_size = 0;
    uint64_t total_size = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    r = larder__device_mem_info(d->dev, &free_size, &total_size);
    *free_bytes = free_size;
    *total_bytes = total_size;
    return fake_end_sim(__func__, d, r);
}

/* Rows of multiples of 512 bytes. */
cud_result cuMemAllocPitch_v2(cud_addr *out, size_t *pitch, size_t width,
                              size_t height, unsigned element)
{
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return cuMemAlloc_v2(out, *pitch * height);
}

/* Fails a call that is not simulated. */
static cud_result refuse(const char *symbol)
{
    cud_result answer = fake_begin_bare(symbol);

    return answer != CUD_SUCCESS ? answer : fake_end(CUD_NOT_SUPPORTED);
}

/* It is device memory: the host can use its addresses too, if there is memory
 * behind them. */
cud_result cuMemAllocManaged(cud_addr *out, size_t bytes, unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (flags != 1 && flags != 2)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "there are no flags 0x%x", flags));
    answer = d->sim->backing.is_real ? CUD_SUCCESS : CUD_NOT_SUPPORTED;
    fake_unlock();
    return answer == CUD_SUCCESS ? cuMemAlloc_v2(out, bytes) : answer;
}

cud_result cuMemGetAddressRange_v2(cud_addr *base, size_t *bytes, cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    const struct sim_range *range;

    if (answer != CUD_SUCCESS)
        return answer;
    range = larder__sim_space_find(&d->sim->memory, addr);
    if (range == NULL)
        return fake_end(CUD_NOT_FOUND);
    if (base != NULL)
        *base = range->addr;
    if (bytes != NULL)
        *bytes = range->bytes;
    return fake_end(CUD_SUCCESS);
}

/* A handle refers to the whole allocation that contains the address; no other
 * process can open it. */
cud_result cuIpcGetMemHandle(void *out, cud_addr addr)
{
    enum { HANDLE_BYTES = 64 };
    cud_addr base = 0;
    cud_result answer = cuMemGetAddressRange_v2(&base, NULL, addr);

    if (answer != CUD_SUCCESS)
        return CUD_INVALID_VALUE;
    memset(out, 0, HANDLE_BYTES);
    memcpy(out, &base, sizeof base);
    return CUD_SUCCESS;
}

/* ---- moving bytes ---------------------------------------------------------- */

static cud_result copy(const char *symbol, uint64_t dst, uint64_t src,
                       size_t bytes, larder_copy_kind kind, cud_stream stream,
                       bool waits)
{
    struct fake_device *d;
    cud_result answer = fake_begin(symbol, &d);
    larder_stream number = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = larder_device_copy(d->dev, dst, src, bytes, kind, number);
    /* Without backing memory, reads return zeros. */
    if (r == LARDER_OK && kind == LARDER_COPY_TO_HOST &&
        !d->sim->backing.is_real)
        memset((void *)(uintptr_t)dst, 0, bytes);
    if (r == LARDER_OK && waits)
        r = larder_sim_complete(d->dev, number);
    return fake_end_sim(symbol, d, r);
}

static cud_result fill(const char *symbol, cud_addr dst, unsigned char value,
                       size_t bytes, cud_stream stream, bool waits)
{
    struct fake_device *d;
    cud_result answer = fake_begin(symbol, &d);
    larder_stream number = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = larder_device_fill(d->dev, dst, value, bytes, number);
    if (r == LARDER_OK && waits)
        r = larder_sim_complete(d->dev, number);
    return fake_end_sim(symbol, d, r);
}

cud_result cuMemcpyHtoDAsync_v2(cud_addr dst, const void *src, size_t bytes,
                                cud_stream stream)
{
    return copy(__func__, dst, (uintptr_t)src, bytes, LARDER_COPY_TO_DEVICE,
                stream, false);
}

cud_result cuMemcpyDtoHAsync_v2(void *dst, cud_addr src, size_t bytes,
                                cud_stream stream)
{
    return copy(__func__, (uintptr_t)dst, src, bytes, LARDER_COPY_TO_HOST,
                stream, false);
}

cud_result cuMemcpyDtoDAsync_v2(cud_addr dst, cud_addr src, size_t bytes,
                                cud_stream stream)
{
    return copy(__func__, dst, src, bytes, LARDER_COPY_ON_DEVICE, stream,
                false);
}

cud_result cuMemcpyHtoD_v2(cud_addr dst, const void *src, size_t bytes)
{
    return copy(__func__, dst, (uintptr_t)src, bytes, LARDER_COPY_TO_DEVICE,
                NULL, true);
}

cud_result cuMemcpyDtoH_v2(void *dst, cud_addr src, size_t bytes)
{
    return copy(__func__, (uintptr_t)dst, src, bytes, LARDER_COPY_TO_HOST, NULL,
                true);
}

cud_result cuMemcpyDtoD_v2(cud_addr dst, cud_addr src, size_t bytes)
{
    return copy(__func__, dst, src, bytes, LARDER_COPY_ON_DEVICE, NULL, true);
}

/* The addresses determine the direction. */
static larder_copy_kind kind_of(cud_addr dst, cud_addr src)
{
    larder_copy_kind kind = LARDER_COPY_ON_DEVICE;

    if (fake_is_child())
        return kind;
    fake_lock();
    if (fake_owner_of(src) == NULL)
        kind = LARDER_COPY_TO_DEVICE;
    else if (fake_owner_of(dst) == NULL)
        kind = LARDER_COPY_TO_HOST;
    fake_unlock();
    return kind;
}

cud_result cuMemcpy(cud_addr dst, cud_addr src, size_t bytes)
{
    return copy(__func__, dst, src, bytes, kind_of(dst, src), NULL, true);
}

cud_result cuMemcpyAsync(cud_addr dst, cud_addr src, size_t bytes,
                         cud_stream stream)
{
    return copy(__func__, dst, src, bytes, kind_of(dst, src), stream, false);
}

cud_result cuMemcpyPeerAsync(cud_addr dst, cud_context to, cud_addr src,
                             cud_context from, size_t bytes, cud_stream stream)
{
    (void)to;
    (void)from;
    return copy(__func__, dst, src, bytes, LARDER_COPY_ON_DEVICE, stream,
                false);
}

cud_result cuMemsetD8Async(cud_addr dst, unsigned char value, size_t bytes,
                           cud_stream stream)
{
    return fill(__func__, dst, value, bytes, stream, false);
}

cud_result cuMemsetD8_v2(cud_addr dst, unsigned char value, size_t bytes)
{
    return fill(__func__, dst, value, bytes, NULL, true);
}

/* A fill can only write four equal bytes. */
static bool is_one_byte(unsigned value)
{
    return value == (value & 0xff) * 0x01010101u;
}

cud_result cuMemsetD32Async(cud_addr dst, unsigned value, size_t count,
                            cud_stream stream)
{
    if (!is_one_byte(value))
        return refuse(__func__);
    return fill(__func__, dst, (unsigned char)value, count * 4, stream, false);
}

cud_result cuMemsetD32_v2(cud_addr dst, unsigned value, size_t count)
{
    if (!is_one_byte(value))
        return refuse(__func__);
    return fill(__func__, dst, (unsigned char)value, count * 4, NULL, true);
}
