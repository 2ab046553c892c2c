/* hook_query.c - queries about memory: a device's memory, within the limit; and
 * an address, which is reported as an allocation of its own even where the
 * driver knows only the segment that contains it. */
#include "work.h"

#include <string.h>

/* ---- the device --------------------------------------------------------- */

struct amounts {
    uint64_t limit;
    uint64_t in_use; /* by the program */
    uint64_t cached; /* by Larder, and available */
};

static void amounts_get(struct preload_slot *slot, struct amounts *n)
{
    pthread_mutex_lock(&slot->lock);
    n->limit = slot->limit_bytes;
    n->in_use = slot->live_bytes + slot->outside_bytes;
    n->cached = slot->held_bytes > slot->live_bytes
                    ? slot->held_bytes - slot->live_bytes
                    : 0;
    pthread_mutex_unlock(&slot->lock);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

cud_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    const struct preload_calls *real = preload_driver();
    struct preload_place p;
    struct amounts n;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = real->cuMemGetInfo_v2(free_bytes, total_bytes);
    if (answer != CUD_SUCCESS || !preload_place_find(real, &p))
        return answer;
    if (p.slot->limit_bytes == 0)
        preload_slot_limit(real, p.slot);
    amounts_get(p.slot, &n);
    if (total_bytes != NULL)
        *total_bytes = least(*total_bytes, n.limit);
    if (free_bytes != NULL)
        *free_bytes = least(*free_bytes + n.cached,
                            n.limit > n.in_use ? n.limit - n.in_use : 0);
    return CUD_SUCCESS;
}

cud_result cuDeviceTotalMem_v2(size_t *out, cud_device device)
{
    const struct preload_calls *real = preload_driver();
    struct preload_slot *slot = preload_slot_at(device);
    struct amounts n;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = real->cuDeviceTotalMem_v2(out, device);
    if (answer != CUD_SUCCESS || slot == NULL || preload_is_child() ||
        preload_settings_get()->mode == PRELOAD_OFF)
        return answer;
    if (slot->limit_bytes == 0)
        preload_slot_limit(real, slot);
    amounts_get(slot, &n);
    *out = least(*out, n.limit);
    return CUD_SUCCESS;
}

/* ---- an address --------------------------------------------------------- */

/* Whether the address is in an allocation served by Larder. */
static bool is_ours(cud_addr addr, struct allocation *a)
{
    return !preload_is_child() && preload_allocation_find(addr, a) &&
           a->is_ours;
}

/* While memory moves, its address is unmapped for a moment: the driver is
 * called before or after that. */
static cud_result ask_range(const struct preload_calls *real, cud_addr *base,
                            size_t *bytes, cud_addr addr)
{
    bool is_entered = preload_work_enter();
    cud_result answer =
        PRELOAD_REAL(real, cuMemGetAddressRange_v2, base, bytes, addr);

    preload_work_leave(is_entered);
    return answer;
}

cud_result cuMemGetAddressRange_v2(cud_addr *base, size_t *bytes, cud_addr addr)
{
    const struct preload_calls *real = preload_driver();
    struct allocation a;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (!is_ours(addr, &a))
        return ask_range(real, base, bytes, addr);
    if (base != NULL)
        *base = a.range.addr;
    if (bytes != NULL)
        *bytes = a.range.bytes;
    return CUD_SUCCESS;
}

/* The two attributes for which the driver would describe the segment. */
static bool hook_query_attribute(int which, const struct allocation *a,
                                 void *out)
{
    size_t bytes = a->range.bytes;
    cud_addr addr = a->range.addr;

    if (which == CUD_RANGE_START)
        memcpy(out, &addr, sizeof addr);
    else if (which == CUD_RANGE_SIZE)
        memcpy(out, &bytes, sizeof bytes);
    else
        return false;
    return true;
}

/* Other processes may use memory whose token they have. */
static void note_token(int which)
{
    if (which == CUD_PEER_TOKENS)
        preload_work_shared("cuPointerGetAttribute (of a peer's token)");
}

static cud_result ask_attribute(const struct preload_calls *real, void *out,
                                int which, cud_addr addr)
{
    bool is_entered = preload_work_enter();
    cud_result answer;

    note_token(which);
    answer = PRELOAD_REAL(real, cuPointerGetAttribute, out, which, addr);
    preload_work_leave(is_entered);
    return answer;
}

cud_result cuPointerGetAttribute(void *out, int which, cud_addr addr)
{
    const struct preload_calls *real = preload_driver();
    struct allocation a;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (out != NULL && (which == CUD_RANGE_START || which == CUD_RANGE_SIZE) &&
        is_ours(addr, &a) && hook_query_attribute(which, &a, out))
        return CUD_SUCCESS;
    return ask_attribute(real, out, which, addr);
}

static cud_result ask_attributes(const struct preload_calls *real,
                                 unsigned count, int *which, void **out,
                                 cud_addr addr)
{
    bool is_entered = preload_work_enter();
    cud_result answer;

    for (unsigned i = 0; which != NULL && i < count; i++)
        note_token(which[i]);
    answer =
        PRELOAD_REAL(real, cuPointerGetAttributes, count, which, out, addr);
    preload_work_leave(is_entered);
    return answer;
}

cud_result cuPointerGetAttributes(unsigned count, int *which, void **out,
                                  cud_addr addr)
{
    const struct preload_calls *real = preload_driver();
    struct allocation a;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = ask_attributes(real, count, which, out, addr);
    if (answer != CUD_SUCCESS || which == NULL || !is_ours(addr, &a))
        return answer;
    for (unsigned i = 0; i < count; i++)
        (void)hook_query_attribute(which[i], &a, out[i]);
    return CUD_SUCCESS;
}

/* The handle is for the whole segment, and the other process would get the
 * beginning of it: reject any other allocation. */
cud_result cuIpcGetMemHandle(void *out, cud_addr addr)
{
    const struct preload_calls *real = preload_driver();
    struct allocation a;
    larder_addr base = 0;
    uint64_t bytes;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (is_ours(addr, &a) &&
        (larder_base_allocation(a.slot->allocator, a.range.addr, &base,
                                &bytes) != LARDER_OK ||
         base != a.range.addr))
        return CUD_NOT_SUPPORTED;
    return PRELOAD_REAL(real, cuIpcGetMemHandle, out, addr);
}
