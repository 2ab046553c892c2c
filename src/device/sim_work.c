/* sim_work.c - what streams do: move bytes, fill them, call kernels. */
#include "device/sim_device.h"

#include <inttypes.h>
#include <string.h>

#include "device/sim_fail.h"

static void *as_pointer(uint64_t addr)
{
    return (void *)(uintptr_t)addr;
}

static larder_result device_range_check(const struct sim *sim, uint64_t addr,
                                        uint64_t bytes)
{
    if (larder__sim_is_accessible(sim, addr, bytes))
        return LARDER_OK;
    return larder__sim_fail(LARDER_ERR_DEVICE,
                            "%" PRIu64 " bytes at 0x%" PRIx64
                            " are not all memory of this device",
                            bytes, addr);
}

static larder_result copy_check(const struct sim *sim,
                                const struct sim_work *work)
{
    bool from_host = work->as.copy.kind == LARDER_COPY_TO_DEVICE;
    bool to_host = work->as.copy.kind == LARDER_COPY_TO_HOST;
    uint64_t bytes = work->as.copy.bytes;
    larder_result r = LARDER_OK;

    if (bytes == 0)
        return LARDER_OK;
    if (!from_host && !to_host && work->as.copy.kind != LARDER_COPY_ON_DEVICE)
        return larder__sim_fail(LARDER_ERR_DEVICE, "%d is not a kind of copy",
                                (int)work->as.copy.kind);
    if ((from_host && work->as.copy.src == 0) ||
        (to_host && work->as.copy.dst == 0))
        return larder__sim_fail(LARDER_ERR_DEVICE, "the host address is NULL");
    if (!from_host)
        r = device_range_check(sim, work->as.copy.src, bytes);
    if (r == LARDER_OK && !to_host)
        r = device_range_check(sim, work->as.copy.dst, bytes);
    return r;
}

larder_result larder__sim_work_check(const struct sim *sim,
                                     const struct sim_work *work)
{
    if (work->kind == SIM_WORK_COPY)
        return copy_check(sim, work);
    if (work->kind == SIM_WORK_FILL && work->as.fill.bytes != 0)
        return device_range_check(sim, work->as.fill.dst, work->as.fill.bytes);
    return LARDER_OK;
}

static void copy_do(const struct sim_work *work)
{
    if (work->as.copy.bytes != 0)
        memmove(as_pointer(work->as.copy.dst), as_pointer(work->as.copy.src),
                work->as.copy.bytes);
}

static void fill_do(const struct sim_work *work)
{
    if (work->as.fill.bytes != 0)
        memset(as_pointer(work->as.fill.dst), work->as.fill.value,
               work->as.fill.bytes);
}

larder_result larder__sim_work_do(const struct sim *sim,
                                  const struct sim_work *work)
{
    larder_result r = larder__sim_work_check(sim, work);

    if (r != LARDER_OK)
        return r;
    if (work->kind == SIM_WORK_LAUNCH)
        work->as.launch.fn(work->as.launch.ctx);
    else if (work->kind == SIM_WORK_COPY && sim->backing.is_real)
        copy_do(work);
    else if (work->kind == SIM_WORK_FILL && sim->backing.is_real)
        fill_do(work);
    return LARDER_OK;
}
