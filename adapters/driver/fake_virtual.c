/* fake_virtual.c - virtual memory, by the driver's rules: whole pages, offset
 * 0, into reserved and unmapped ranges, access before use. */
#include "driver/fake_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- pages -------------------------------------------------------------- */

struct fake_page {
    struct fake_page *next;
    cud_page handle;
    int device;
    uint64_t inner; /* the simulated page */
    size_t bytes;
    int types; /* the handle types for export */
    unsigned uses;
};

enum { BUCKETS = 4096, PAGE_SHIFT = 56 };

static struct fake_page *buckets[BUCKETS];
static size_t access_count;

unsigned long fake_access_count(void)
{
    return access_count;
}

static struct fake_page **page_find(cud_page handle)
{
    struct fake_page **at = &buckets[handle % BUCKETS];

    while (*at != NULL && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

static void page_remove(struct fake_page **at)
{
    struct fake_page *gone = *at;

    *at = gone->next;
    free(gone);
}

void fake_pages_forget(int device)
{
    for (int i = 0; i < BUCKETS; i++) {
        struct fake_page **at = &buckets[i];

        while (*at != NULL) {
            if ((*at)->device == device)
                page_remove(at);
            else
                at = &(*at)->next;
        }
    }
}

/* ---- rules -------------------------------------------------------------- */

static cud_result check_multiple(const char *symbol, const char *what,
                                 uint64_t value)
{
    if (value != 0 && value % SIM_GRANULE == 0)
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_INVALID_VALUE,
                       "the %s 0x%llx is not a multiple of the granularity",
                       what, (unsigned long long)value);
}

static cud_result check_prop(const char *symbol, const struct fake_device *d,
                             const cud_page_prop *prop)
{
    int known = CUD_HANDLE_FD | (fake_trait_fabric ? CUD_HANDLE_FABRIC : 0);

    if (!d->sim->spec.has_vmm)
        return CUD_NOT_SUPPORTED;
    if (prop->type != CUD_PAGE_PINNED || prop->location.type != CUD_ON_DEVICE)
        return fake_broken(symbol, CUD_INVALID_VALUE,
                           "not pinned memory on a device");
    if (fake_device_get(prop->location.id) == NULL)
        return fake_broken(symbol, CUD_INVALID_DEVICE, "there is no device %d",
                           prop->location.id);
    if ((prop->requestedHandleTypes & ~known) != 0)
        return fake_broken(symbol, CUD_NOT_SUPPORTED,
                           "handle types 0x%x are not supported",
                           (unsigned)prop->requestedHandleTypes);
    return CUD_SUCCESS;
}

static cud_result check_range(const char *symbol, const struct fake_device *d,
                              cud_addr addr, size_t bytes)
{
    cud_result answer = CUD_SUCCESS;

    if (!d->sim->spec.has_vmm)
        return CUD_NOT_SUPPORTED;
    answer = check_multiple(symbol, "address", addr);
    return answer != CUD_SUCCESS ? answer
                                 : check_multiple(symbol, "size", bytes);
}

/* ---- calls -------------------------------------------------------------- */

cud_result cuMemGetAllocationGranularity(size_t *out, const cud_page_prop *prop,
                                         cud_granularity which)
{
    cud_result answer = fake_begin_bare(__func__);
    const struct fake_device *d;

    if (answer != CUD_SUCCESS)
        return answer;
    d = fake_device_get(prop->location.id);
    if (d == NULL || (unsigned)which > 1)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "no such device or granularity"));
    answer = check_prop(__func__, d, prop);
    if (answer == CUD_SUCCESS)
        *out = SIM_GRANULE;
    return fake_end(answer);
}

cud_result cuMemAddressReserve(cud_addr *out, size_t bytes, size_t alignment,
                               cud_addr wish, unsigned long long flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_addr addr = 0;
    larder_result r;

    (void)wish; /* a hint */
    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_range(__func__, d, SIM_GRANULE, bytes);
    if (answer == CUD_SUCCESS && flags != 0)
        answer = fake_broken(__func__, CUD_INVALID_VALUE, "flags are not 0");
    if (answer == CUD_SUCCESS && alignment > SIM_GRANULE)
        answer = CUD_NOT_SUPPORTED;
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = larder__device_address_reserve(d->dev, bytes, &addr);
    if (r == LARDER_OK)
        *out = addr;
    return fake_end_sim(__func__, d, r);
}

cud_result cuMemAddressFree(cud_addr addr, size_t bytes)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_range(__func__, d, addr, bytes);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder__device_address_free(d->dev, addr, bytes));
}

