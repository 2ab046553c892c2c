/* sim_memory.c - driver allocations of the simulated GPU, which addresses are
 * accessible, and pinned host memory. */
#include "device/sim_device.h"

#include <inttypes.h>

#include "base/bits.h"
#include "base/host.h"
#include "device/sim_fail.h"

/* ---- allocations ---------------------------------------------------------- */

/* Small requests share a granule of 2 MiB; larger ones have their own. */
static enum sim_align request_align(uint64_t bytes)
{
    return bytes < LARDER_MIB ? SIM_ALIGN_512 : SIM_ALIGN_2MIB;
}

static bool is_cut(const struct sim_range *range, enum sim_align align)
{
    return align == SIM_ALIGN_512 &&
           range->addr / SIM_GRANULE !=
               (range->addr + range->bytes - 1) / SIM_GRANULE;
}

/* A small request lies in one granule, which another process can map whole. */
static bool range_take(struct sim *sim, uint64_t bytes, enum sim_align align,
                       struct sim_range *range)
{
    if (!larder__sim_space_take(&sim->memory, bytes, align, range))
        return false;
    if (!is_cut(range, align))
        return true;
    larder__sim_space_release(&sim->memory, range);
    return larder__sim_space_take(&sim->memory, bytes, SIM_ALIGN_2MIB, range);
}

/* Find a place; the bytes are already in the budget. */
static larder_result memory_place(struct sim *sim, uint64_t bytes,
                                  enum sim_align align, struct sim_range *range)
{
    larder_result r;

    if (!range_take(sim, bytes, align, range))
        return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                                "no free address range is long enough");
    r = larder__sim_backing_commit(&sim->backing, range->addr, bytes);
    if (r != LARDER_OK)
        larder__sim_space_release(&sim->memory, range);
    return r;
}

static larder_result memory_take(struct sim *sim, uint64_t bytes,
                                 enum sim_align align, struct sim_range *range)
{
    larder_result r;

    larder__sim_lend_sweep(sim);
    r = larder__sim_budget_take(&sim->budget, bytes);
    if (r != LARDER_OK)
        return r;
    r = memory_place(sim, bytes, align, range);
    if (r != LARDER_OK)
        larder__sim_budget_release(&sim->budget, bytes);
    return r;
}

larder_result larder__sim_mem_alloc(struct sim *sim, uint64_t bytes,
                                    larder_addr *out)
{
    enum sim_align align = request_align(bytes);
    struct sim_range *range;
    larder_result r;

    if (bytes == 0)
        return larder__sim_fail(LARDER_ERR_DEVICE, "the size is 0");
    /* Do not round sizes that are far too large: that could overflow. */
    if (bytes <= sim->budget.capacity_bytes)
        bytes = bits_up(bytes, align == SIM_ALIGN_512 ? 512 : SIM_GRANULE);
    range = larder__host_alloc_unset(sizeof *range);
    if (range == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    *range = (struct sim_range){.is_memory = true};
    r = memory_take(sim, bytes, align, range);
    if (r != LARDER_OK) {
        larder__host_free(range);
        return r;
    }
    sim->allocations++;
    *out = range->addr;
    return LARDER_OK;
}

/* A host page is released with the last allocation on it, so the free bytes on
 * both sides count. */
static larder_result memory_decommit(struct sim *sim,
                                     const struct sim_range *range)
{
    uint64_t page = sim->backing.host_page_bytes;
    larder_addr before = range->prev->addr + range->prev->bytes;
    larder_addr after =
        range->next != NULL ? range->next->addr : sim->memory.end;
    larder_addr begin = bits_down(range->addr, page);
    larder_addr end = bits_up(range->addr + range->bytes, page);

    begin = begin > before ? begin : before;
    end = end < after ? end : after;
    return larder__sim_backing_decommit(&sim->backing, begin, end - begin);
}

larder_result larder__sim_mem_end(struct sim *sim, struct sim_range *range)
{
    larder_result r = memory_decommit(sim, range);

    if (r != LARDER_OK)
        return r;
    larder__sim_budget_release(&sim->budget, range->bytes);
    larder__sim_space_release(&sim->memory, range);
    larder__host_free(range);
    return LARDER_OK;
}

struct sim_range *larder__sim_mem_find(const struct sim *sim, larder_addr addr)
{
    struct sim_range *range = larder__sim_space_find(&sim->memory, addr);

    return range == NULL || range->is_gone ? NULL : range;
}

larder_result larder__sim_mem_free(struct sim *sim, larder_addr addr)
{
    struct sim_range *range = larder__sim_mem_find(sim, addr);
    larder_result r = larder__sim_capture_forbids(sim);

    if (r != LARDER_OK)
        return r;
    if (range == NULL || range->addr != addr)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "no allocation begins at this address");
    r = larder__sim_streams_wait(sim);
    if (r != LARDER_OK)
        return r;
    if (!range->is_lent || !larder__sim_ipc_keeps(sim, range))
        r = larder__sim_mem_end(sim, range);
    if (r == LARDER_OK)
        sim->allocations--;
    return r;
}

void larder__sim_memory_close(struct sim *sim)
{
    struct sim_range *range;

    while ((range = larder__sim_space_any(&sim->memory)) != NULL) {
        larder__sim_space_release(&sim->memory, range);
        larder__host_free(range);
    }
}

bool larder__sim_is_accessible(const struct sim *sim, larder_addr addr,
                               uint64_t bytes)
{
    const struct sim_range *range = larder__sim_mem_find(sim, addr);

    if (range == NULL)
        return larder__sim_vmm_is_accessible(sim, addr, bytes);
    return bytes <= range->bytes - (addr - range->addr);
}

/* ---- pinned host memory --------------------------------------------------- */

larder_result larder__sim_pinned_alloc(struct sim *sim, uint64_t bytes,
                                       void **out)
{
    struct sim_pinned *pinned = &sim->pinned;
    void *ptr;

    if (!HOST_ROOM(pinned->list, pinned->capacity, pinned->count + 1) ||
        (ptr = larder__host_alloc_aligned(4096, bytes)) == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    pinned->list[pinned->count++] = ptr;
    *out = ptr;
    return LARDER_OK;
}

/* Freeing any other address is an error, as a driver's is, and not the end of
 * the process. */
larder_result larder__sim_pinned_free(struct sim *sim, void *ptr)
{
    struct sim_pinned *pinned = &sim->pinned;
    size_t place = 0;
    larder_result r;

    while (place < pinned->count && pinned->list[place] != ptr)
        place++;
    if (place == pinned->count)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "no pinned memory begins at 0x%" PRIxPTR,
                                (uintptr_t)ptr);
    if ((r = larder__sim_streams_wait(sim)) != LARDER_OK)
        return r;
    pinned->list[place] = pinned->list[--pinned->count];
    larder__host_free(ptr);
    return LARDER_OK;
}

/* What was not freed stays: queued work of other devices may use it. */
void larder__sim_pinned_close(struct sim *sim)
{
    larder__host_free(sim->pinned.list);
}
