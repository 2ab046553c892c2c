/* hook_virtual.c - the program's own virtual memory, which is only counted: a
 * page counts from its creation until it is both released and unmapped. */
#include "work.h"
#include "base/host.h"

struct page {
    struct range range; /* the handle, as an address range of 1 byte */
    struct preload_slot *slot;
    uint64_t bytes;
    unsigned long uses; /* references by handle */
    unsigned long mappings;
};

struct mapping {
    struct range range;
    struct page *page;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *pages; /* by handle, while it has references */
static struct range *mappings;

/* The lock is held. */
static void page_drop_unused(struct page *page)
{
    if (page->uses != 0 || page->mappings != 0)
        return;
    preload_budget_release(page->slot, &page->slot->outside_bytes, page->bytes);
    larder__host_free(page);
}

static void page_keep(struct page *page, struct preload_slot *slot,
                      cud_page handle, uint64_t bytes)
{
    *page = (struct page){.slot = slot, .bytes = bytes, .uses = 1};
    page->range.addr = handle;
    page->range.bytes = 1;
    pthread_mutex_lock(&lock);
    preload_ranges_add(&pages, &page->range);
    pthread_mutex_unlock(&lock);
}

/* ---- pages -------------------------------------------------------------- */

static struct preload_slot *hook_virtual_slot_of(
    const struct preload_calls *real, const cud_page_prop *prop)
{
    struct preload_slot *slot;

    if (prop == NULL || prop->location.type != CUD_ON_DEVICE ||
        preload_settings_get()->mode == PRELOAD_OFF || preload_is_child())
        return NULL;
    slot = preload_slot_at(prop->location.id);
    if (slot != NULL && slot->limit_bytes == 0)
        preload_slot_limit(real, slot);
    return slot;
}

static bool take_budget(struct passing *x)
{
    struct preload_slot *slot = x->place.slot;

    return preload_budget_take(slot, &slot->outside_bytes, x->bytes) ||
           (preload_pass_again(x, CUD_OUT_OF_MEMORY) &&
            preload_budget_take(slot, &slot->outside_bytes, x->bytes));
}

static cud_result create(const struct preload_calls *real, struct passing *x,
                         cud_page *out, const cud_page_prop *prop,
                         unsigned long long flags)
{
    struct page *page = larder__host_alloc(1, sizeof *page);
    cud_result answer = CUD_OUT_OF_MEMORY;

    x->is_counted = page != NULL && take_budget(x);
    if (x->is_counted) {
        answer = PRELOAD_REAL(real, cuMemCreate, out, x->bytes, prop, flags);
        if (preload_pass_again(x, answer))
            answer =
                PRELOAD_REAL(real, cuMemCreate, out, x->bytes, prop, flags);
    }
    if (answer == CUD_SUCCESS)
        page_keep(page, x->place.slot, *out, x->bytes);
    else
        larder__host_free(page);
    return preload_pass_end(x, answer, 0);
}

cud_result cuMemCreate(cud_page *out, size_t bytes, const cud_page_prop *prop,
                       unsigned long long flags)
{
    const struct preload_calls *real = preload_driver();
    struct passing x = {.bytes = bytes};

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    x.place.slot = hook_virtual_slot_of(real, prop);
    if (x.place.slot == NULL || out == NULL)
        return PRELOAD_REAL(real, cuMemCreate, out, bytes, prop, flags);
    if (preload_settings_get()->is_wrong)
        return CUD_NOT_PERMITTED;
    return create(real, &x, out, prop, flags);
}

cud_result cuMemRelease(cud_page handle)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;
    struct range *r;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (preload_is_child())
        return PRELOAD_REAL(real, cuMemRelease, handle);
    /* The lock is held during the call because the driver may reuse the handle
     * at once. */
    pthread_mutex_lock(&lock);
    answer = PRELOAD_REAL(real, cuMemRelease, handle);
    r = answer == CUD_SUCCESS ? preload_ranges_at(pages, handle) : NULL;
    if (r != NULL) {
        struct page *page = (struct page *)r;

        if (--page->uses == 0) {
            preload_ranges_remove(&pages, r);
            page_drop_unused(page);
        }
    }
    pthread_mutex_unlock(&lock);
    return answer;
}

