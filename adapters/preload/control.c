/* control.c - the functions of preload.h: statistics and pausing. */
#include "preload_state.h"
#include "base/host.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char words[512];

const char *larder_preload_last_error(void)
{
    return words;
}

larder_result preload_fail(larder_result r, const char *text)
{
    snprintf(words, sizeof words, "%s",
             text != NULL ? text : larder_result_text(r));
    return r;
}

static larder_result fail_driver(cud_result answer)
{
    snprintf(words, sizeof words, "the driver refused: error %d", (int)answer);
    if (answer == CUD_OUT_OF_MEMORY)
        return LARDER_ERR_OUT_OF_MEMORY;
    return LARDER_ERR_DEVICE;
}

/* ---- each device, or all ----------------------------------------------------- */

typedef larder_result slot_fn(struct preload_slot *slot, void *ctx);

static larder_result on_slots(int device, slot_fn *fn, void *ctx)
{
    struct preload_slot *slot = preload_slot_at(device);
    larder_result r = LARDER_OK;

    if (preload_is_child())
        return preload_fail(LARDER_ERR_FORKED, NULL);
    if (device != LARDER_PRELOAD_ALL) {
        if (slot == NULL || !atomic_load(&slot->is_open))
            return preload_fail(
                LARDER_ERR_INVALID,
                "the program allocated no memory on that device");
        return fn(slot, ctx);
    }
    for (int i = 0; i < PRELOAD_DEVICES && r == LARDER_OK; i++) {
        slot = preload_slot_at(i);
        if (atomic_load(&slot->is_open))
            r = fn(slot, ctx);
    }
    return r;
}

/* ---- statistics ---------------------------------------------------------------- */

static void stats_fill(struct preload_slot *slot, larder_preload_stats *out)
{
    pthread_mutex_lock(&slot->lock);
    *out = (larder_preload_stats){
        .size = sizeof *out,
        .allocations = slot->allocations,
        .frees = slot->frees,
        .passed = slot->passed,
        .refused = slot->refused,
        .driver_allocs = slot->driver_allocs,
        .driver_frees = slot->driver_frees,
        .waits = slot->waits,
        .live_bytes = slot->live_bytes,
        .live_bytes_peak = slot->live_peak,
        .held_bytes = slot->held_bytes,
        .held_bytes_peak = slot->held_peak,
        .outside_bytes = slot->outside_bytes,
        .limit_bytes = slot->limit_bytes,
        .paused_bytes = slot->paused_bytes,
        .moves = slot->moves,
    };
    pthread_mutex_unlock(&slot->lock);
}

larder_result larder_preload_stats_get(int device, larder_preload_stats *out)
{
    struct preload_slot *slot = preload_slot_at(device);
    larder_preload_stats all;
    size_t size;

    if (out == NULL || out->size < sizeof out->size || slot == NULL ||
        slot->limit_bytes == 0)
        return preload_fail(LARDER_ERR_INVALID,
                            "expected a device on which the program allocated "
                            "memory, and a struct with its size set");
    size = out->size < sizeof all ? out->size : sizeof all;
    stats_fill(slot, &all);
    all.size = out->size;
    memcpy(out, &all, size);
    return LARDER_OK;
}

static larder_result empty_one(struct preload_slot *slot, void *ctx)
{
    larder_result r = LARDER_OK;

    (void)ctx;
    pthread_rwlock_rdlock(&slot->gate);
    if (!slot->is_paused && atomic_load(&slot->is_open))
        r = preload_trim(slot);
    pthread_rwlock_unlock(&slot->gate);
    return r == LARDER_OK ? r : preload_fail(r, larder_last_error());
}

larder_result larder_preload_empty_cache(int device)
{
    return on_slots(device, empty_one, NULL);
}

static larder_result snapshot_one(struct preload_slot *slot, void *ctx)
{
    larder_result r = LARDER_ERR_INVALID;

    pthread_rwlock_rdlock(&slot->gate);
    if (atomic_load(&slot->is_open))
        r = larder_snapshot_write(slot->allocator, ctx, NULL);
    pthread_rwlock_unlock(&slot->gate);
    return r == LARDER_OK ? r : preload_fail(r, larder_last_error());
}

