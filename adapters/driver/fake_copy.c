/* fake_copy.c - copies and fills, on the devices that have the memory, or on
 * the host. */
#include "driver/fake_state.h"

#include <string.h>

static _Thread_local bool is_blank;

__attribute__((visibility("default"))) void fakecuda_blank(int is_on)
{
    is_blank = is_on != 0;
}

/* Fails a call that is not simulated. */
static cud_result refuse(const char *symbol)
{
    cud_result answer = fake_begin_bare(symbol);

    return answer != CUD_SUCCESS ? answer : fake_end(CUD_NOT_SUPPORTED);
}

/* ---- where the memory is, and which device copies ----------------------- */

struct transfer {
    const struct fake_side *to;
    const struct fake_side *from; /* NULL: filled with the value */
    const struct fake_box *box;
    unsigned char value;
    struct fake_device *to_of; /* that has the memory; NULL: the host */
    struct fake_device *from_of;
};

/* From the first byte to the last; SIZE_MAX if it overflows. */
static size_t span_bytes(const struct fake_side *s, const struct fake_box *b)
{
    size_t slices;
    size_t rows;
    size_t bytes;

    if (b->width == 0 || b->height == 0 || b->depth == 0)
        return 0;
    if (__builtin_mul_overflow(b->depth - 1, s->slice, &slices) ||
        __builtin_mul_overflow(b->height - 1, s->pitch, &rows) ||
        __builtin_add_overflow(slices, rows, &bytes) ||
        __builtin_add_overflow(bytes, b->width, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* An address of the host must not be, or have been, a device's. */
static cud_result side_find(const char *symbol, struct fake_device *d,
                            const struct fake_side *s,
                            const struct fake_box *box, struct fake_device **of)
{
    size_t bytes = span_bytes(s, box);

    if (s->kind == FAKE_SIDE_PEER && !fake_context_is_live(s->context))
        return fake_broken(symbol, CUD_INVALID_CONTEXT,
                           "a context no longer exists");
    *of = s->kind == FAKE_SIDE_HOST ? NULL : fake_owner_of(s->addr);
    if (*of != NULL)
        return CUD_SUCCESS;
    if (s->kind == FAKE_SIDE_DEVICE || s->kind == FAKE_SIDE_PEER) {
        *of = fake_is_locked(s->addr, bytes) ? NULL : d; /* which refuses it */
        return CUD_SUCCESS;
    }
    if (fake_is_on_host(s->addr, bytes))
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_INVALID_VALUE,
                       "0x%llx is an address of a device, not of the host",
                       (unsigned long long)s->addr);
}

static bool is_between(const struct transfer *t)
{
    return t->to_of != NULL && t->from_of != NULL && t->to_of != t->from_of;
}

/* Between two devices, the target copies from the host addresses of the
 * source's memory. */
static struct fake_device *doer(const struct transfer *t)
{
    return t->to_of != NULL ? t->to_of : t->from_of;
}

static larder_copy_kind kind_of(const struct transfer *t)
{
    if (t->to_of == t->from_of)
        return LARDER_COPY_ON_DEVICE;
    return t->to_of != NULL ? LARDER_COPY_TO_DEVICE : LARDER_COPY_TO_HOST;
}

static cud_result transfer_find(const char *symbol, struct fake_device *d,
                                struct transfer *t)
{
    cud_result answer = side_find(symbol, d, t->to, t->box, &t->to_of);
    size_t bytes;

    t->from_of = t->to_of;
    if (answer == CUD_SUCCESS && t->from != NULL)
        answer = side_find(symbol, d, t->from, t->box, &t->from_of);
    if (answer != CUD_SUCCESS || !is_between(t))
        return answer;
    bytes = span_bytes(t->from, t->box);
    if (bytes == 0 ||
        larder__sim_is_accessible(t->from_of->sim, t->from->addr, bytes))
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_INVALID_VALUE,
                       "%zu bytes at 0x%llx are not all memory of one device",
                       bytes, (unsigned long long)t->from->addr);
}

/* ---- doing it ----------------------------------------------------------- */

typedef larder_result row_fn(const struct transfer *t, larder_stream number,
                             size_t y, size_t z);

static larder_result rows_each(const struct transfer *t, larder_stream number,
                               row_fn *row)
{
    larder_result r = LARDER_OK;

    for (size_t z = 0; z < t->box->depth && r == LARDER_OK; z++) {
        for (size_t y = 0; y < t->box->height && r == LARDER_OK; y++)
            r = row(t, number, y, z);
    }
    return r;
}

static cud_addr row_of(const struct fake_side *s, size_t y, size_t z)
{
    return s->addr + z * s->slice + y * s->pitch;
}

static larder_result row_fill(const struct transfer *t, larder_stream number,
                              size_t y, size_t z)
{
    cud_addr to = row_of(t->to, y, z);
    size_t bytes = t->box->width;

    if (t->to_of != NULL)
        return larder_device_fill(t->to_of->dev, to, t->value, bytes, number);
    memset((void *)(uintptr_t)to, t->value, bytes);
    return LARDER_OK;
}

static larder_result row_copy(const struct transfer *t, larder_stream number,
                              size_t y, size_t z)
{
    const struct fake_device *by = doer(t);
    cud_addr to = row_of(t->to, y, z);
    cud_addr from = row_of(t->from, y, z);
    size_t bytes = t->box->width;

    if (by != NULL)
        return larder_device_copy(by->dev, to, from, bytes, kind_of(t), number);
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return LARDER_OK;
}

static larder_result row_blank(const struct transfer *t, larder_stream number,
                               size_t y, size_t z)
{
    (void)number;
    memset((void *)(uintptr_t)row_of(t->to, y, z), 0, t->box->width);
    return LARDER_OK;
}

/* Without backing memory, reads return zeros. */
static bool reads_zeros(const struct transfer *t)
{
    return t->to_of == NULL && t->from_of != NULL &&
           (is_blank || !t->from_of->sim->backing.is_real);
}

/* A copy that involves only the host, or a device other than the stream's, is
 * done at once, after the stream's earlier work. */
static larder_result transfer_do(struct fake_device *d, larder_stream number,
                                 const struct transfer *t, bool waits)
{
    const struct fake_device *by = doer(t);
    bool is_queued = by == d && !is_between(t);
    larder_result r = LARDER_OK;

    if (!is_queued && fake_is_captured(d, number))
        return LARDER_OK;
    if (!is_queued)
        r = larder_sim_complete(d->dev, number);
    number = by == d ? number : 0;
    if (r == LARDER_OK)
        r = rows_each(t, number, t->from == NULL ? row_fill : row_copy);
    if (r == LARDER_OK && by != NULL && (waits || !is_queued))
        r = larder_sim_complete(by->dev, number);
    if (r == LARDER_OK && reads_zeros(t))
        r = rows_each(t, number, row_blank);
    return r;
}

static uint64_t duration_ns(const struct transfer *t)
{
    enum { MIB_NS = 1750, HOST_MIB_NS = 87000 };
    const struct fake_box *b = t->box;
    bool by_host = t->to_of == NULL || t->from_of == NULL;
    double mib =
        (double)b->width * (double)b->height * (double)b->depth / (1 << 20);

    return FAKE_LAUNCH_NS + (uint64_t)(mib * (by_host ? HOST_MIB_NS : MIB_NS));
}

static cud_result transfer(const char *symbol, struct transfer *t,
                           cud_stream stream, bool waits)
{
    struct fake_device *d;
    cud_result answer = fake_begin(symbol, &d);
    larder_stream number = 0;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer == CUD_SUCCESS)
        answer = transfer_find(symbol, d, t);
    if (answer == CUD_SUCCESS)
        answer = fake_work_note(symbol, d, number, duration_ns(t));
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(symbol, d, transfer_do(d, number, t, waits));
}

