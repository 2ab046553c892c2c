/* device_pages.c - the driver's virtual memory as a device for Larder, for
 * memory that can move; device_table.c has the other calls. */
#include "preload_state.h"
#include "base/host.h"

/* A handle created for Larder, and its size in the counters. */
struct own_page {
    struct range range; /* the handle, as an address range of 1 byte */
    uint64_t bytes;
};

/* ---- addresses -------------------------------------------------------------- */

static larder_result op_address_reserve(void *self, uint64_t bytes,
                                        larder_addr *out)
{
    const struct preload_calls *real = preload_driver();
    struct preload_slot *slot = self;
    struct segment *s = larder__host_alloc(1, sizeof *s);
    cud_addr addr = 0;
    cud_result answer;

    if (s == NULL)
        return LARDER_ERR_NO_HOST_MEMORY;
    answer = PRELOAD_REAL(real, cuMemAddressReserve, &addr, bytes, 0, 0, 0);
    if (answer != CUD_SUCCESS) {
        larder__host_free(s);
        return preload_result_of(answer);
    }
    *s = (struct segment){.range = {.addr = addr, .bytes = bytes},
                          .is_virtual = true};
    pthread_mutex_lock(&slot->lock);
    preload_ranges_add(&slot->segments, &s->range);
    pthread_mutex_unlock(&slot->lock);
    *out = addr;
    return LARDER_OK;
}

static larder_result op_address_free(void *self, larder_addr addr,
                                     uint64_t bytes)
{
    struct preload_slot *slot = self;
    struct range *r;
    cud_result answer =
        PRELOAD_REAL(preload_driver(), cuMemAddressFree, addr, bytes);

    if (answer != CUD_SUCCESS && answer != CUD_DEINITIALIZED)
        return preload_result_of(answer);
    pthread_mutex_lock(&slot->lock);
    r = preload_ranges_at(slot->segments, addr);
    preload_ranges_remove(&slot->segments, r);
    pthread_mutex_unlock(&slot->lock);
    larder__host_free(r); /* its segment's first member */
    return LARDER_OK;
}

/* ---- pages ------------------------------------------------------------------ */

static cud_result page_create(const struct preload_slot *slot, uint64_t bytes,
                              cud_page *out)
{
    const struct preload_calls *real = preload_driver();
    cud_page_prop prop = preload_page_prop(slot);
    bool pushed;
    cud_result answer = preload_context_enter(real, slot, &pushed);

    if (answer == CUD_SUCCESS)
        answer = PRELOAD_REAL(real, cuMemCreate, out, bytes, &prop, 0);
    preload_context_leave(real, pushed);
    return answer;
}

static larder_result op_page_create(void *self, uint64_t bytes, uint64_t *out)
{
    struct preload_slot *slot = self;
    struct own_page *page = larder__host_alloc(1, sizeof *page);
    cud_page handle = 0;
    cud_result answer = CUD_OUT_OF_MEMORY;

    if (page == NULL)
        return LARDER_ERR_NO_HOST_MEMORY;
    if (preload_budget_take(slot, &slot->asked_bytes, bytes)) {
        answer = page_create(slot, bytes, &handle);
        if (answer == CUD_SUCCESS)
            preload_budget_keep(slot, bytes);
        else
            preload_budget_release(slot, &slot->asked_bytes, bytes);
    }
    if (answer != CUD_SUCCESS) {
        larder__host_free(page);
        return preload_result_of(answer);
    }
    *page = (struct own_page){.range = {.addr = handle, .bytes = 1},
                              .bytes = bytes};
    pthread_mutex_lock(&slot->lock);
    preload_ranges_add(&slot->pages, &page->range);
    slot->driver_allocs++;
    pthread_mutex_unlock(&slot->lock);
    *out = handle;
    return LARDER_OK;
}

/* The driver may return the same handle again at once, so it is forgotten
 * first. */
static larder_result op_page_release(void *self, uint64_t handle)
{
    struct preload_slot *slot = self;
    struct range *r;
    cud_result answer;

    pthread_mutex_lock(&slot->lock);
    r = preload_ranges_at(slot->pages, handle);
    preload_ranges_remove(&slot->pages, r);
    pthread_mutex_unlock(&slot->lock);
    answer = PRELOAD_REAL(preload_driver(), cuMemRelease, handle);
    pthread_mutex_lock(&slot->lock);
    if (answer != CUD_SUCCESS && answer != CUD_DEINITIALIZED) {
        preload_ranges_add(&slot->pages, r);
        r = NULL;
    } else {
        slot->held_bytes -= ((struct own_page *)r)->bytes;
        slot->driver_frees++;
    }
    pthread_mutex_unlock(&slot->lock);
    if (r == NULL)
        return preload_result_of(answer);
    larder__host_free(r);
    return LARDER_OK;
}

/* ---- mapping ----------------------------------------------------------------- */

static larder_result op_map(void *self, larder_addr addr, uint64_t bytes,
                            uint64_t page)
{
    (void)self;
    return preload_result_of(
        PRELOAD_REAL(preload_driver(), cuMemMap, addr, bytes, 0, page, 0));
}

/* Unmapping does not wait, but nothing uses what Larder unmaps (P1). */
static larder_result op_unmap(void *self, larder_addr addr, uint64_t bytes)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;

    (void)self;
    if (!preload_wait_begin(real))
        return LARDER_ERR_CAPTURING;
    answer = PRELOAD_REAL(real, cuMemUnmap, addr, bytes);
    preload_wait_end();
    return preload_result_of(answer == CUD_DEINITIALIZED ? CUD_SUCCESS
                                                         : answer);
}

static larder_result op_set_access(void *self, larder_addr addr, uint64_t bytes)
{
    const struct preload_calls *real = preload_driver();
    cud_access access[PRELOAD_DEVICES];
    size_t count = preload_access_find(real, self, access);

    return preload_result_of(
        PRELOAD_REAL(real, cuMemSetAccess, addr, bytes, access, count));
}

/* ---- data ---------------------------------------------------------------------- */

/* All work on the memory has been waited for and no new work can begin, so the
 * default stream is safe. */
static cud_result copy(const struct preload_calls *real, uint64_t dst,
                       uint64_t src, uint64_t bytes, larder_copy_kind kind)
{
    if (kind == LARDER_COPY_TO_HOST)
        return PRELOAD_REAL(real, cuMemcpyDtoH_v2, (void *)(uintptr_t)dst, src,
                            bytes);
    if (kind == LARDER_COPY_TO_DEVICE)
        return PRELOAD_REAL(real, cuMemcpyHtoD_v2, dst,
                            (const void *)(uintptr_t)src, bytes);
    return PRELOAD_REAL(real, cuMemcpyDtoD_v2, dst, src, bytes);
}

static larder_result op_copy(void *self, uint64_t dst, uint64_t src,
                             uint64_t bytes, larder_copy_kind kind,
                             larder_stream stream)
{
    const struct preload_calls *real = preload_driver();
    bool pushed;
    cud_result answer = preload_context_enter(real, self, &pushed);

    (void)stream;
    if (answer == CUD_SUCCESS)
        answer = copy(real, dst, src, bytes, kind);
    preload_context_leave(real, pushed);
    return preload_result_of(answer);
}

/* ---- the table ------------------------------------------------------------------ */

void preload_pages_add(larder_device_ops *ops)
{
    ops->address_reserve = op_address_reserve;
    ops->address_free = op_address_free;
    ops->page_create = op_page_create;
    ops->page_release = op_page_release;
    ops->map = op_map;
    ops->unmap = op_unmap;
    ops->set_access = op_set_access;
    ops->copy = op_copy;
}
