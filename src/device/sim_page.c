/* sim_page.c - physical handles of the simulated GPU: a place in its memory
 * file, and a lifetime that ends with the last mapping. */
#include "device/sim_device.h"

#include <inttypes.h>

#include "base/host.h"
#include "device/sim_fail.h"

/* Find a place in the memory file, if pages are real. */
static larder_result page_place(struct sim *sim, uint64_t bytes,
                                struct sim_range **out)
{
    struct sim_range *place;

    *out = NULL;
    if (!sim->backing.is_real)
        return LARDER_OK;
    place = larder__host_alloc(1, sizeof *place);
    if (place == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!larder__sim_space_take(&sim->file, bytes, SIM_ALIGN_2MIB, place)) {
        larder__host_free(place);
        return larder__sim_fail(
            LARDER_ERR_OUT_OF_MEMORY,
            "no free part of the memory file is long enough");
    }
    *out = place;
    return LARDER_OK;
}

void larder__sim_page_unplace(struct sim *sim, struct sim_range *place,
                              uint64_t bytes)
{
    larder__sim_budget_release(&sim->budget, bytes);
    if (place == NULL)
        return;
    larder__sim_backing_discard(&sim->backing, place->addr, place->bytes);
    larder__sim_space_release(&sim->file, place);
    larder__host_free(place);
}

larder_result larder__sim_page_create(struct sim *sim, uint64_t bytes,
                                      uint64_t *out)
{
    struct sim_range *place;
    struct sim_page *page;
    larder_result r;

    if (bytes == 0 || bytes % SIM_GRANULE != 0)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "a page is a multiple of %" PRIu64 " bytes",
                                SIM_GRANULE);
    larder__sim_lend_sweep(sim);
    r = larder__sim_budget_take(&sim->budget, bytes);
    if (r != LARDER_OK)
        return r;
    r = page_place(sim, bytes, &place);
    if (r != LARDER_OK) {
        larder__sim_budget_release(&sim->budget, bytes);
        return r;
    }
    page = larder__sim_slots_take(&sim->pages);
    if (page == NULL) {
        larder__sim_page_unplace(sim, place, bytes);
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    page->place = place;
    page->bytes = bytes;
    *out = larder__sim_slots_handle(&sim->pages, page);
    return LARDER_OK;
}

static void page_end(struct sim *sim, struct sim_page *page)
{
    if (page->foreign != NULL)
        larder__sim_lend_return(sim, page);
    else if (page->place == NULL || !larder__sim_lend_keeps(sim, page->place))
        larder__sim_page_unplace(sim, page->place, page->bytes);
    larder__sim_slots_release(&sim->pages, page);
}

larder_result larder__sim_page_release(struct sim *sim, uint64_t handle)
{
    struct sim_page *page = larder__sim_slots_find(&sim->pages, handle);

    if (page == NULL || page->is_released)
        return larder__sim_fail(LARDER_ERR_DEVICE, "there is no such page");
    page->is_released = true;
    if (page->mappings == 0)
        page_end(sim, page);
    return LARDER_OK;
}

void larder__sim_page_unmapped(struct sim *sim, struct sim_page *page)
{
    page->mappings--;
    sim->mappings--;
    if (page->is_released && page->mappings == 0)
        page_end(sim, page);
}

void larder__sim_pages_close(struct sim *sim)
{
    struct sim_range *place;

    while ((place = larder__sim_space_any(&sim->file)) != NULL) {
        larder__sim_space_release(&sim->file, place);
        larder__host_free(place);
    }
    larder__sim_slots_free(&sim->pages);
}
