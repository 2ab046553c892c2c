/* fake_memory.c - device memory and managed memory. */
#include "driver/fake_state.h"

#include <stdlib.h>

/* ---- managed memory ----------------------------------------------------- */

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

static bool managed_keep(int device, cud_addr addr, size_t bytes)
{
    struct managed *m = calloc(1, sizeof *m);

    if (m == NULL)
        return false;
    *m = (struct managed){managed, addr, bytes, device};
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

enum { ON_HOST = -1 }; /* in place of a device */

bool fake_managed_keep_host(const void *ptr, size_t bytes)
{
    return managed_keep(ON_HOST, (uintptr_t)ptr, bytes);
}

void fake_managed_drop_host(const void *ptr)
{
    managed_drop(ON_HOST, (uintptr_t)ptr);
}

void fake_managed_forget(int device)
{
    managed_drop(device, 0);
}

/* ---- device ------------------------------------------------------------- */

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
            fake_broken(__func__, CUD_INVALID_VALUE, "0 bytes are requested"));
    answer = fake_capture_guard(__func__, d);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = larder__device_mem_alloc(d->dev, bytes, &addr);
    if (r == LARDER_OK)
        *out = addr;
    return fake_end_sim(__func__, d, r);
}

/* On the device that has it; d rejects an address on none. */
static larder_result memory_free(struct fake_device *d, cud_addr addr)
{
    struct fake_device *of = fake_owner_of(addr);
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

larder_result fake_memory_free_all(struct fake_device *d)
{
    struct sim_range *range = d->sim->memory.base.next;
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && range != NULL) {
        struct sim_range *next = range->next;

        /* It may be freed already, and open in another process. */
        if (larder__sim_mem_find(d->sim, range->addr) == range &&
            !fake_pool_owns(range->addr))
            r = larder__device_mem_free(d->dev, range->addr);
        range = next;
    }
    return r;
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
    r = larder_device_mem_info(d->dev, &free_size, &total_size);
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
    if (!managed_keep(fake_number(d), *out, bytes)) {
        (void)memory_free(d, *out);
        answer = CUD_OUT_OF_MEMORY;
    }
    return fake_end(answer);
}

bool fake_allocation_find(cud_addr addr, struct sim_ipc *out)
{
    const struct fake_device *of = fake_owner_of(addr);
    const struct sim_range *range =
        of == NULL ? NULL : larder__sim_mem_find(of->sim, addr);

    if (range == NULL)
        return fake_ipc_find(addr, out);
    *out = (struct sim_ipc){.addr = range->addr, .bytes = range->bytes};
    return true;
}

cud_result cuMemGetAddressRange_v2(cud_addr *base, size_t *bytes, cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    struct sim_ipc found;

    if (answer != CUD_SUCCESS)
        return answer;
    if (!fake_allocation_find(addr, &found))
        return fake_end(CUD_NOT_FOUND);
    if (base != NULL)
        *base = found.addr;
    if (bytes != NULL)
        *bytes = found.bytes;
    return fake_end(CUD_SUCCESS);
}
