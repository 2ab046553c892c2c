/* rt_copy.c - copies and fills memory: bytes, rows and boxes. */
#include "rt_state.h"

static cud_addr addr_of(const void *ptr)
{
    return (uintptr_t)ptr;
}

/* ---- copies in stream order ---------------------------------------------------- */

/* CUpointer_attribute */
enum { POINTER_KIND = 2, POINTER_IS_MANAGED = 8 };

static bool is_device_s(const void *ptr)
{
    unsigned kind = 0;
    int is_managed = 0;

    return cuPointerGetAttribute(&kind, POINTER_KIND, addr_of(ptr)) ==
               CUD_SUCCESS &&
           kind == RT_MEMORY_DEVICE &&
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

/* ---- rows and boxes ---------------------------------------------------------------- */

static int memory_of(int kind, int device_kind)
{
    if (kind == RT_COPY_DEFAULT)
        return RT_MEMORY_UNIFIED;
    return kind == device_kind || kind == RT_DEVICE_TO_DEVICE ? RT_MEMORY_DEVICE
                                                              : RT_MEMORY_HOST;
}

static struct rt_side side_of(const struct rt_pitched *p,
                              const struct rt_pos *at, int memory)
{
    return (struct rt_side){.x_bytes = at->x,
                            .y = at->y,
                            .z = at->z,
                            .memory = memory,
                            .host = p->ptr,
                            .device = addr_of(p->ptr),
                            .pitch = p->pitch,
                            .height = p->ysize};
}

/* Begin a copy of a box.  CUD_SUCCESS: it is to be done. */
static int begin_box(const char *symbol, const struct rt_copy_3d *c,
                     struct rt_box *box)
{
    int answer = rt_begin();

    if (answer != CUD_SUCCESS)
        return answer;
    if (c->srcArray != NULL || c->dstArray != NULL)
        return rt_refuse(symbol);
    *box =
        (struct rt_box){.from = side_of(&c->srcPtr, &c->srcPos,
                                        memory_of(c->kind, RT_DEVICE_TO_HOST)),
                        .to = side_of(&c->dstPtr, &c->dstPos,
                                      memory_of(c->kind, RT_HOST_TO_DEVICE)),
                        .width = c->extent.width,
                        .height = c->extent.height,
                        .depth = c->extent.depth};
    return check_kind(c->dstPtr.ptr, c->srcPtr.ptr, c->kind);
}

int cudaMemcpy3DAsync(const struct rt_copy_3d *c, cud_stream stream)
{
    struct rt_box box;
    int answer = begin_box(__func__, c, &box);

    if (answer == CUD_SUCCESS && box.width != 0)
        answer = cuMemcpy3DAsync_v2(&box, stream);
    return rt_end(answer);
}

int cudaMemcpy3D(const struct rt_copy_3d *c)
{
    struct rt_box box;
    int answer = begin_box(__func__, c, &box);

    if (answer == CUD_SUCCESS && box.width != 0)
        answer = cuMemcpy3D_v2(&box);
    return rt_end(answer);
}

static struct rt_copy_3d flat(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              int kind)
{
    return (struct rt_copy_3d){
        .srcPtr = {.ptr = (void *)(uintptr_t)from, .pitch = from_pitch},
        .dstPtr = {.ptr = to, .pitch = to_pitch},
        .extent = {width, height, 1},
        .kind = kind};
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t height, int kind,
                      cud_stream stream)
{
    const struct rt_copy_3d c =
        flat(to, to_pitch, from, from_pitch, width, height, kind);

    return width > to_pitch || width > from_pitch
               ? rt_end(RT_INVALID_VALUE)
               : cudaMemcpy3DAsync(&c, stream);
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height, int kind)
{
    const struct rt_copy_3d c =
        flat(to, to_pitch, from, from_pitch, width, height, kind);

    return width > to_pitch || width > from_pitch ? rt_end(RT_INVALID_VALUE)
                                                  : cudaMemcpy3D(&c);
}

/* ---- between devices --------------------------------------------------------------- */

static int begin_peers(int to, int from, cud_context *here, cud_context *there)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = cuDevicePrimaryCtxRetain(here, to);
    if (answer == CUD_SUCCESS)
        answer = cuDevicePrimaryCtxRetain(there, from);
    return answer;
}

int cudaMemcpy3DPeerAsync(const struct rt_copy_3d_peer *c, cud_stream stream)
{
    struct rt_box box = {
        .from = side_of(&c->srcPtr, &c->srcPos, RT_MEMORY_DEVICE),
        .to = side_of(&c->dstPtr, &c->dstPos, RT_MEMORY_DEVICE),
        .width = c->extent.width,
        .height = c->extent.height,
        .depth = c->extent.depth};
    int answer = begin_peers(c->dstDevice, c->srcDevice, &box.to.context,
                             &box.from.context);

    if (answer == CUD_SUCCESS && (c->srcArray != NULL || c->dstArray != NULL))
        answer = rt_refuse(__func__);
    if (answer == CUD_SUCCESS)
        answer = cuMemcpy3DPeerAsync(&box, stream);
    return rt_end(answer);
}

int cudaMemcpy3DPeer(const struct rt_copy_3d_peer *c)
{
    int answer = cudaMemcpy3DPeerAsync(c, NULL);

    return answer == RT_SUCCESS ? rt_end(cuStreamSynchronize(NULL)) : answer;
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
                        int from_device, size_t bytes, cud_stream stream)
{
    cud_context here = NULL;
    cud_context there = NULL;
    int answer = begin_peers(to_device, from_device, &here, &there);

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
    int answer = rt_begin();

    if (answer == CUD_SUCCESS && width > pitch)
        answer = RT_INVALID_VALUE;
    if (answer == CUD_SUCCESS && width != 0)
        answer = cuMemsetD2D8Async(addr_of(ptr), pitch, (unsigned char)value,
                                   width, height, stream);
    return rt_end(answer);
}

int cudaMemset2D(void *ptr, size_t pitch, int value, size_t width,
                 size_t height)
{
    return cudaMemset2DAsync(ptr, pitch, value, width, height, NULL);
}