larder_result larder_preload_snapshot(int device, const char *path)
{
    char copy[4096];

    if (path == NULL || strlen(path) >= sizeof copy || device < 0)
        return preload_fail(LARDER_ERR_INVALID,
                            "expected one device, and a path");
    snprintf(copy, sizeof copy, "%s", path);
    return on_slots(device, snapshot_one, copy);
}

/* ---- pausing ---------------------------------------------------------------------- */

static struct segment *segment_next(struct preload_slot *slot, uint64_t *from)
{
    struct range *r;

    pthread_mutex_lock(&slot->lock);
    r = preload_ranges_from(slot->segments, *from);
    pthread_mutex_unlock(&slot->lock);
    if (r != NULL)
        *from = r->addr + 1;
    return (struct segment *)r; /* its first member */
}

static void copies_drop(struct preload_slot *slot)
{
    struct segment *s;
    uint64_t from = 0;

    while ((s = segment_next(slot, &from)) != NULL) {
        if (!s->is_mapped)
            continue;
        larder__host_free(s->saved);
        s->saved = NULL;
    }
}

/* All contents are copied to the host before the first page is released. */
static larder_result copies_take(const struct preload_calls *real,
                                 struct preload_slot *slot)
{
    struct segment *s;
    uint64_t from = 0;

    while ((s = segment_next(slot, &from)) != NULL) {
        cud_result answer;

        s->saved = larder__host_alloc(1, s->range.bytes);
        if (s->saved == NULL)
            return preload_fail(LARDER_ERR_NO_HOST_MEMORY, NULL);
        answer = PRELOAD_REAL(real, cuMemcpyDtoH_v2, s->saved, s->range.addr,
                              s->range.bytes);
        if (answer != CUD_SUCCESS)
            return fail_driver(answer);
    }
    return LARDER_OK;
}

/* A page that the driver fails to release stays, and is mapped again. */
static larder_result page_take(const struct preload_calls *real,
                               struct preload_slot *slot, struct segment *s)
{
    cud_result answer = preload_segment_unmap(real, s);

    if (answer != CUD_SUCCESS) {
        if (!s->is_mapped)
            (void)preload_segment_map(real, slot, s);
        if (s->is_mapped)
            return fail_driver(answer);
    }
    pthread_mutex_lock(&slot->lock);
    s->is_paused = true;
    slot->held_bytes -= s->range.bytes;
    slot->paused_bytes += s->range.bytes;
    pthread_mutex_unlock(&slot->lock);
    return answer == CUD_SUCCESS ? LARDER_OK : fail_driver(answer);
}

static larder_result pages_take(const struct preload_calls *real,
                                struct preload_slot *slot)
{
    larder_result first = LARDER_OK;
    struct segment *s;
    uint64_t from = 0;

    while ((s = segment_next(slot, &from)) != NULL) {
        larder_result r = page_take(real, slot, s);

        first = first != LARDER_OK ? first : r;
    }
    return first;
}

static larder_result take_all(const struct preload_calls *real,
                              struct preload_slot *slot, unsigned flags)
{
    larder_result r = LARDER_OK;

    if ((flags & LARDER_PRELOAD_DROP) == 0)
        r = copies_take(real, slot);
    if (r == LARDER_OK) {
        slot->is_paused = true;
        r = pages_take(real, slot);
    }
    copies_drop(slot);
    return r;
}

/* Called in the slot's context, with its gate held exclusively, within
 * preload_wait_begin(). */
static larder_result pause_quiet(const struct preload_calls *real,
                                 struct preload_slot *slot, unsigned flags)
{
    cud_result answer = real->cuCtxSynchronize();
    larder_result r;