/* Completes a page that has its simulated page, size and types: assigns its
 * handle. */
static void page_keep(struct fake_page *page, int device)
{
    page->device = device;
    page->handle = page->inner | (cud_page)(device + 1) << PAGE_SHIFT;
    page->uses = 1;
    page->next = buckets[page->handle % BUCKETS];
    buckets[page->handle % BUCKETS] = page;
}

static larder_result page_make(struct fake_page *page, size_t bytes,
                               const cud_page_prop *prop)
{
    struct fake_device *d = fake_device_get(prop->location.id);
    larder_result r = larder__device_page_create(d->dev, bytes, &page->inner);

    if (r != LARDER_OK)
        return r;
    page->bytes = bytes;
    page->types = prop->requestedHandleTypes;
    page_keep(page, prop->location.id);
    return LARDER_OK;
}

cud_result cuMemCreate(cud_page *out, size_t bytes, const cud_page_prop *prop,
                       unsigned long long flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    struct fake_page *page = NULL;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_prop(__func__, d, prop);
    if (answer == CUD_SUCCESS)
        answer = check_multiple(__func__, "size", bytes);
    if (answer == CUD_SUCCESS && flags != 0)
        answer = fake_broken(__func__, CUD_INVALID_VALUE, "flags are not 0");
    if (answer == CUD_SUCCESS && (page = calloc(1, sizeof *page)) == NULL)
        answer = CUD_OUT_OF_MEMORY;
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    r = page_make(page, bytes, prop);
    if (r == LARDER_OK)
        *out = page->handle;
    else
        free(page);
    return fake_end_sim(__func__, d, r);
}

/* Begin a call about a page. */
static cud_result begin_page(const char *symbol, cud_page handle,
                             struct fake_device **d, struct fake_page ***at)
{
    cud_result answer = fake_begin(symbol, d);

    if (answer != CUD_SUCCESS)
        return answer;
    *at = page_find(handle);
    if (**at != NULL)
        return CUD_SUCCESS;
    return fake_end(fake_broken(symbol, CUD_INVALID_VALUE,
                                "there is no page 0x%llx, or no longer",
                                handle));
}

/* Mapped pages stay alive until they are unmapped. */
cud_result cuMemRelease(cud_page handle)
{
    struct fake_device *d;
    struct fake_page **at;
    cud_result answer = begin_page(__func__, handle, &d, &at);
    larder_result r = LARDER_OK;

    if (answer != CUD_SUCCESS)
        return answer;
    d = fake_device_get((*at)->device);
    if (--(*at)->uses == 0) {
        r = larder__device_page_release(d->dev, (*at)->inner);
        page_remove(at);
    }
    return fake_end_sim(__func__, d, r);
}

cud_result cuMemMap(cud_addr addr, size_t bytes, size_t offset, cud_page handle,
                    unsigned long long flags)
{
    struct fake_device *d;
    struct fake_page **at;
    cud_result answer = begin_page(__func__, handle, &d, &at);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_range(__func__, d, addr, bytes);
    if (answer == CUD_SUCCESS && (offset != 0 || flags != 0))
        answer =
            fake_broken(__func__, CUD_INVALID_VALUE,
                        "offset %zu and flags %llu must be 0", offset, flags);
    if (answer == CUD_SUCCESS && bytes != (*at)->bytes)
        answer = fake_broken(__func__, CUD_INVALID_VALUE,
                             "%zu bytes of a page of %zu: only whole pages "
                             "are mapped",
                             bytes, (*at)->bytes);
    if (answer == CUD_SUCCESS && (*at)->device != fake_number(d))
        answer = CUD_NOT_SUPPORTED;
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder__device_map(d->dev, addr, bytes, (*at)->inner));
}

cud_result cuMemUnmap(cud_addr addr, size_t bytes)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_range(__func__, d, addr, bytes);
    if (answer == CUD_SUCCESS && fake_is_in_use(d, addr, bytes))
        answer = fake_broken(
            __func__, CUD_INVALID_VALUE,
            "%zu bytes at 0x%llx are used by work that was not waited for",
            bytes, addr);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder__device_unmap(d->dev, addr, bytes, 1));
}

cud_result cuMemGetAllocationPropertiesFromHandle(cud_page_prop *out,
                                                  cud_page handle)
{
    struct fake_device *d;
    struct fake_page **at;
    cud_result answer = begin_page(__func__, handle, &d, &at);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = (cud_page_prop){
        .type = CUD_PAGE_PINNED,
        .requestedHandleTypes = (*at)->types,
        .location = {.type = CUD_ON_DEVICE, .id = (*at)->device},
    };
    return fake_end(CUD_SUCCESS);
}