/* The lock is held.  The page may be one of the program's. */
static void page_retain(cud_page handle, uintptr_t addr)
{
    struct range *r = preload_ranges_holding(mappings, addr);
    struct page *page;

    if (r == NULL)
        return;
    page = ((struct mapping *)r)->page;
    /* It was released before, and has a handle again. */
    if (page->uses++ == 0) {
        page->range.addr = handle;
        preload_ranges_add(&pages, &page->range);
    }
}

/* Whether memory there may move; under `gate` the allocator above knows. */
static bool may_move(uintptr_t addr)
{
    return preload_settings_get()->is_gate || preload_holds(addr);
}

cud_result cuMemRetainAllocationHandle(cud_page *out, void *addr)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;
    bool is_entered;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (preload_is_child())
        return PRELOAD_REAL(real, cuMemRetainAllocationHandle, out, addr);
    is_entered = preload_work_enter();
    /* It will be remapped or shared. */
    if (may_move((uintptr_t)addr))
        preload_work_shared("cuMemRetainAllocationHandle");
    pthread_mutex_lock(&lock);
    answer = PRELOAD_REAL(real, cuMemRetainAllocationHandle, out, addr);
    if (answer == CUD_SUCCESS)
        page_retain(*out, (uintptr_t)addr);
    pthread_mutex_unlock(&lock);
    preload_work_leave(is_entered);
    return answer;
}

/* The host's threads are not held back. */
static bool lets_host_in(const cud_access *access, size_t count)
{
    for (size_t i = 0; access != NULL && i < count; i++) {
        if (access[i].location.type != CUD_ON_DEVICE)
            return true;
    }
    return false;
}

cud_result cuMemSetAccess(cud_addr addr, size_t bytes, const cud_access *access,
                          size_t count)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;
    bool is_entered;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (preload_is_child())
        return PRELOAD_REAL(real, cuMemSetAccess, addr, bytes, access, count);
    is_entered = preload_work_enter();
    if (lets_host_in(access, count) && may_move(addr))
        preload_work_shared("cuMemSetAccess (for the host)");
    answer = PRELOAD_REAL(real, cuMemSetAccess, addr, bytes, access, count);
    preload_work_leave(is_entered);
    return answer;
}

/* ---- mappings ----------------------------------------------------------- */

cud_result cuMemMap(cud_addr addr, size_t bytes, size_t offset, cud_page handle,
                    unsigned long long flags)
{
    const struct preload_calls *real = preload_driver();
    struct mapping *m;
    struct range *page;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (preload_is_child())
        return PRELOAD_REAL(real, cuMemMap, addr, bytes, offset, handle, flags);
    m = larder__host_alloc(1, sizeof *m);
    if (m == NULL)
        return CUD_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    answer = PRELOAD_REAL(real, cuMemMap, addr, bytes, offset, handle, flags);
    page = answer == CUD_SUCCESS ? preload_ranges_at(pages, handle) : NULL;
    if (page != NULL) {
        *m = (struct mapping){.page = (struct page *)page};
        m->range.addr = addr;
        m->range.bytes = bytes;
        m->page->mappings++;
        preload_ranges_add(&mappings, &m->range);
    }
    pthread_mutex_unlock(&lock);
    if (page == NULL)
        larder__host_free(m);
    return answer;
}

/* One call may remove several mappings. */
static void forget_mappings(cud_addr addr, size_t bytes)
{
    struct range *r;

    while ((r = preload_ranges_from(mappings, addr)) != NULL &&
           r->addr - addr < bytes) {
        struct mapping *m = (struct mapping *)r;

        preload_ranges_remove(&mappings, r);
        m->page->mappings--;
        page_drop_unused(m->page);
        larder__host_free(m);
    }
}

cud_result cuMemUnmap(cud_addr addr, size_t bytes)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (preload_is_child())
        return PRELOAD_REAL(real, cuMemUnmap, addr, bytes);
    pthread_mutex_lock(&lock);
    answer = PRELOAD_REAL(real, cuMemUnmap, addr, bytes);
    if (answer == CUD_SUCCESS)
        forget_mappings(addr, bytes);
    pthread_mutex_unlock(&lock);
    return answer;
}
