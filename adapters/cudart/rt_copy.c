/* rt_copy.c - copies and fills memory. */
#include "rt_state.h"

static cud_addr addr_of(const void *ptr)
{
    return (uintptr_t)ptr;
}

/* ---- copies in stream order ---------------------------------------------------- */

/* CUpointer_attribute and CUmemorytype */
enum { POINTER_KIND = 2, POINTER_IS_MANAGED = 8, KIND_DEVICE = 2 };

static bool is_device_s(const void *ptr)
{
    unsigned kind = 0;
    int is_managed = 0;

    return cuPointerGetAttribute(&kind, POINTER_KIND, addr_of(ptr)) ==
               CUD_SUCCESS &&
           kind == KIND_DEVICE &&
           cuPointerGetAttribute(&is_managed, POINTER_IS_MANAGED,
                                 addr_of(ptr)) == CUD_SUCCESS &&
           !is_managed;
}

/* What no kind of copy does, or not with these addresses. */
static int check_kind(const void *to, const void *from, int kind)
{
    if (kind < RT_HOST_TO_HOST || kind > RT_COPY_DEFAULT)
        return RT_INVALID_DIRECTION;
    return kind == RT_HOST_TO_HOST && (is_device_s(to) || is_device_s(from))
               ? RT_INVALID_VALUE
               : CUD_SUCCESS;
}

static int copy_now(void *to, const void *from, size_t bytes, int kind)
{
    switch (kind) {
    case RT_HOST_TO_DEVICE:
        return cuMemcpyHtoD_v2(addr_of(to), from, bytes);
    case RT_DEVICE_TO_HOST:
        return cuMemcpyDtoH_v2(to, addr_of(from), bytes);
    case RT_DEVICE_TO_DEVICE:
        return cuMemcpyDtoD_v2(addr_of(to), addr_of(from), bytes);
    default:
        return cuMemcpy(addr_of(to), addr_of(from), bytes);
    }
}

static int copy_queued(void *to, const void *from, size_t bytes, int kind,
                       cud_stream stream)
{
    switch (kind) {
    case RT_HOST_TO_DEVICE:
        return cuMemcpyHtoDAsync_v2(addr_of(to), from, bytes, stream);
    case RT_DEVICE_TO_HOST:
        return cuMemcpyDtoHAsync_v2(to, addr_of(from), bytes, stream);
    case RT_DEVICE_TO_DEVICE:
        return cuMemcpyDtoDAsync_v2(addr_of(to), addr_of(from), bytes, stream);
    default:
        return cuMemcpyAsync(addr_of(to), addr_of(from), bytes, stream);
    }
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = check_kind(to, from, kind);
    if (answer == CUD_SUCCESS && bytes != 0)
        answer = copy_now(to, from, bytes, kind);
    return rt_end(answer);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind,
                    cud_stream stream)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = check_kind(to, from, kind);
    if (answer == CUD_SUCCESS && bytes != 0)
        answer = copy_queued(to, from, bytes, kind, stream);
    return rt_end(answer);
}

/* ---- rows ------------------------------------------------------------------------ */

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t height, int kind,
                      cud_stream stream)
{
    int answer = RT_SUCCESS;

    if (width > to_pitch || width > from_pitch)
        return rt_end(RT_INVALID_VALUE);
    if (width == 0)
        return cudaMemcpyAsync(to, from, 0, kind, stream);
    for (size_t row = 0; row < height && answer == RT_SUCCESS; row++)
        answer = cudaMemcpyAsync((char *)to + row * to_pitch,
                                 (const char *)from + row * from_pitch, width,
                                 kind, stream);
    return answer;
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height, int kind)
{
    int answer = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width,
                                   height, kind, NULL);

    return answer == RT_SUCCESS ? rt_end(cuStreamSynchronize(NULL)) : answer;
}

/* ---- between devices --------------------------------------------------------------- */

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
                        int from_device, size_t bytes, cud_stream stream)
{
    cud_context here = NULL;
    cud_context there = NULL;
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = cuDevicePrimaryCtxRetain(&here, to_device);
    if (answer == CUD_SUCCESS)
        answer = cuDevicePrimaryCtxRetain(&there, from_device);
    if (answer == CUD_SUCCESS)
        answer = cuMemcpyPeerAsync(addr_of(to), here, addr_of(from), there,
                                   bytes, stream);
    return rt_end(answer);
}

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                   size_t bytes)
{
    int answer =
        cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, NULL);

    return answer == RT_SUCCESS ? rt_end(cuStreamSynchronize(NULL)) : answer;
}

/* ---- variables ------------------------------------------------------------------- */

/* The address of the part of a variable to copy. */
static int symbol_part(const void *symbol, size_t bytes, size_t offset,
                       void **out)
{
    cud_addr addr = 0;
    size_t room = 0;
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = rt_symbol_of(symbol, &addr, &room);
    if (answer != CUD_SUCCESS)
        return answer;
    if (offset > room || bytes > room - offset)
        return RT_INVALID_VALUE;
    *out = (void *)(uintptr_t)(addr + offset);
    return CUD_SUCCESS;
}

int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                            size_t offset, int kind, cud_stream stream)
{
    void *to;
    int answer = symbol_part(symbol, bytes, offset, &to);

    return answer == CUD_SUCCESS
               ? cudaMemcpyAsync(to, from, bytes, kind, stream)
               : rt_end(answer);
}

int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes,
                              size_t offset, int kind, cud_stream stream)
{
    void *from;
    int answer = symbol_part(symbol, bytes, offset, &from);

    return answer == CUD_SUCCESS
               ? cudaMemcpyAsync(to, from, bytes, kind, stream)
               : rt_end(answer);
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
                       size_t offset, int kind)
{
    void *to;
    int answer = symbol_part(symbol, bytes, offset, &to);

    return answer == CUD_SUCCESS ? cudaMemcpy(to, from, bytes, kind)
                                 : rt_end(answer);
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes,
                         size_t offset, int kind)
{
    void *from;
    int answer = symbol_part(symbol, bytes, offset, &from);

    return answer == CUD_SUCCESS ? cudaMemcpy(to, from, bytes, kind)
                                 : rt_end(answer);
}

/* ---- setting ----------------------------------------------------------------------- */

int cudaMemset(void *ptr, int value, size_t bytes)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS && bytes != 0)
        answer = cuMemsetD8_v2(addr_of(ptr), (unsigned char)value, bytes);
    return rt_end(answer);
}

int cudaMemsetAsync(void *ptr, int value, size_t bytes, cud_stream stream)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS && bytes != 0)
        answer =
            cuMemsetD8Async(addr_of(ptr), (unsigned char)value, bytes, stream);
    return rt_end(answer);
}

int cudaMemset2DAsync(void *ptr, size_t pitch, int value, size_t width,
                      size_t height, cud_stream stream)
{
    int answer = RT_SUCCESS;

    if (width > pitch)
        return rt_end(RT_INVALID_VALUE);
    if (width == 0)
        return cudaMemsetAsync(ptr, value, 0, stream);
    for (size_t row = 0; row < height && answer == RT_SUCCESS; row++)
        answer =
            cudaMemsetAsync((char *)ptr + row * pitch, value, width, stream);
    return answer;
}

int cudaMemset2D(void *ptr, size_t pitch, int value, size_t width,
                 size_t height)
{
    return cudaMemset2DAsync(ptr, pitch, value, width, height, NULL);
}