cud_result fake_copy(const char *symbol, const struct fake_side *to,
                     const struct fake_side *from, const struct fake_box *box,
                     cud_stream stream, bool waits)
{
    struct transfer t = {.to = to, .from = from, .box = box};

    return transfer(symbol, &t, stream, waits);
}

cud_result fake_fill(const char *symbol, const struct fake_side *to,
                     unsigned char value, const struct fake_box *box,
                     cud_stream stream, bool waits)
{
    struct transfer t = {.to = to, .box = box, .value = value};

    return transfer(symbol, &t, stream, waits);
}

/* ---- calls: one row ----------------------------------------------------- */

static cud_result copy(const char *symbol, struct fake_side to,
                       struct fake_side from, size_t bytes, cud_stream stream,
                       bool waits)
{
    const struct fake_box row = {bytes, 1, 1};

    return fake_copy(symbol, &to, &from, &row, stream, waits);
}

static cud_result fill(const char *symbol, cud_addr dst, unsigned char value,
                       size_t bytes, cud_stream stream, bool waits)
{
    const struct fake_side to = {.kind = FAKE_SIDE_DEVICE, .addr = dst};
    const struct fake_box row = {bytes, 1, 1};

    return fake_fill(symbol, &to, value, &row, stream, waits);
}

static struct fake_side host(const void *ptr)
{
    return (struct fake_side){.kind = FAKE_SIDE_HOST, .addr = (uintptr_t)ptr};
}

