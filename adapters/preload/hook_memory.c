/* hook_memory.c - memory that is not stream-ordered, and memory that is only
 * counted and left to the driver. */
#include "work.h"
#include "base/host.h"

/* ---- counts ----------------------------------------------------------------- */

static void count_refused(struct preload_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    slot->refused++;
    pthread_mutex_unlock(&slot->lock);
}

static void count_served(struct preload_slot *slot, uint64_t bytes)
{
    pthread_mutex_lock(&slot->lock);
    slot->allocations++;
    slot->live_bytes += bytes;
    if (slot->live_bytes > slot->live_peak)
        slot->live_peak = slot->live_bytes;
    pthread_mutex_unlock(&slot->lock);
}

static void count_given(struct preload_slot *slot, uint64_t bytes)
{
    pthread_mutex_lock(&slot->lock);
    slot->frees++;
    slot->live_bytes -= bytes;
    pthread_mutex_unlock(&slot->lock);
}

/* Moving may also fail: what counts are requests that it served. */
static void count_moved(struct preload_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    slot->moves++;
    pthread_mutex_unlock(&slot->lock);
}

void preload_uncount(struct allocation *a)
{
    if (a->is_ours)
        count_given(a->slot, a->range.bytes);
    else
        preload_budget_release(a->slot, &a->slot->outside_bytes,
                               a->range.bytes);
}

/* ---- served by Larder --------------------------------------------------------- */

/* ERR_BUSY: the slot is paused, so its cached memory may have no pages; or it
 * was closed just now. */
static larder_result serve(struct preload_slot *slot, size_t bytes,
                           larder_stream stream, larder_addr *out)
{
    larder_result r = LARDER_ERR_BUSY;

    pthread_rwlock_rdlock(&slot->gate);
    if (!slot->is_paused && atomic_load(&slot->is_open)) {
        preload_last_answer = CUD_SUCCESS;
        (void)preload_work_was_held();
        r = larder_alloc(slot->allocator, bytes, stream, out);
    }
    pthread_rwlock_unlock(&slot->gate);
    if (r == LARDER_OK && preload_work_was_held())
        count_moved(slot);
    return r;
}

/* Larder needs a whole segment, which may not fit although the request does:
 * ask the driver for exactly that.  Without a cache it was asked already. */
static cud_result unserved(struct preload_slot *slot, larder_result r)
{
    if (r == LARDER_ERR_BUSY ||
        (r == LARDER_ERR_CAPTURING && preload_settings_get()->can_migrate))
        return CUD_NOT_READY;
    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return preload_answer_of(r);
    if (preload_settings_get()->mode == PRELOAD_CACHE)
        return CUD_NOT_READY;
    count_refused(slot);
    return CUD_OUT_OF_MEMORY;
}

cud_result preload_alloc(struct preload_place *p, cud_addr *out, size_t bytes,
                         larder_stream stream)
{
    struct allocation *a;
    larder_addr addr = 0;
    larder_result r;
    cud_result answer = preload_slot_open(p->slot);

    if (answer != CUD_SUCCESS)
        return answer;
    a = preload_allocation_new(p, bytes);
    if (a == NULL)
        return CUD_OUT_OF_MEMORY;
    a->is_ours = true;
    a->stream = stream;
    r = serve(p->slot, bytes, stream, &addr);
    if (r != LARDER_OK) {
        larder__host_free(a);
        return unserved(p->slot, r);
    }
    count_served(p->slot, bytes);
    preload_allocation_add(a, addr);
    *out = addr;
    return CUD_SUCCESS;
}

cud_result preload_free_or_uncount(struct allocation *a)
{
    struct preload_slot *slot = a->slot;
    larder_result r;

    count_given(slot, a->range.bytes);
    if (preload_settings_get()->mode == PRELOAD_CACHE) {
        preload_wait_add(slot, a);
        return CUD_SUCCESS;
    }
    /* The driver's own free waits for the device. */
    pthread_rwlock_rdlock(&slot->gate);
    preload_last_answer = CUD_SUCCESS;
    r = atomic_load(&slot->is_open)
            ? larder_free(slot->allocator, a->range.addr)
            : LARDER_OK;
    pthread_rwlock_unlock(&slot->gate);
    larder__host_free(a);
    return r == LARDER_OK ? preload_last_answer : preload_answer_of(r);
}

/* ---- calls passed to the driver ------------------------------------------------- */

cud_result preload_pass_begin(const struct preload_calls *real,
                              struct passing *x, uint64_t bytes)
{
    *x = (struct passing){.bytes = bytes};
    if (!preload_place_find(real, &x->place))
        return CUD_SUCCESS;
    if (preload_settings_get()->is_wrong)
        return CUD_NOT_PERMITTED;
    x->allocation = preload_allocation_new(&x->place, bytes);
    if (x->allocation == NULL)
        return CUD_OUT_OF_MEMORY;
    if (x->place.slot->limit_bytes == 0)
        preload_slot_limit(real, x->place.slot);
    x->is_counted = preload_budget_take(x->place.slot,
                                        &x->place.slot->outside_bytes, bytes);
    if (!x->is_counted && preload_pass_again(x, CUD_OUT_OF_MEMORY))
        x->is_counted = preload_budget_take(
            x->place.slot, &x->place.slot->outside_bytes, bytes);
    return x->is_counted ? CUD_SUCCESS : CUD_OUT_OF_MEMORY;
}

