/* fake_shapes.c - copies and fills of rectangles and boxes. */
#include "driver/fake_state.h"

/* ---- copies --------------------------------------------------------------------- */

/* CUmemorytype */
enum { MEMORY_HOST = 1, MEMORY_DEVICE, MEMORY_ARRAY, MEMORY_UNIFIED };

/* CUDA_MEMCPY2D's source or target. */
struct side_2d {
    size_t x_bytes;
    size_t y;
    int memory;
    void *host;
    cud_addr device;
    void *array;
    size_t pitch;
};

struct copy_2d {
    struct side_2d from;
    struct side_2d to;
    size_t width;
    size_t height;
};

/* CUDA_MEMCPY3D's, and CUDA_MEMCPY3D_PEER's. */
struct side_3d {
    size_t x_bytes;
    size_t y;
    size_t z;
    size_t lod;
    int memory;
    void *host;
    cud_addr device;
    void *array;
    void *context; /* or reserved */
    size_t pitch;
    size_t height;
};

struct copy_3d {
    struct side_3d from;
    struct side_3d to;
    size_t width;
    size_t height;
    size_t depth;
};

static struct side_3d side_of(const struct side_2d *s)
{
    return (struct side_3d){.x_bytes = s->x_bytes,
                            .y = s->y,
                            .memory = s->memory,
                            .host = s->host,
                            .device = s->device,
                            .pitch = s->pitch};
}

static struct copy_3d box_of(const struct copy_2d *c)
{
    return (struct copy_3d){.from = side_of(&c->from),
                            .to = side_of(&c->to),
                            .width = c->width,
                            .height = c->height,
                            .depth = 1};
}

/* `device`: what memory of a device is: FAKE_SIDE_PEER if its context counts. */
static struct fake_side rows_of(const struct side_3d *s,
                                enum fake_side_kind device)
{
    cud_addr base = s->memory == MEMORY_HOST ? (uintptr_t)s->host : s->device;
    enum fake_side_kind kind = s->memory == MEMORY_HOST     ? FAKE_SIDE_HOST
                               : s->memory == MEMORY_DEVICE ? device
                                                            : FAKE_SIDE_ANY;

    return (struct fake_side){
        .kind = kind,
        .addr = base + (s->z * s->height + s->y) * s->pitch + s->x_bytes,
        .pitch = s->pitch,
        .slice = s->height * s->pitch,
        .context = s->context};
}

static cud_result check(const struct side_3d *s, const struct copy_3d *c)
{
    if (s->memory == MEMORY_ARRAY)
        return CUD_NOT_SUPPORTED;
    if (s->memory < MEMORY_HOST || s->memory > MEMORY_UNIFIED ||
        (c->height * c->depth > 1 && s->pitch < c->width))
        return CUD_INVALID_VALUE;
    return CUD_SUCCESS;
}

static cud_result copy_box(const char *symbol, const struct copy_3d *c,
                           enum fake_side_kind device, cud_stream stream,
                           bool waits)
{
    const struct fake_box box = {c->width, c->height, c->depth};
    cud_result answer = check(&c->to, c);
    struct fake_side to;
    struct fake_side from;

    if (answer == CUD_SUCCESS)
        answer = check(&c->from, c);
    if (answer != CUD_SUCCESS)
        return answer;
    to = rows_of(&c->to, device);
    from = rows_of(&c->from, device);
    return fake_copy(symbol, &to, &from, &box, stream, waits);
}

cud_result cuMemcpy2D_v2(const void *copy)
{
    const struct copy_3d box = box_of(copy);

    return copy_box(__func__, &box, FAKE_SIDE_DEVICE, NULL, true);
}

cud_result cuMemcpy2DUnaligned_v2(const void *copy)
{
    return cuMemcpy2D_v2(copy);
}

cud_result cuMemcpy2DAsync_v2(const void *copy, cud_stream stream)
{
    const struct copy_3d box = box_of(copy);

    return copy_box(__func__, &box, FAKE_SIDE_DEVICE, stream, false);
}

cud_result cuMemcpy3D_v2(const void *copy)
{
    return copy_box(__func__, copy, FAKE_SIDE_DEVICE, NULL, true);
}

cud_result cuMemcpy3DAsync_v2(const void *copy, cud_stream stream)
{
    return copy_box(__func__, copy, FAKE_SIDE_DEVICE, stream, false);
}

cud_result cuMemcpy3DPeer(const void *copy)
{
    return copy_box(__func__, copy, FAKE_SIDE_PEER, NULL, true);
}

cud_result cuMemcpy3DPeerAsync(const void *copy, cud_stream stream)
{
    return copy_box(__func__, copy, FAKE_SIDE_PEER, stream, false);
}

/* ---- fills ---------------------------------------------------------------------- */

static cud_result fill(const char *symbol, cud_addr dst, size_t pitch,
                       unsigned char value, const struct fake_box *box,
                       cud_stream stream, bool waits)
{
    const struct fake_side to = {
        .kind = FAKE_SIDE_DEVICE, .addr = dst, .pitch = pitch};

    if (box->height > 1 && pitch < box->width)
        return CUD_INVALID_VALUE;
    return fake_fill(symbol, &to, value, box, stream, waits);
}

cud_result cuMemsetD2D8Async(cud_addr dst, size_t pitch, unsigned char value,
                             size_t width, size_t height, cud_stream stream)
{
    const struct fake_box box = {width, height, 1};

    return fill(__func__, dst, pitch, value, &box, stream, false);
}

cud_result cuMemsetD2D8_v2(cud_addr dst, size_t pitch, unsigned char value,
                           size_t width, size_t height)
{
    const struct fake_box box = {width, height, 1};

    return fill(__func__, dst, pitch, value, &box, NULL, true);
}
