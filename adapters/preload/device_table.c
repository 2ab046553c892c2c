/* device_table.c - the driver below the hooks, as a device for Larder. */
#include "preload_state.h"
#include "base/host.h"

#include <stdio.h>
#include <string.h>

_Thread_local cud_result preload_last_answer;

/* ---- results --------------------------------------------------------------- */

larder_result preload_result_of(cud_result answer)
{
    switch (answer) {
    case CUD_SUCCESS:
        return LARDER_OK;
    case CUD_NOT_READY:
        return LARDER_ERR_NOT_READY;
    default:
        break;
    }
    preload_last_answer = answer;
    if (answer == CUD_OUT_OF_MEMORY)
        return LARDER_ERR_OUT_OF_MEMORY;
    if (answer >= CUD_CAPTURE_UNSUPPORTED && answer <= CUD_CAPTURE_WRONG_THREAD)
        return LARDER_ERR_CAPTURING;
    return LARDER_ERR_DEVICE;
}

/* The result of a call that names a stream. */
static larder_result result_of_stream(cud_result answer)
{
    if (answer != CUD_INVALID_HANDLE)
        return preload_result_of(answer);
    preload_last_answer = answer;
    return LARDER_ERR_UNKNOWN_STREAM;
}

cud_result preload_answer_of(larder_result r)
{
    switch (r) {
    case LARDER_OK:
        return CUD_SUCCESS;
    case LARDER_ERR_OUT_OF_MEMORY:
    case LARDER_ERR_NO_HOST_MEMORY:
        return CUD_OUT_OF_MEMORY;
    case LARDER_ERR_UNKNOWN_STREAM:
        return CUD_INVALID_HANDLE;
    case LARDER_ERR_CAPTURING:
        return CUD_CAPTURE_UNSUPPORTED;
    case LARDER_ERR_DEVICE:
        return preload_last_answer != CUD_SUCCESS ? preload_last_answer
                                                  : CUD_UNKNOWN;
    case LARDER_ERR_CONF:
        return CUD_NOT_PERMITTED;
    default:
        return CUD_UNKNOWN;
    }
}

static const char *op_error_text(void *self)
{
    static _Thread_local char words[96];
    const struct preload_calls *real = preload_driver();
    const char *name = NULL;

    (void)self;
    if (PRELOAD_REAL(real, cuGetErrorName, preload_last_answer, &name) !=
            CUD_SUCCESS ||
        name == NULL)
        name = "unknown error";
    snprintf(words, sizeof words, "%s (%d)", name, (int)preload_last_answer);
    return words;
}

/* ---- contexts ---------------------------------------------------------------- */

cud_result preload_context_push(const struct preload_calls *real,
                                cud_context own, bool *pushed)
{
    cud_context current = NULL;
    cud_result answer = real->cuCtxGetCurrent(&current);

    *pushed = false;
    if (answer != CUD_SUCCESS || current == own)
        return answer;
    answer = real->cuCtxPushCurrent_v2(own);
    *pushed = answer == CUD_SUCCESS;
    return answer;
}

cud_result preload_context_enter(const struct preload_calls *real,
                                 const struct preload_slot *slot, bool *pushed)
{
    return preload_context_push(real, atomic_load(&slot->primary), pushed);
}

void preload_context_leave(const struct preload_calls *real, bool pushed)
{
    cud_context popped;

    if (pushed)
        (void)real->cuCtxPopCurrent_v2(&popped);
}

/* ---- properties ---------------------------------------------------------------- */

static larder_result op_props(void *self, larder_device_props *out)
{
    const struct preload_calls *real = preload_driver();
    const struct preload_slot *slot = self;
    cud_uuid uuid;
    size_t total = 0;
    cud_result answer = real->cuDeviceTotalMem_v2(&total, slot->number);

    *out = (larder_device_props){.size = sizeof *out, .ordinal = slot->number};
    out->total_bytes = total;
    if (answer == CUD_SUCCESS)
        (void)PRELOAD_REAL(real, cuDeviceGetName, out->name,
                           (int)sizeof out->name, slot->number);
    if (answer == CUD_SUCCESS && PRELOAD_REAL(real, cuDeviceGetUuid_v2, &uuid,
                                              slot->number) == CUD_SUCCESS)
        memcpy(out->uuid, uuid.bytes, sizeof out->uuid);
    if (preload_settings_get()->can_migrate)
        out->granularity_bytes = preload_segment_round(real, slot, 1);
    return preload_result_of(answer);
}

static larder_result op_mem_info(void *self, uint64_t *free_bytes,
                                 uint64_t *total_bytes)
{
    const struct preload_calls *real = preload_driver();
    bool pushed;
    cud_result answer = preload_context_enter(real, self, &pushed);
    size_t free_size = 0;
    size_t total_size = 0;

    if (answer == CUD_SUCCESS)
        answer = real->cuMemGetInfo_v2(&free_size, &total_size);
    preload_context_leave(real, pushed);
    if (answer != CUD_SUCCESS)
        return preload_result_of(answer);
    *free_bytes = free_size;
    *total_bytes = total_size;
    return LARDER_OK;
}

