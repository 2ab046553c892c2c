/* fake_copy.c - copies and fills, on whichever devices their memory is. */
#include "driver/fake_state.h"

#include <string.h>

static __thread bool is_blank;

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

/* What stands for the host in a copy must not be a device's, nor have been. */
static cud_result check_host_side(const char *symbol, uint64_t dst,
                                  uint64_t src, size_t bytes,
                                  larder_copy_kind kind)
{
    uint64_t host = kind == LARDER_COPY_TO_HOST ? dst : src;

    if (kind == LARDER_COPY_ON_DEVICE || fake_is_on_host(host, bytes))
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_INVALID_VALUE,
                       "0x%llx is an address of a device, not of the host",
                       (unsigned long long)host);
}

static uint64_t duration_ns(size_t bytes, bool by_host)
{
    enum { MIB_NS = 1750, HOST_MIB_NS = 87000 };
    double mib = (double)bytes / (1 << 20);

    return FAKE_LAUNCH_NS + (uint64_t)(mib * (by_host ? HOST_MIB_NS : MIB_NS));
}

/* Whose memory it is; that of d first, as devices that a test added may have
 * the same addresses. */
static struct fake_device *side_of(struct fake_device *d, cud_addr addr)
{
    return larder__sim_is_accessible(d->sim, addr, 1) ? d : fake_owner_of(addr);
}

struct transfer {
    uint64_t dst;
    uint64_t src;
    size_t bytes;
    larder_copy_kind kind;
    bool is_fill; /* with this, and neither a source nor a kind */
    unsigned char value;
    struct fake_device *by; /* the device that does it */
    bool is_between;        /* two devices */
};

/* Between two devices the target copies from the host, where the other's memory
 * lies. */
static cud_result transfer_on_devices(const char *symbol, struct fake_device *d,
                                      struct transfer *t)
{
    struct fake_device *to = side_of(d, t->dst);
    const struct fake_device *from = side_of(d, t->src);

    if (to == NULL || from == NULL) /* d refuses it */
        return CUD_SUCCESS;
    t->by = to;
    t->is_between = to != from;
    if (!t->is_between)
        return CUD_SUCCESS;
    t->kind = LARDER_COPY_TO_DEVICE;
    if (larder__sim_is_accessible(from->sim, t->src, t->bytes))
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_INVALID_VALUE,
                       "%zu bytes at 0x%llx are not all memory of one device",
                       t->bytes, (unsigned long long)t->src);
}

/* Who does it: the device of the memory, whichever the stream is of. */
static cud_result transfer_find(const char *symbol, struct fake_device *d,
                                struct transfer *t)
{
    struct fake_device *of;

    t->by = d;
    if (t->bytes == 0)
        return CUD_SUCCESS;
    if (t->kind == LARDER_COPY_ON_DEVICE)
        return transfer_on_devices(symbol, d, t);
    of = side_of(d, t->kind == LARDER_COPY_TO_HOST ? t->src : t->dst);
    t->by = of != NULL ? of : d;
    return CUD_SUCCESS;
}

static cud_result transfer_check(const char *symbol, struct fake_device *d,
                                 larder_stream number, struct transfer *t)
{
    bool is_on_device = t->kind == LARDER_COPY_ON_DEVICE;
    cud_result answer =
        check_host_side(symbol, t->dst, t->src, t->bytes, t->kind);

    if (answer == CUD_SUCCESS)
        answer = transfer_find(symbol, d, t);
    if (answer != CUD_SUCCESS)
        return answer;
    return fake_work_note(symbol, d, number,
                          duration_ns(t->bytes, !is_on_device));
}

static larder_result transfer_queue(const struct transfer *t,
                                    larder_stream number, bool waits)
{
    larder_device *dev = t->by->dev;
    larder_result r =
        t->is_fill ? larder_device_fill(dev, t->dst, t->value, t->bytes, number)
                   : larder_device_copy(dev, t->dst, t->src, t->bytes, t->kind,
                                        number);

    return r == LARDER_OK && waits ? larder_sim_complete(t->by->dev, number)
                                   : r;
}