/* PyTorch 2.10 and later look it up with the others, and call it only to share
 * expandable segments.  Memory that was not mapped by a program has no handle;
 * no second handle of a page is created here. */
cud_result cuMemRetainAllocationHandle(cud_page *out, void *addr)
{
    cud_result answer = fake_begin_bare(__func__);

    (void)out;
    (void)addr;
    return answer != CUD_SUCCESS ? answer : fake_end(CUD_NOT_SUPPORTED);
}

static cud_result check_access(const char *symbol, const cud_access *list,
                               size_t count)
{
    if (count == 0)
        return fake_broken(symbol, CUD_INVALID_VALUE, "for no device");
    for (size_t i = 0; i < count; i++) {
        if (list[i].location.type != CUD_ON_DEVICE ||
            fake_device_get(list[i].location.id) == NULL)
            return fake_broken(symbol, CUD_INVALID_VALUE,
                               "there is no device %d", list[i].location.id);
        if (list[i].flags != CUD_READ_WRITE)
            return CUD_NOT_SUPPORTED;
    }
    return CUD_SUCCESS;
}

cud_result cuMemSetAccess(cud_addr addr, size_t bytes, const cud_access *list,
                          size_t count)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    access_count = count;
    answer = check_range(__func__, d, addr, bytes);
    if (answer == CUD_SUCCESS)
        answer = check_access(__func__, list, count);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder__device_set_access(d->dev, addr, bytes));
}

/* ---- export and import -------------------------------------------------- */

static larder_handle_kind kind_of(int type)
{
    return type == CUD_HANDLE_FD ? LARDER_HANDLE_FD : LARDER_HANDLE_FABRIC;
}

static bool is_type(int type)
{
    return type == CUD_HANDLE_FD ||
           (type == CUD_HANDLE_FABRIC && fake_trait_fabric);
}

cud_result cuMemExportToShareableHandle(void *out, cud_page handle,
                                        cud_handle_type type,
                                        unsigned long long flags)
{
    struct fake_device *d;
    struct fake_page **at;
    cud_result answer = begin_page(__func__, handle, &d, &at);
    larder_page_handle made;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    if (flags != 0 || ((*at)->types & type) == 0)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "the page was not created for handles of "
                                    "type %d, or flags are not 0",
                                    type));
    d = fake_device_get((*at)->device);
    if (!is_type(type) || !d->sim->backing.is_real)
        return fake_end(CUD_NOT_SUPPORTED);
    r = larder__sim_enter(d->sim);
    if (r == LARDER_OK)
        r = larder__sim_leave(d->sim,
                              larder__sim_page_export(d->sim, (*at)->inner,
                                                      kind_of(type), &made));
    if (r == LARDER_OK && type == CUD_HANDLE_FD)
        *(int *)out = made.fd;
    else if (r == LARDER_OK)
        memcpy(out, made.fabric, sizeof made.fabric);
    return fake_end(r == LARDER_OK ? CUD_SUCCESS : CUD_UNKNOWN);
}

/* The page's size is part of the handle. */
static size_t page_import(const struct fake_device *d,
                          const larder_page_handle *handle, uint64_t *inner)
{
    const struct sim_page *page;
    larder_result r = larder__sim_enter(d->sim);
    size_t bytes = 0;

    if (r != LARDER_OK)
        return 0;
    r = larder__sim_page_import(d->sim, handle, 0, inner);
    if (r == LARDER_OK) {
        page = larder__sim_slots_find(&d->sim->pages, *inner);
        bytes = page->bytes;
    }
    larder__sim_leave(d->sim, r);
    return bytes;
}

/* It belongs to the device of the thread's context. */
cud_result cuMemImportFromShareableHandle(cud_page *out, void *handle,
                                          cud_handle_type type)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_page_handle given = {.kind = kind_of(type), .fd = -1};
    struct fake_page *page;

    if (answer != CUD_SUCCESS)
        return answer;
    if (!is_type(type) || !d->sim->backing.is_real)
        return fake_end(CUD_NOT_SUPPORTED);
    if (type == CUD_HANDLE_FD)
        given.fd = (int)(intptr_t)handle;
    else
        memcpy(given.fabric, handle, sizeof given.fabric);
    page = calloc(1, sizeof *page);
    if (page == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    page->bytes = page_import(d, &given, &page->inner);
    if (page->bytes == 0) {
        free(page);
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "not a file of "
                                    "cuMemExportToShareableHandle()"));
    }
    page_keep(page, fake_number(d));
    *out = page->handle;
    return fake_end(CUD_SUCCESS);
}