static void op_close(void *self)
{
    (void)self; /* the slots are static */
}

/* ---- memory -------------------------------------------------------------------- */

static struct segment *segment_of(struct range *r)
{
    return (struct segment *)r; /* its first member */
}

/* Acquire s->range.bytes from the driver. */
static cud_result device_table_take(const struct preload_calls *real,
                                    struct preload_slot *slot,
                                    struct segment *s)
{
    cud_addr addr = 0;
    cud_result answer;

    if (preload_settings_get()->can_pause)
        return preload_segment_reserve(real, slot, s);
    answer = real->cuMemAlloc_v2(&addr, s->range.bytes);
    s->range.addr = addr;
    return answer;
}

static cud_result take_counted(const struct preload_calls *real,
                               struct preload_slot *slot, struct segment *s)
{
    bool pushed = false;
    cud_result answer;

    if (!preload_budget_take(slot, &slot->asked_bytes, s->range.bytes))
        return CUD_OUT_OF_MEMORY;
    answer = preload_context_enter(real, slot, &pushed);
    if (answer == CUD_SUCCESS)
        answer = device_table_take(real, slot, s);
    preload_context_leave(real, pushed);
    if (answer == CUD_SUCCESS)
        preload_budget_keep(slot, s->range.bytes);
    else
        preload_budget_release(slot, &slot->asked_bytes, s->range.bytes);
    return answer;
}

static larder_result op_mem_alloc(void *self, uint64_t bytes, larder_addr *out)
{
    const struct preload_calls *real = preload_driver();
    struct preload_slot *slot = self;
    struct segment *s = larder__host_alloc(1, sizeof *s);
    cud_result answer = CUD_NOT_SUPPORTED;

    if (s == NULL)
        return LARDER_ERR_NO_HOST_MEMORY;
    s->range.bytes = preload_settings_get()->can_pause
                         ? preload_segment_round(real, slot, bytes)
                         : bytes;
    if (s->range.bytes != 0)
        answer = take_counted(real, slot, s);
    if (answer != CUD_SUCCESS) {
        larder__host_free(s);
        return preload_result_of(answer);
    }
    pthread_mutex_lock(&slot->lock);
    preload_ranges_add(&slot->segments, &s->range);
    slot->driver_allocs++;
    pthread_mutex_unlock(&slot->lock);
    *out = s->range.addr;
    return LARDER_OK;
}

static struct segment *segment_find(struct preload_slot *slot, cud_addr addr)
{
    struct range *r;

    pthread_mutex_lock(&slot->lock);
    r = preload_ranges_at(slot->segments, addr);
    pthread_mutex_unlock(&slot->lock);
    return segment_of(r);
}

static void segment_forget(struct preload_slot *slot, struct segment *s)
{
    pthread_mutex_lock(&slot->lock);
    preload_ranges_remove(&slot->segments, &s->range);
    if (s->is_paused)
        slot->paused_bytes -= s->range.bytes;
    else
        slot->held_bytes -= s->range.bytes;
    slot->driver_frees++;
    pthread_mutex_unlock(&slot->lock);
    larder__host_free(s->saved);
    larder__host_free(s);
}

static cud_result release_memory(const struct preload_calls *real,
                                 struct preload_slot *slot, struct segment *s)
{
    bool pushed = false;
    cud_result answer = preload_context_enter(real, slot, &pushed);

    if (answer == CUD_SUCCESS)
        answer = s->is_virtual ? preload_segment_release(real, s)
                               : real->cuMemFree_v2(s->range.addr);
    preload_context_leave(real, pushed);
    return answer;
}

static larder_result segment_free(const struct preload_calls *real,
                                  struct preload_slot *slot, struct segment *s)
{
    cud_result answer = release_memory(real, slot, s);

    /* A driver that has shut down has released everything. */
    if (answer != CUD_SUCCESS && answer != CUD_DEINITIALIZED &&
        !slot->is_forgotten)
        return preload_result_of(answer);
    segment_forget(slot, s);
    return LARDER_OK;
}

static larder_result op_mem_free(void *self, larder_addr addr)
{
    const struct preload_calls *real = preload_driver();
    struct preload_slot *slot = self;
    struct segment *s = segment_find(slot, addr);
    larder_result r;

    if (s == NULL)
        return LARDER_ERR_DEVICE;
    /* Virtual memory belongs to no context, so it still exists. */
    if (slot->is_forgotten && !s->is_virtual) {
        segment_forget(slot, s);
        return LARDER_OK;
    }
    if (!preload_wait_begin(real))
        return LARDER_ERR_CAPTURING;
    pthread_mutex_lock(&slot->paging);
    r = segment_free(real, slot, s);
    pthread_mutex_unlock(&slot->paging);
    preload_wait_end();
    return r;
}

