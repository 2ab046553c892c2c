/* fake_shapes.c - copies and fills of rectangles and boxes: row by row. */
#include "driver/fake_state.h"

/* ---- copies --------------------------------------------------------------------- */

enum { MEMORY_ARRAY = 3 }; /* CUmemorytype */

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

static cud_addr row_of(const struct side_3d *s, size_t y, size_t z)
{
    enum { MEMORY_HOST = 1 };
    cud_addr base = s->memory == MEMORY_HOST ? (uintptr_t)s->host : s->device;

    return base + ((s->z + z) * s->height + s->y + y) * s->pitch + s->x_bytes;
}

static cud_result copy_box(const char *symbol, const struct copy_3d *c,
                           cud_stream stream, bool waits)
{
    cud_result answer = CUD_SUCCESS;

    if (c->from.memory == MEMORY_ARRAY || c->to.memory == MEMORY_ARRAY)
        return CUD_NOT_SUPPORTED;
    if (c->height * c->depth > 1 &&
        ((c->from.pitch < c->width) || (c->to.pitch < c->width)))
        return CUD_INVALID_VALUE;
    for (size_t z = 0; z < c->depth; z++) {
        for (size_t y = 0; y < c->height && answer == CUD_SUCCESS; y++)
            answer =
                fake_copy_any(symbol, row_of(&c->to, y, z),
                              row_of(&c->from, y, z), c->width, stream, waits);
    }
    return answer;
}

cud_result cuMemcpy2D_v2(const void *copy)
{
    const struct copy_3d box = box_of(copy);

    return copy_box(__func__, &box, NULL, true);
}

cud_result cuMemcpy2DUnaligned_v2(const void *copy)
{
    return cuMemcpy2D_v2(copy);
}

cud_result cuMemcpy2DAsync_v2(const void *copy, cud_stream stream)
{
    const struct copy_3d box = box_of(copy);

    return copy_box(__func__, &box, stream, false);
}

cud_result cuMemcpy3D_v2(const void *copy)
{
    return copy_box(__func__, copy, NULL, true);
}

cud_result cuMemcpy3DAsync_v2(const void *copy, cud_stream stream)
{
    return copy_box(__func__, copy, stream, false);
}

cud_result cuMemcpy3DPeer(const void *copy)
{
    return copy_box(__func__, copy, NULL, true);
}

cud_result cuMemcpy3DPeerAsync(const void *copy, cud_stream stream)
{
    return copy_box(__func__, copy, stream, false);
}

/* ---- fills ---------------------------------------------------------------------- */

cud_result cuMemsetD2D8Async(cud_addr dst, size_t pitch, unsigned char value,
                             size_t width, size_t height, cud_stream stream)
{
    cud_result answer = CUD_SUCCESS;

    if (height > 1 && pitch < width)
        return CUD_INVALID_VALUE;
    for (size_t y = 0; y < height && answer == CUD_SUCCESS; y++)
        answer = cuMemsetD8Async(dst + y * pitch, value, width, stream);
    return answer;
}

cud_result cuMemsetD2D8_v2(cud_addr dst, size_t pitch, unsigned char value,
                           size_t width, size_t height)
{
    cud_result answer =
        cuMemsetD2D8Async(dst, pitch, value, width, height, NULL);

    return answer == CUD_SUCCESS ? cuStreamSynchronize(NULL) : answer;
}