/* What concerns another device than the stream's is done at once, after the
 * stream's earlier work. */
static larder_result transfer_do(struct fake_device *d, larder_stream number,
                                 const struct transfer *t, bool waits)
{
    larder_result r;

    if (t->by == d && !t->is_between)
        return transfer_queue(t, number, waits);
    if (fake_is_captured(d, number))
        return LARDER_OK;
    r = larder_sim_complete(d->dev, number);
    return r == LARDER_OK ? transfer_queue(t, t->by == d ? number : 0, true)
                          : r;
}

static cud_result copy(const char *symbol, uint64_t dst, uint64_t src,
                       size_t bytes, larder_copy_kind kind, cud_stream stream,
                       bool waits)
{
    struct transfer t = {.dst = dst, .src = src, .bytes = bytes, .kind = kind};
    struct fake_device *d;
    cud_result answer = fake_begin(symbol, &d);
    larder_stream number = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer == CUD_SUCCESS)
        answer = transfer_check(symbol, d, number, &t);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = transfer_do(d, number, &t, waits);
    /* Without backing memory, reads return zeros. */
    if (r == LARDER_OK && kind == LARDER_COPY_TO_HOST &&
        (is_blank || !t.by->sim->backing.is_real))
        memset((void *)(uintptr_t)dst, 0, bytes);
    return fake_end_sim(symbol, d, r);
}

/* At once, after the stream's earlier work. */
static larder_result fill_host(struct fake_device *d, larder_stream number,
                               const struct transfer *t)
{
    larder_result r;

    if (fake_is_captured(d, number))
        return LARDER_OK;
    r = larder_sim_complete(d->dev, number);
    if (r == LARDER_OK)
        memset((void *)(uintptr_t)t->dst, t->value, t->bytes);
    return r;
}

static cud_result fill(const char *symbol, cud_addr dst, unsigned char value,
                       size_t bytes, cud_stream stream, bool waits)
{
    struct transfer t = {
        .dst = dst, .bytes = bytes, .is_fill = true, .value = value};
    struct fake_device *d;
    cud_result answer = fake_begin(symbol, &d);
    larder_stream number = 0;
    struct fake_device *of;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer == CUD_SUCCESS)
        answer = fake_work_note(symbol, d, number, duration_ns(bytes, false));
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    of = side_of(d, dst);
    if (of == NULL && fake_is_locked(dst, bytes))
        return fake_end_sim(symbol, d, fill_host(d, number, &t));
    t.by = of != NULL ? of : d; /* which refuses it */
    return fake_end_sim(symbol, d, transfer_do(d, number, &t, waits));
}

/* After the stream's work. */
static cud_result copy_on_host(const char *symbol, cud_addr dst, cud_addr src,
                               size_t bytes, cud_stream stream)
{
    cud_result answer = cuStreamSynchronize(stream);

    if (answer != CUD_SUCCESS)
        return answer;
    fake_lock();
    answer = check_host_side(symbol, dst, src, bytes, LARDER_COPY_TO_DEVICE);
    if (answer == CUD_SUCCESS)
        answer = check_host_side(symbol, dst, src, bytes, LARDER_COPY_TO_HOST);
    fake_unlock();
    if (answer == CUD_SUCCESS)
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
    return answer;
}

/* What stands for a device may be page-locked memory of the host. */
static cud_result copy_unified(const char *symbol, uint64_t dst, uint64_t src,
                               size_t bytes, larder_copy_kind kind,
                               cud_stream stream, bool waits)
{
    bool from_host;
    bool to_host;

    if (fake_is_child())
        return CUD_NOT_INITIALIZED;
    fake_lock();
    from_host = kind == LARDER_COPY_TO_DEVICE || fake_is_locked(src, bytes);
    to_host = kind == LARDER_COPY_TO_HOST || fake_is_locked(dst, bytes);
    fake_unlock();
    if (from_host && to_host)
        return copy_on_host(symbol, dst, src, bytes, stream);
    if (from_host)
        kind = LARDER_COPY_TO_DEVICE;
    else if (to_host)
        kind = LARDER_COPY_TO_HOST;
    return copy(symbol, dst, src, bytes, kind, stream, waits);
}

