/* segment_pages.c - segments of one page each, which can be released and mapped
 * again at the same addresses. */
#include "preload_state.h"

cud_page_prop preload_page_prop(const struct preload_slot *slot)
{
    return (cud_page_prop){
        .type = CUD_PAGE_PINNED,
        .requestedHandleTypes = CUD_HANDLE_NONE,
        .location = {.type = CUD_ON_DEVICE, .id = slot->number},
    };
}

size_t preload_access_find(const struct preload_calls *real,
                           const struct preload_slot *slot,
                           cud_access out[PRELOAD_DEVICES])
{
    size_t n = 0;
    int count = 0;
    int reaches;

    out[n++] = (cud_access){
        .location = {.type = CUD_ON_DEVICE, .id = slot->number},
        .flags = CUD_READ_WRITE,
    };
    if (PRELOAD_REAL(real, cuDeviceGetCount, &count) != CUD_SUCCESS)
        return n;
    for (int i = 0; i < count && n < PRELOAD_DEVICES; i++) {
        if (i != slot->number &&
            PRELOAD_REAL(real, cuDeviceCanAccessPeer, &reaches, i,
                         slot->number) == CUD_SUCCESS &&
            reaches) {
            out[n] = out[0];
            out[n++].location.id = i;
        }
    }
    return n;
}

static cud_result page_release(const struct preload_calls *real,
                               struct segment *s)
{
    cud_result answer = PRELOAD_REAL(real, cuMemRelease, s->page);

    s->has_page = answer != CUD_SUCCESS;
    return answer;
}

static cud_result page_map(const struct preload_calls *real,
                           const struct preload_slot *slot, struct segment *s)
{
    cud_access access[PRELOAD_DEVICES];
    size_t count = preload_access_find(real, slot, access);
    cud_result answer = PRELOAD_REAL(real, cuMemMap, s->range.addr,
                                     s->range.bytes, 0, s->page, 0);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = PRELOAD_REAL(real, cuMemSetAccess, s->range.addr, s->range.bytes,
                          access, count);
    s->is_mapped = answer == CUD_SUCCESS;
    if (!s->is_mapped)
        (void)PRELOAD_REAL(real, cuMemUnmap, s->range.addr, s->range.bytes);
    return answer;
}

/* A page that the driver failed to release is used again. */
cud_result preload_segment_map(const struct preload_calls *real,
                               const struct preload_slot *slot,
                               struct segment *s)
{
    cud_page_prop prop = preload_page_prop(slot);
    cud_result answer = CUD_SUCCESS;

    if (!s->has_page) {
        answer =
            PRELOAD_REAL(real, cuMemCreate, &s->page, s->range.bytes, &prop, 0);
        s->has_page = answer == CUD_SUCCESS;
    }
    if (answer == CUD_SUCCESS)
        answer = page_map(real, slot, s);
    if (!s->is_mapped && s->has_page)
        (void)page_release(real, s);
    return answer;
}

cud_result preload_segment_unmap(const struct preload_calls *real,
                                 struct segment *s)
{
    cud_result answer = CUD_SUCCESS;

    if (s->is_mapped)
        answer = PRELOAD_REAL(real, cuMemUnmap, s->range.addr, s->range.bytes);
    if (answer != CUD_SUCCESS)
        return answer;
    s->is_mapped = false;
    return s->has_page ? page_release(real, s) : CUD_SUCCESS;
}

uint64_t preload_segment_round(const struct preload_calls *real,
                               const struct preload_slot *slot, uint64_t bytes)
{
    cud_page_prop prop = preload_page_prop(slot);
    size_t granularity = 0;

    if (PRELOAD_REAL(real, cuMemGetAllocationGranularity, &granularity, &prop,
                     CUD_GRANULARITY_MINIMUM) != CUD_SUCCESS ||
        granularity == 0)
        return 0;
    return (bytes + granularity - 1) / granularity * granularity;
}

cud_result preload_segment_reserve(const struct preload_calls *real,
                                   const struct preload_slot *slot,
                                   struct segment *s)
{
    cud_addr addr = 0;
    cud_result answer =
        PRELOAD_REAL(real, cuMemAddressReserve, &addr, s->range.bytes, 0, 0, 0);

    if (answer != CUD_SUCCESS)
        return answer;
    s->is_virtual = true;
    s->range.addr = addr;
    answer = preload_segment_map(real, slot, s);
    if (answer != CUD_SUCCESS)
        (void)PRELOAD_REAL(real, cuMemAddressFree, addr, s->range.bytes);
    return answer;
}

/* Unlike freeing, unmapping does not wait for the device. */
cud_result preload_segment_release(const struct preload_calls *real,
                                   struct segment *s)
{
    cud_result answer = s->is_mapped ? real->cuCtxSynchronize() : CUD_SUCCESS;

    if (answer == CUD_SUCCESS)
        answer = preload_segment_unmap(real, s);
    if (answer != CUD_SUCCESS)
        return answer;
    return PRELOAD_REAL(real, cuMemAddressFree, s->range.addr, s->range.bytes);
}
