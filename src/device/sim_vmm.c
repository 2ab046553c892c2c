/* sim_vmm.c - reservations and their mappings, with a driver's rules: only
 * whole handles, only where nothing is mapped, usable only after access is
 * set. */
#include "device/sim_device.h"

#include <inttypes.h>
#include <string.h>

#include "base/host.h"
#include "device/sim_fail.h"

/* A granule's entry: 0 if nothing is mapped; otherwise the page's slot number
 * plus 1, with flags for the page's first granule and for access. */
#define GRANULE_BEGINS (UINT32_C(1) << 31)
#define GRANULE_ACCESS (UINT32_C(1) << 30)

struct reservation {
    struct sim_range range; /* first member: the space only sees it */
    uint64_t mapped;        /* number of granules */
    uint32_t *granules;
};

/* A part of a reservation, in granules. */
struct span {
    struct reservation *in;
    uint64_t begin;
    uint64_t end;
};

/* ---- reservations ------------------------------------------------------- */

static struct reservation *reservation_create(uint64_t bytes)
{
    struct reservation *res = larder__host_alloc(1, sizeof *res);

    if (res == NULL)
        return NULL;
    res->granules =
        larder__host_alloc(bytes / SIM_GRANULE, sizeof *res->granules);
    if (res->granules != NULL)
        return res;
    larder__host_free(res);
    return NULL;
}

static void reservation_destroy(struct reservation *res)
{
    larder__host_free(res->granules);
    larder__host_free(res);
}

static struct reservation *reservation_find(const struct sim *sim,
                                            larder_addr addr)
{
    return (struct reservation *)larder__sim_space_find(&sim->addresses, addr);
}

static bool is_granular(uint64_t x)
{
    return x % SIM_GRANULE == 0;
}

static larder_result not_granular(void)
{
    return larder__sim_fail(
        LARDER_ERR_DEVICE,
        "addresses and sizes are multiples of %" PRIu64 " bytes", SIM_GRANULE);
}

larder_result larder__sim_address_reserve(struct sim *sim, uint64_t bytes,
                                          larder_addr *out)
{
    struct reservation *res;

    if (bytes == 0 || !is_granular(bytes))
        return not_granular();
    if (bytes > sim->backing.region_bytes)
        return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                                "there are only %" PRIu64 " bytes of addresses",
                                sim->backing.region_bytes);
    res = reservation_create(bytes);
    if (res == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!larder__sim_space_take(&sim->addresses, bytes, SIM_ALIGN_2MIB,
                                &res->range)) {
        reservation_destroy(res);
        return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                                "no free address range is long enough");
    }
    sim->reservations++;
    *out = res->range.addr;
    return LARDER_OK;
}

larder_result larder__sim_address_free(struct sim *sim, larder_addr addr,
                                       uint64_t bytes)
{
    struct reservation *res = reservation_find(sim, addr);

    if (res == NULL || res->range.addr != addr || res->range.bytes != bytes)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "this is not a reserved range");
    if (res->mapped != 0)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "%" PRIu64 " bytes are still mapped there",
                                res->mapped * SIM_GRANULE);
    larder__sim_space_release(&sim->addresses, &res->range);
    reservation_destroy(res);
    sim->reservations--;
    return LARDER_OK;
}

/* ---- mappings ----------------------------------------------------------- */

/* The span of [addr, addr + bytes), which must be within one reservation. */
static larder_result span_of(const struct sim *sim, larder_addr addr,
                             uint64_t bytes, struct span *out)
{
    struct reservation *res = reservation_find(sim, addr);
    uint64_t offset;

    if (bytes == 0 || !is_granular(addr) || !is_granular(bytes))
        return not_granular();
    if (res == NULL ||
        bytes > res->range.bytes - (offset = addr - res->range.addr))
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "it is not within a reserved range");
    *out = (struct span){
        .in = res,
        .begin = offset / SIM_GRANULE,
        .end = (offset + bytes) / SIM_GRANULE,
    };
    return LARDER_OK;
}

/* The page that an entry refers to. */
static struct sim_page *page_of(const struct sim *sim, uint32_t entry)
{
    return larder__sim_slots_at(
        &sim->pages, (entry & ~(GRANULE_BEGINS | GRANULE_ACCESS)) - 1);
}

/* How many granules from this one on have the same page, as far as the entry
 * tells: all of the page's at its beginning, otherwise one. */
static uint64_t entry_granules(const struct sim *sim, uint32_t entry)
{
    return entry & GRANULE_BEGINS ? page_of(sim, entry)->bytes / SIM_GRANULE
                                  : 1;
}

static bool span_is_mapped(const struct sim *sim, const struct span *s)
{
    const uint32_t *granules = s->in->granules;
    uint64_t i = s->begin;

    while (i < s->end && granules[i] != 0)
        i += entry_granules(sim, granules[i]);
    return i >= s->end;
}

/* The first entry is 0, and each is as the next. */
static bool span_is_empty(const struct span *s)
{
    const uint32_t *first = &s->in->granules[s->begin];

    return first[0] == 0 &&
           memcmp(first, first + 1, (s->end - s->begin - 1) * sizeof *first) ==
               0;
}

static larder_result map_check(const struct span *s,
                               const struct sim_page *page, uint64_t bytes)
{
    if (page == NULL || page->is_released)
        return larder__sim_fail(LARDER_ERR_DEVICE, "there is no such page");
    if (page->bytes != bytes)
        return larder__sim_fail(
            LARDER_ERR_DEVICE,
            "the page has %" PRIu64 " bytes, and is mapped whole", page->bytes);
    if (!span_is_empty(s))
        return larder__sim_fail(LARDER_ERR_DEVICE, "something is mapped there");
    return LARDER_OK;
}