cud_result cuMemcpyHtoDAsync_v2(cud_addr dst, const void *src, size_t bytes,
                                cud_stream stream)
{
    return copy_unified(__func__, dst, (uintptr_t)src, bytes,
                        LARDER_COPY_TO_DEVICE, stream, false);
}

cud_result cuMemcpyDtoHAsync_v2(void *dst, cud_addr src, size_t bytes,
                                cud_stream stream)
{
    return copy_unified(__func__, (uintptr_t)dst, src, bytes,
                        LARDER_COPY_TO_HOST, stream, false);
}

cud_result cuMemcpyDtoDAsync_v2(cud_addr dst, cud_addr src, size_t bytes,
                                cud_stream stream)
{
    return copy_unified(__func__, dst, src, bytes, LARDER_COPY_ON_DEVICE,
                        stream, false);
}

cud_result cuMemcpyHtoD_v2(cud_addr dst, const void *src, size_t bytes)
{
    return copy_unified(__func__, dst, (uintptr_t)src, bytes,
                        LARDER_COPY_TO_DEVICE, NULL, true);
}

cud_result cuMemcpyDtoH_v2(void *dst, cud_addr src, size_t bytes)
{
    return copy_unified(__func__, (uintptr_t)dst, src, bytes,
                        LARDER_COPY_TO_HOST, NULL, true);
}

cud_result cuMemcpyDtoD_v2(cud_addr dst, cud_addr src, size_t bytes)
{
    return copy_unified(__func__, dst, src, bytes, LARDER_COPY_ON_DEVICE, NULL,
                        true);
}

cud_result fake_copy_any(const char *symbol, cud_addr dst, cud_addr src,
                         size_t bytes, cud_stream stream, bool waits)
{
    larder_copy_kind kind = LARDER_COPY_ON_DEVICE;
    bool from_host;
    bool to_host;

    if (fake_is_child())
        return CUD_NOT_INITIALIZED;
    fake_lock();
    from_host = fake_owner_of(src) == NULL;
    to_host = fake_owner_of(dst) == NULL;
    fake_unlock();
    if (from_host && to_host)
        return copy_on_host(symbol, dst, src, bytes, stream);
    if (from_host)
        kind = LARDER_COPY_TO_DEVICE;
    else if (to_host)
        kind = LARDER_COPY_TO_HOST;
    return copy(symbol, dst, src, bytes, kind, stream, waits);
}

cud_result cuMemcpy(cud_addr dst, cud_addr src, size_t bytes)
{
    return fake_copy_any(__func__, dst, src, bytes, NULL, true);
}

cud_result cuMemcpyAsync(cud_addr dst, cud_addr src, size_t bytes,
                         cud_stream stream)
{
    return fake_copy_any(__func__, dst, src, bytes, stream, false);
}

static cud_result copy_peer(const char *symbol, cud_addr dst, cud_context to,
                            cud_addr src, cud_context from, size_t bytes,
                            cud_stream stream, bool waits)
{
    cud_result answer = fake_begin_bare(symbol);

    if (answer != CUD_SUCCESS)
        return answer;
    if (!fake_context_is_live(to) || !fake_context_is_live(from))
        return fake_end(fake_broken(symbol, CUD_INVALID_CONTEXT,
                                    "a context is not there any more"));
    fake_unlock();
    return copy(symbol, dst, src, bytes, LARDER_COPY_ON_DEVICE, stream, waits);
}

cud_result cuMemcpyPeerAsync(cud_addr dst, cud_context to, cud_addr src,
                             cud_context from, size_t bytes, cud_stream stream)
{
    return copy_peer(__func__, dst, to, src, from, bytes, stream, false);
}

cud_result cuMemcpyPeer(cud_addr dst, cud_context to, cud_addr src,
                        cud_context from, size_t bytes)
{
    return copy_peer(__func__, dst, to, src, from, bytes, NULL, true);
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
