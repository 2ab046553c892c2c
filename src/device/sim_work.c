/* sim_work.c - runs the work of streams: copies, fills, calls of kernels. */
#include "device/sim_device.h"

#include <inttypes.h>
#include <string.h>

#include "device/sim_fail.h"

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

static larder_result copy_check(const struct sim_work *work)
{
    bool from_host = work->as.copy.kind == LARDER_COPY_TO_DEVICE;
    bool to_host = work->as.copy.kind == LARDER_COPY_TO_HOST;

    if (work->as.copy.bytes == 0)
        return LARDER_OK;
    if (!from_host && !to_host && work->as.copy.kind != LARDER_COPY_ON_DEVICE)
        return larder__sim_fail(LARDER_ERR_DEVICE, "%d is not a kind of copy",
                                (int)work->as.copy.kind);
    if ((from_host && work->as.copy.src == 0) ||
        (to_host && work->as.copy.dst == 0))
        return larder__sim_fail(LARDER_ERR_DEVICE, "the host address is NULL");
    return LARDER_OK;
}

struct range {
    uint64_t addr;
    uint64_t bytes;
};

/* List the ranges of device memory that the work accesses.  Returns their
 * number. */
static int ranges_of(const struct sim_work *work,
                     struct range out[SIM_WORK_RANGES])
{
    int count = 0;

    if (work->kind == SIM_WORK_FILL)
        out[count++] = (struct range){work->as.fill.dst, work->as.fill.bytes};
    if (work->kind != SIM_WORK_COPY)
        return count;
    if (work->as.copy.kind != LARDER_COPY_TO_DEVICE)
        out[count++] = (struct range){work->as.copy.src, work->as.copy.bytes};
    if (work->as.copy.kind != LARDER_COPY_TO_HOST)
        out[count++] = (struct range){work->as.copy.dst, work->as.copy.bytes};
    return count;
}

bool larder__sim_work_touches(const struct sim_work *work, larder_addr addr,
                              uint64_t bytes)
{
    struct range ranges[SIM_WORK_RANGES];
    int count = ranges_of(work, ranges);

    for (int i = 0; i < count; i++) {
        if (ranges[i].addr < addr + bytes &&
            addr < ranges[i].addr + ranges[i].bytes)
            return true;
    }
    return false;
}

larder_result larder__sim_work_check(const struct sim *sim,
                                     const struct sim_work *work)
{
    struct range ranges[SIM_WORK_RANGES];
    int count = ranges_of(work, ranges);
    larder_result r = LARDER_OK;

    if (work->kind == SIM_WORK_COPY)
        r = copy_check(work);
    for (int i = 0; i < count && r == LARDER_OK; i++) {
        if (ranges[i].bytes != 0)
            r = device_range_check(sim, ranges[i].addr, ranges[i].bytes);
    }
    return r;
}

void larder__sim_work_queued(const struct sim *sim, struct sim_work *work)
{
    struct range ranges[SIM_WORK_RANGES];
    int count = ranges_of(work, ranges);

    for (int i = 0; i < count; i++)
        work->pages[i] =
            larder__sim_vmm_pages(sim, ranges[i].addr, ranges[i].bytes);
}

/* Fail if other pages were mapped there meanwhile: the work would access the
 * wrong data. */
static larder_result pages_check(const struct sim *sim,
                                 const struct sim_work *work)
{
    struct range ranges[SIM_WORK_RANGES];
    int count = ranges_of(work, ranges);

    for (int i = 0; i < count; i++) {
        if (larder__sim_vmm_pages(sim, ranges[i].addr, ranges[i].bytes) !=
            work->pages[i])
            return larder__sim_fail(
                LARDER_ERR_DEVICE,
                "%" PRIu64 " bytes at 0x%" PRIx64
                " were mapped to other pages while work on it was queued",
                ranges[i].bytes, ranges[i].addr);
    }
    return LARDER_OK;
}

/* Writing touches memory of the device, which the host then has to have. */
static bool is_written(const struct sim *sim, const struct sim_work *work)
{
    return work->as.copy.kind == LARDER_COPY_TO_HOST ||
           work->as.copy.bytes <= sim->spec.most_bytes;
}

static void copy_do(const struct sim *sim, const struct sim_work *work)
{
    if (work->as.copy.bytes != 0 && is_written(sim, work))
        memmove(sim_pointer(work->as.copy.dst), sim_pointer(work->as.copy.src),
                work->as.copy.bytes);
}

static void fill_do(const struct sim *sim, const struct sim_work *work)
{
    if (work->as.fill.bytes != 0 && work->as.fill.bytes <= sim->spec.most_bytes)
        memset(sim_pointer(work->as.fill.dst), work->as.fill.value,
               work->as.fill.bytes);
}

void larder__sim_work_do(const struct sim *sim, const struct sim_work *work)
{
    if (work->kind == SIM_WORK_LAUNCH)
        work->as.launch.fn(work->as.launch.ctx);
    else if (work->kind == SIM_WORK_COPY && sim->backing.is_real)
        copy_do(sim, work);
    else if (work->kind == SIM_WORK_FILL && sim->backing.is_real)
        fill_do(sim, work);
}

larder_result larder__sim_work_turn(const struct sim *sim,
                                    const struct sim_work *work)
{
    larder_result r = larder__sim_work_check(sim, work);

    if (r == LARDER_OK)
        r = pages_check(sim, work);
    if (r == LARDER_OK)
        larder__sim_work_do(sim, work);
    return r;
}