static larder_result page_place_map(struct sim *sim, larder_addr addr,
                                    const struct sim_page *page)
{
    int file =
        page->foreign != NULL ? page->foreign->file.fd : sim->backing.file.fd;

    return larder__sim_backing_map(&sim->backing, addr, page->bytes, file,
                                   page->place != NULL ? page->place->addr
                                                       : page->foreign_offset);
}

larder_result larder__sim_map(struct sim *sim, larder_addr addr, uint64_t bytes,
                              uint64_t handle)
{
    struct sim_page *page = larder__sim_slots_find(&sim->pages, handle);
    uint32_t entry;
    struct span s;
    larder_result r;

    if ((r = span_of(sim, addr, bytes, &s)) != LARDER_OK ||
        (r = map_check(&s, page, bytes)) != LARDER_OK)
        return r;
    r = page_place_map(sim, addr, page);
    if (r != LARDER_OK)
        return r;
    entry = larder__sim_slots_number(&sim->pages, page) + 1;
    for (uint64_t i = s.begin; i < s.end; i++)
        s.in->granules[i] = entry;
    s.in->granules[s.begin] |= GRANULE_BEGINS;
    s.in->mapped += s.end - s.begin;
    page->mappings++;
    sim->mappings++;
    return LARDER_OK;
}

/* Whether a page ends at the beginning of granule i. */
static bool page_ends_before(const struct reservation *res, uint64_t i)
{
    uint32_t entry = i < res->range.bytes / SIM_GRANULE ? res->granules[i] : 0;

    return entry == 0 || (entry & GRANULE_BEGINS);
}

larder_result larder__sim_unmap(struct sim *sim, larder_addr addr,
                                uint64_t bytes)
{
    larder_result r = larder__sim_capture_forbids(sim);
    struct span s;

    if (r != LARDER_OK || (r = span_of(sim, addr, bytes, &s)) != LARDER_OK)
        return r;
    if (!span_is_mapped(sim, &s))
        return larder__sim_fail(LARDER_ERR_DEVICE, "not all of it is mapped");
    if (!page_ends_before(s.in, s.begin) || !page_ends_before(s.in, s.end))
        return larder__sim_fail(LARDER_ERR_DEVICE, "it would split a page");
    r = larder__sim_backing_unmap(&sim->backing, addr, bytes);
    if (r != LARDER_OK)
        return r;
    for (uint64_t i = s.begin; i < s.end;) {
        struct sim_page *page = page_of(sim, s.in->granules[i]);

        i += page->bytes / SIM_GRANULE;
        larder__sim_page_unmapped(sim, page);
    }
    memset(&s.in->granules[s.begin], 0,
           (s.end - s.begin) * sizeof s.in->granules[0]);
    s.in->mapped -= s.end - s.begin;
    return LARDER_OK;
}

larder_result larder__sim_set_access(struct sim *sim, larder_addr addr,
                                     uint64_t bytes)
{
    struct span s;
    larder_result r = span_of(sim, addr, bytes, &s);

    if (r != LARDER_OK)
        return r;
    if (!span_is_mapped(sim, &s))
        return larder__sim_fail(LARDER_ERR_DEVICE, "not all of it is mapped");
    r = larder__sim_backing_access(&sim->backing, addr, bytes);
    if (r != LARDER_OK)
        return r;
    for (uint64_t i = s.begin; i < s.end; i++)
        s.in->granules[i] |= GRANULE_ACCESS;
    return LARDER_OK;
}

/* ---- access and cleanup ------------------------------------------------- */

bool larder__sim_vmm_is_accessible(const struct sim *sim, larder_addr addr,
                                   uint64_t bytes)
{
    struct reservation *res = reservation_find(sim, addr);
    struct span s = {.in = res};
    uint64_t offset;

    if (res == NULL)
        return false;
    offset = addr - res->range.addr;
    if (bytes > res->range.bytes - offset)
        return false;
    s.begin = offset / SIM_GRANULE;
    s.end = (offset + bytes + SIM_GRANULE - 1) / SIM_GRANULE;
    for (uint64_t i = s.begin; i < s.end; i++) {
        if ((s.in->granules[i] & GRANULE_ACCESS) == 0)
            return false;
    }
    return true;
}

uint64_t larder__sim_vmm_pages(const struct sim *sim, larder_addr addr,
                               uint64_t bytes)
{
    static const uint64_t fnv_basis = UINT64_C(0xcbf29ce484222325);
    static const uint64_t fnv_prime = UINT64_C(0x100000001b3);
    const struct reservation *res = reservation_find(sim, addr);
    uint64_t number = fnv_basis;
    uint64_t offset;

    if (res == NULL || bytes == 0)
        return 0;
    offset = addr - res->range.addr;
    for (uint64_t i = offset / SIM_GRANULE;
         i <= (offset + bytes - 1) / SIM_GRANULE; i++) {
        number ^= larder__sim_slots_handle(&sim->pages,
                                           page_of(sim, res->granules[i]));
        number *= fnv_prime;
    }
    return number;
}

void larder__sim_vmm_close(struct sim *sim)
{
    struct sim_range *range;

    while ((range = larder__sim_space_any(&sim->addresses)) != NULL) {
        larder__sim_space_release(&sim->addresses, range);
        reservation_destroy((struct reservation *)range);
    }
}