/* Releasing memory that Larder has cached may help. */
bool preload_pass_again(struct passing *x, cud_result answer)
{
    struct preload_slot *slot = x->place.slot;
    uint64_t held;

    if (answer != CUD_OUT_OF_MEMORY || x->was_retried || slot == NULL)
        return false;
    x->was_retried = true;
    pthread_mutex_lock(&slot->lock);
    held = slot->held_bytes;
    pthread_mutex_unlock(&slot->lock);
    pthread_rwlock_rdlock(&slot->gate);
    if (!slot->is_paused)
        (void)preload_trim(slot);
    pthread_rwlock_unlock(&slot->gate);
    pthread_mutex_lock(&slot->lock);
    held -= slot->held_bytes < held ? slot->held_bytes : held;
    pthread_mutex_unlock(&slot->lock);
    return held != 0;
}

cud_result preload_pass_end(struct passing *x, cud_result answer, cud_addr addr)
{
    struct preload_slot *slot = x->place.slot;

    if (slot == NULL)
        return answer;
    if (answer == CUD_SUCCESS) {
        pthread_mutex_lock(&slot->lock);
        slot->passed++;
        pthread_mutex_unlock(&slot->lock);
        if (addr != 0)
            preload_allocation_add(x->allocation, addr);
        else
            larder__host_free(x->allocation);
        return CUD_SUCCESS;
    }
    if (x->is_counted)
        preload_budget_release(slot, &slot->outside_bytes, x->bytes);
    if (answer == CUD_OUT_OF_MEMORY)
        count_refused(slot);
    larder__host_free(x->allocation);
    return answer;
}

/* ---- cuMemAlloc ------------------------------------------------------------------ */

static cud_result pass_alloc(const struct preload_calls *real, cud_addr *out,
                             size_t bytes)
{
    struct passing x;
    cud_result answer = preload_pass_begin(real, &x, bytes);

    if (answer == CUD_SUCCESS) {
        answer = real->cuMemAlloc_v2(out, bytes);
        if (preload_pass_again(&x, answer))
            answer = real->cuMemAlloc_v2(out, bytes);
    }
    return preload_pass_end(&x, answer, answer == CUD_SUCCESS ? *out : 0);
}

cud_result cuMemAlloc_v2(cud_addr *out, size_t bytes)
{
    const struct preload_calls *real = preload_driver();
    struct preload_place p;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    /* The driver itself reports invalid arguments. */
    if (out == NULL || bytes == 0 || !preload_place_find(real, &p))
        return real->cuMemAlloc_v2(out, bytes);
    if (p.is_primary) {
        answer = preload_alloc(&p, out, bytes, 0);
        if (answer != CUD_NOT_READY)
            return answer;
    }
    return pass_alloc(real, out, bytes);
}

/* Rows are multiples of 512 bytes, which every device accepts. */
cud_result cuMemAllocPitch_v2(cud_addr *out, size_t *pitch, size_t width,
                              size_t height, unsigned element)
{
    enum { ROW = 512 };
    const struct preload_calls *real = preload_driver();
    struct preload_place p;
    size_t row = (width + ROW - 1) / ROW * ROW;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (out == NULL || pitch == NULL || width == 0 || height == 0 ||
        row < width || row > SIZE_MAX / height ||
        (element != 4 && element != 8 && element != 16) ||
        !preload_place_find(real, &p))
        return PRELOAD_REAL(real, cuMemAllocPitch_v2, out, pitch, width, height,
                            element);
    answer = cuMemAlloc_v2(out, row * height);
    if (answer == CUD_SUCCESS)
        *pitch = row;
    return answer;
}

cud_result cuMemAllocManaged(cud_addr *out, size_t bytes, unsigned flags)
{
    const struct preload_calls *real = preload_driver();
    struct passing x;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = preload_pass_begin(real, &x, bytes);
    if (answer == CUD_SUCCESS)
        answer = PRELOAD_REAL(real, cuMemAllocManaged, out, bytes, flags);
    return preload_pass_end(&x, answer, answer == CUD_SUCCESS ? *out : 0);
}

/* ---- cuMemFree -------------------------------------------------------------------- */

cud_result cuMemFree_v2(cud_addr addr)
{
    const struct preload_calls *real = preload_driver();
    struct allocation *a;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (preload_is_child())
        return real->cuMemFree_v2(addr);
    a = addr == 0 ? NULL : preload_allocation_take(addr);
    if (a != NULL && a->is_ours)
        return preload_free_or_uncount(a);
    /* The driver would free a segment of Larder's. */
    if (a == NULL && addr != 0 && preload_holds(addr))
        return CUD_INVALID_VALUE;
    answer = real->cuMemFree_v2(addr);
    if (a == NULL)
        return answer;
    if (answer != CUD_SUCCESS) {
        preload_allocation_return(a);
        return answer;
    }
    preload_uncount(a);
    larder__host_free(a);
    return answer;
}