bool preload_holds(cud_addr addr)
{
    bool found = false;

    for (int i = 0; i < PRELOAD_DEVICES && !found; i++) {
        struct preload_slot *slot = preload_slot_at(i);

        if (!atomic_load_explicit(&slot->is_open, memory_order_acquire))
            continue;
        pthread_mutex_lock(&slot->lock);
        found = preload_ranges_holding(slot->segments, addr) != NULL;
        pthread_mutex_unlock(&slot->lock);
    }
    return found;
}

/* ---- order ----------------------------------------------------------------------- */

/* A handle's value is a pointer. */
static void *as_handle(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

static larder_result op_event_create(void *self, uint64_t *out)
{
    const struct preload_calls *real = preload_driver();
    cud_event event = NULL;
    bool pushed;
    cud_result answer = preload_context_enter(real, self, &pushed);

    if (answer == CUD_SUCCESS)
        answer = real->cuEventCreate(&event, CUD_EVENT_NO_TIMING);
    preload_context_leave(real, pushed);
    if (answer == CUD_SUCCESS)
        *out = (uintptr_t)event;
    return preload_result_of(answer);
}

static larder_result op_event_destroy(void *self, uint64_t event)
{
    const struct preload_slot *slot = self;
    cud_result answer = preload_driver()->cuEventDestroy_v2(as_handle(event));

    return preload_result_of(answer == CUD_DEINITIALIZED || slot->is_forgotten
                                 ? CUD_SUCCESS
                                 : answer);
}

static larder_result op_event_record(void *self, uint64_t event,
                                     larder_stream stream)
{
    const struct preload_calls *real = preload_driver();
    bool pushed;
    cud_result answer = preload_context_enter(real, self, &pushed);

    if (answer == CUD_SUCCESS)
        answer = real->cuEventRecord(as_handle(event), as_handle(stream));
    preload_context_leave(real, pushed);
    return result_of_stream(answer);
}

static larder_result op_event_query(void *self, uint64_t event)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;

    (void)self;
    if (!preload_wait_begin(real))
        return LARDER_ERR_NOT_READY;
    answer = real->cuEventQuery(as_handle(event));
    preload_wait_end();
    return preload_result_of(answer);
}

static larder_result op_event_sync(void *self, uint64_t event)
{
    const struct preload_calls *real = preload_driver();
    const struct preload_slot *slot = self;
    cud_result answer;

    if (slot->is_forgotten)
        return LARDER_OK;
    if (!preload_wait_begin(real))
        return LARDER_ERR_CAPTURING;
    answer = real->cuEventSynchronize(as_handle(event));
    preload_wait_end();
    return preload_result_of(answer);
}

static larder_result op_stream_sync(void *self, larder_stream stream)
{
    const struct preload_calls *real = preload_driver();
    bool pushed = false;
    cud_result answer;

    if (!preload_wait_begin(real))
        return LARDER_ERR_CAPTURING;
    answer = preload_context_enter(real, self, &pushed);
    if (answer == CUD_SUCCESS)
        answer = real->cuStreamSynchronize(as_handle(stream));
    preload_context_leave(real, pushed);
    preload_wait_end();
    return result_of_stream(answer);
}

/* Not by its flags: asking for them ends a capture with an error. */
static larder_result op_stream_check(void *self, larder_stream stream)
{
    const struct preload_calls *real = preload_driver();
    cud_capture_status status;
    bool pushed = false;
    cud_result answer;

    if (stream == 0 || real->cuStreamIsCapturing == NULL)
        return LARDER_OK;
    answer = preload_context_enter(real, self, &pushed);
    if (answer == CUD_SUCCESS)
        answer = real->cuStreamIsCapturing(as_handle(stream), &status);
    preload_context_leave(real, pushed);
    return answer == CUD_CAPTURE_IMPLICIT ? LARDER_OK
                                          : result_of_stream(answer);
}

/* Larder copies nothing through this device. */
static larder_result op_copy(void *self, uint64_t dst, uint64_t src,
                             uint64_t bytes, larder_copy_kind kind,
                             larder_stream stream)
{
    (void)self;
    (void)dst;
    (void)src;
    (void)bytes;
    (void)kind;
    (void)stream;
    return LARDER_ERR_DEVICE;
}

static larder_result op_fill(void *self, larder_addr dst, unsigned char value,
                             uint64_t bytes, larder_stream stream)
{
    (void)value;
    return op_copy(self, dst, 0, bytes, LARDER_COPY_ON_DEVICE, stream);
}

const larder_device_ops preload_device_ops = {
    .size = sizeof(larder_device_ops),
    .name = "preload",
    .close = op_close,
    .props = op_props,
    .mem_alloc = op_mem_alloc,
    .mem_free = op_mem_free,
    .mem_info = op_mem_info,
    .event_create = op_event_create,
    .event_destroy = op_event_destroy,
    .event_record = op_event_record,
    .event_query = op_event_query,
    .event_sync = op_event_sync,
    .stream_sync = op_stream_sync,
    .stream_check = op_stream_check,
    .copy = op_copy,
    .fill = op_fill,
    .error_text = op_error_text,
};
