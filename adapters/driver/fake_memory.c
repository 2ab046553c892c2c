/* fake_memory.c - device and host memory, and copies. */
#include "driver/fake_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- managed memory -------------------------------------------------------- */

struct managed {
    struct managed *next;
    cud_addr addr;
    size_t bytes;
    int device;
};

static struct managed *managed;

bool fake_is_managed(cud_addr addr, size_t bytes)
{
    const struct managed *m = managed;

    while (m != NULL && (addr < m->addr || addr - m->addr >= m->bytes ||
                         bytes > m->bytes - (addr - m->addr)))
        m = m->next;
    return m != NULL;
}

static bool managed_keep(struct fake_device *d, cud_addr addr, size_t bytes)
{
    struct managed *m = calloc(1, sizeof *m);

    if (m == NULL)
        return false;
    *m = (struct managed){managed, addr, bytes, fake_number(d)};
    managed = m;
    return true;
}

/* Of a device; addr 0: all of it. */
static void managed_drop(int device, cud_addr addr)
{
    struct managed **at = &managed;

    while (*at != NULL) {
        struct managed *m = *at;

        if (m->device == device && (addr == 0 || m->addr == addr)) {
            *at = m->next;
            free(m);
        } else {
            at = &m->next;
        }
    }
}

void fake_managed_forget(int device)
{
    managed_drop(device, 0);
}

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

/* On whichever device it is; on d if that is one of them, as devices that a
 * test added may have the same addresses. */
static larder_result memory_free(struct fake_device *d, cud_addr addr)
{
    struct fake_device *of =
        larder__sim_is_accessible(d->sim, addr, 1) ? d : fake_owner_of(addr);
    larder_result r;

    d = of != NULL ? of : d;
    r = larder__device_mem_free(d->dev, addr);
    if (r == LARDER_OK)
        managed_drop(fake_number(d), addr);
    return r;
}

cud_result cuMemFree_v2(cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (addr == 0)
        return fake_end(CUD_SUCCESS);
    answer = fake_capture_guard(__func__, d);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    if (fake_pool_owns(addr))
        return fake_end_sim(__func__, d, fake_pool_free(addr));
    return fake_end_sim(__func__, d, memory_free(d, addr));
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
    size_t row = (width + 511) / 512 * 512;

    (void)element;
    if (row < width || (height != 0 && row > SIZE_MAX / height))
        return CUD_OUT_OF_MEMORY;
    *pitch = row;
    return cuMemAlloc_v2(out, row * height);
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
    if (answer == CUD_SUCCESS)
        answer = cuMemAlloc_v2(out, bytes);
    if (answer != CUD_SUCCESS)
        return answer;
    fake_lock();
    if (!managed_keep(d, *out, bytes)) {
        (void)memory_free(d, *out);
        answer = CUD_OUT_OF_MEMORY;
    }
    return fake_end(answer);
}

cud_result cuMemGetAddressRange_v2(cud_addr *base, size_t *bytes, cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    const struct sim_range *range;
    struct sim_ipc found = {0};

    if (answer != CUD_SUCCESS)
        return answer;
    range = larder__sim_mem_find(d->sim, addr);
    if (range != NULL)
        found = (struct sim_ipc){.addr = range->addr, .bytes = range->bytes};
    else if (!fake_ipc_find(addr, &found))
        return fake_end(CUD_NOT_FOUND);
    if (base != NULL)
        *base = found.addr;
    if (bytes != NULL)
        *bytes = found.bytes;
    return fake_end(CUD_SUCCESS);
}

/* ---- moving bytes ---------------------------------------------------------- */

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
    if (answer == CUD_SUCCESS)
        answer = check_host_side(symbol, dst, src, bytes, kind);
    if (answer == CUD_SUCCESS)
        answer =
            fake_work_note(symbol, d, number,
                           duration_ns(bytes, kind != LARDER_COPY_ON_DEVICE));
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
    if (answer == CUD_SUCCESS)
        answer = fake_work_note(symbol, d, number, duration_ns(bytes, false));
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

/* The addresses determine the direction. */
static cud_result copy_any(const char *symbol, cud_addr dst, cud_addr src,
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
    return copy_any(__func__, dst, src, bytes, NULL, true);
}

cud_result cuMemcpyAsync(cud_addr dst, cud_addr src, size_t bytes,
                         cud_stream stream)
{
    return copy_any(__func__, dst, src, bytes, stream, false);
}

cud_result cuMemcpyPeerAsync(cud_addr dst, cud_context to, cud_addr src,
                             cud_context from, size_t bytes, cud_stream stream)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    if (!fake_context_is_live(to) || !fake_context_is_live(from))
        return fake_end(fake_broken(__func__, CUD_INVALID_CONTEXT,
                                    "a context is not there any more"));
    fake_unlock();
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