static struct fake_side device(cud_addr addr)
{
    return (struct fake_side){.kind = FAKE_SIDE_DEVICE, .addr = addr};
}

static struct fake_side peer(cud_addr addr, cud_context context)
{
    return (struct fake_side){
        .kind = FAKE_SIDE_PEER, .addr = addr, .context = context};
}

static struct fake_side any(cud_addr addr)
{
    return (struct fake_side){.kind = FAKE_SIDE_ANY, .addr = addr};
}

cud_result cuMemcpyHtoDAsync_v2(cud_addr dst, const void *src, size_t bytes,
                                cud_stream stream)
{
    return copy(__func__, device(dst), host(src), bytes, stream, false);
}

cud_result cuMemcpyDtoHAsync_v2(void *dst, cud_addr src, size_t bytes,
                                cud_stream stream)
{
    return copy(__func__, host(dst), device(src), bytes, stream, false);
}

cud_result cuMemcpyDtoDAsync_v2(cud_addr dst, cud_addr src, size_t bytes,
                                cud_stream stream)
{
    return copy(__func__, device(dst), device(src), bytes, stream, false);
}

cud_result cuMemcpyHtoD_v2(cud_addr dst, const void *src, size_t bytes)
{
    return copy(__func__, device(dst), host(src), bytes, NULL, true);
}

cud_result cuMemcpyDtoH_v2(void *dst, cud_addr src, size_t bytes)
{
    return copy(__func__, host(dst), device(src), bytes, NULL, true);
}

cud_result cuMemcpyDtoD_v2(cud_addr dst, cud_addr src, size_t bytes)
{
    return copy(__func__, device(dst), device(src), bytes, NULL, true);
}

cud_result cuMemcpy(cud_addr dst, cud_addr src, size_t bytes)
{
    return copy(__func__, any(dst), any(src), bytes, NULL, true);
}

cud_result cuMemcpyAsync(cud_addr dst, cud_addr src, size_t bytes,
                         cud_stream stream)
{
    return copy(__func__, any(dst), any(src), bytes, stream, false);
}

cud_result cuMemcpyPeerAsync(cud_addr dst, cud_context to, cud_addr src,
                             cud_context from, size_t bytes, cud_stream stream)
{
    return copy(__func__, peer(dst, to), peer(src, from), bytes, stream, false);
}

cud_result cuMemcpyPeer(cud_addr dst, cud_context to, cud_addr src,
                        cud_context from, size_t bytes)
{
    return copy(__func__, peer(dst, to), peer(src, from), bytes, NULL, true);
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
    if (count > SIZE_MAX / 4)
        return CUD_INVALID_VALUE;
    if (!is_one_byte(value))
        return refuse(__func__);
    return fill(__func__, dst, (unsigned char)value, count * 4, stream, false);
}

cud_result cuMemsetD32_v2(cud_addr dst, unsigned value, size_t count)
{
    if (count > SIZE_MAX / 4)
        return CUD_INVALID_VALUE;
    if (!is_one_byte(value))
        return refuse(__func__);
    return fill(__func__, dst, (unsigned char)value, count * 4, NULL, true);
}