    if (answer != CUD_SUCCESS)
        return fail_driver(answer);
    (void)preload_trim(slot);
    pthread_mutex_lock(&slot->paging);
    r = take_all(real, slot, flags);
    pthread_mutex_unlock(&slot->paging);
    return r;
}

static larder_result pause_one(struct preload_slot *slot, void *ctx)
{
    const struct preload_calls *real = preload_driver();
    unsigned flags = *(const unsigned *)ctx;
    larder_result r = LARDER_OK;
    bool pushed = false;

    pthread_rwlock_wrlock(&slot->gate);
    if (!slot->is_paused && atomic_load(&slot->is_open)) {
        cud_result answer = preload_context_enter(real, slot, &pushed);

        if (answer != CUD_SUCCESS)
            r = fail_driver(answer);
        else if (!preload_wait_begin(real))
            r = preload_fail(LARDER_ERR_CAPTURING, NULL);
        else {
            r = pause_quiet(real, slot, flags);
            preload_wait_end();
        }
        preload_context_leave(real, pushed);
    }
    pthread_rwlock_unlock(&slot->gate);
    return r;
}

larder_result larder_preload_pause(int device, unsigned flags)
{
    if ((flags & ~(unsigned)LARDER_PRELOAD_DROP) != 0)
        return preload_fail(LARDER_ERR_INVALID, "these flags are unknown");
    if (!preload_settings_get()->can_pause)
        return preload_fail(LARDER_ERR_UNSUPPORTED,
                            "expected LARDER_PRELOAD=cache,pause or "
                            "limit,pause when the program was started");
    return on_slots(device, pause_one, &flags);
}

/* ---- resuming --------------------------------------------------------------------- */

static larder_result page_return(const struct preload_calls *real,
                                 struct preload_slot *slot, struct segment *s)
{
    cud_result answer;

    if (!preload_budget_take(slot, &slot->asked_bytes, s->range.bytes))
        return preload_fail(LARDER_ERR_OUT_OF_MEMORY,
                            "it would exceed the limit");
    answer = preload_segment_map(real, slot, s);
    if (answer == CUD_SUCCESS && s->saved != NULL) {
        answer = PRELOAD_REAL(real, cuMemcpyHtoD_v2, s->range.addr, s->saved,
                              s->range.bytes);
        if (answer != CUD_SUCCESS)
            (void)preload_segment_unmap(real, s);
    }
    if (answer != CUD_SUCCESS) {
        preload_budget_release(slot, &slot->asked_bytes, s->range.bytes);
        return fail_driver(answer);
    }
    preload_budget_keep(slot, s->range.bytes);
    larder__host_free(s->saved);
    s->saved = NULL;
    pthread_mutex_lock(&slot->lock);
    s->is_paused = false;
    slot->paused_bytes -= s->range.bytes;
    pthread_mutex_unlock(&slot->lock);
    return LARDER_OK;
}

static larder_result pages_return(const struct preload_calls *real,
                                  struct preload_slot *slot)
{
    larder_result r = LARDER_OK;
    struct segment *s;
    uint64_t from = 0;

    pthread_mutex_lock(&slot->paging);
    while (r == LARDER_OK && (s = segment_next(slot, &from)) != NULL) {
        if (s->is_paused)
            r = page_return(real, slot, s);
    }
    pthread_mutex_unlock(&slot->paging);
    return r;
}

static larder_result resume_one(struct preload_slot *slot, void *ctx)
{
    const struct preload_calls *real = preload_driver();
    larder_result r = LARDER_OK;
    bool pushed = false;

    (void)ctx;
    pthread_rwlock_wrlock(&slot->gate);
    if (slot->is_paused) {
        cud_result answer = preload_context_enter(real, slot, &pushed);

        r = answer == CUD_SUCCESS ? pages_return(real, slot)
                                  : fail_driver(answer);
        preload_context_leave(real, pushed);
        slot->is_paused = r != LARDER_OK;
    }
    pthread_rwlock_unlock(&slot->gate);
    return r;
}

larder_result larder_preload_resume(int device)
{
    return on_slots(device, resume_one, NULL);
}
