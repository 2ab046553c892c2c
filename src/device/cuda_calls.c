/* cuda_calls.c - the calls on memory, between processes, events, streams and
 * copies. */
#include "device/cuda_device.h"

#include <stdint.h>

/* ---- driver allocations -------------------------------------------------- */

CUDA_OP_MADE(mem_alloc, CUDA_RELAXED, cud_addr,
             (void *self, uint64_t bytes, larder_addr *out), &made, bytes)
CUDA_OP(mem_free, CUDA_RELEASE, (void *self, larder_addr addr), addr)

static larder_result op_mem_info(void *self, uint64_t *free_bytes,
                                 uint64_t *total_bytes)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    size_t free_size = 0;
    size_t total_size = 0;
    larder_result r = CUDA_CALL(c, &s, mem_info, &free_size, &total_size);

    if (r != LARDER_OK)
        return r;
    *free_bytes = free_size;
    *total_bytes = total_size;
    return LARDER_OK;
}

/* ---- virtual memory ------------------------------------------------------ */

CUDA_OP_MADE(address_reserve, CUDA_RELAXED, cud_addr,
             (void *self, uint64_t bytes, larder_addr *out), &made, bytes, 0, 0,
             0)
CUDA_OP(address_free, CUDA_RELAXED_RELEASE,
        (void *self, larder_addr addr, uint64_t bytes), addr, bytes)
CUDA_OP_MADE(page_create, CUDA_RELAXED, cud_page,
             (void *self, uint64_t bytes, uint64_t *out), &made, bytes,
             &c->page_prop, 0)
CUDA_OP(page_release, CUDA_RELAXED_RELEASE, (void *self, uint64_t page), page)
CUDA_OP(map, CUDA_RELAXED,
        (void *self, larder_addr addr, uint64_t bytes, uint64_t page), addr,
        bytes, 0, page, 0)
CUDA_OP(unmap, CUDA_RELAXED_RELEASE,
        (void *self, larder_addr addr, uint64_t bytes), addr, bytes)
CUDA_OP(set_access, CUDA_RELAXED,
        (void *self, larder_addr addr, uint64_t bytes), addr, bytes, c->access,
        c->access_count)

/* ---- between processes --------------------------------------------------- */

_Static_assert((int)CUD_HANDLE_FD == (int)LARDER_HANDLE_FD,
               "the driver's number of it");

static larder_result op_page_export(void *self, uint64_t page,
                                    larder_page_handle *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    larder_page_handle made = {.kind = c->props.export_kind, .fd = -1};
    void *handle =
        made.kind == LARDER_HANDLE_FD ? (void *)&made.fd : (void *)made.fabric;
    larder_result r =
        CUDA_CALL(c, &s, page_export, handle, page, c->handle_type, 0);

    if (r == LARDER_OK)
        *out = made;
    return r;
}

/* The driver knows the page's size, and fails to map any other. */
static larder_result op_page_import(void *self,
                                    const larder_page_handle *handle,
                                    uint64_t bytes, uint64_t *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    larder_page_handle copy = *handle;
    bool is_fd = handle->kind == LARDER_HANDLE_FD;
    void *given = is_fd ? (void *)(intptr_t)copy.fd : (void *)copy.fabric;
    cud_page page = 0;
    larder_result r = CUDA_CALL(c, &s, page_import, &page, given,
                                is_fd ? CUD_HANDLE_FD : CUD_HANDLE_FABRIC);

    (void)bytes;
    if (r == LARDER_OK)
        *out = page;
    return r;
}

/* ---- host memory --------------------------------------------------------- */

static larder_result op_host_alloc(void *self, uint64_t bytes, void **out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true,
                           .no_memory = LARDER_ERR_NO_HOST_MEMORY};
    void *ptr = NULL;
    larder_result r =
        CUDA_CALL(c, &s, host_alloc, &ptr, bytes, CUD_HOST_PORTABLE);

    if (r == LARDER_OK)
        *out = ptr;
    return r;
}

CUDA_OP(host_free, CUDA_RELEASE, (void *self, void *ptr), ptr)

/* A handle's value is a pointer. */
static cud_stream as_stream(larder_stream stream)
{
    return (cud_stream)(uintptr_t)stream;
}

static cud_event as_event(uint64_t event)
{
    return (cud_event)(uintptr_t)event;
}

/* ---- events --------------------------------------------------------------- */

CUDA_OP_MADE(event_create, CUDA_RELAXED, cud_event, (void *self, uint64_t *out),
             &made, CUD_EVENT_NO_TIMING)
CUDA_OP(event_destroy, CUDA_RELEASE, (void *self, uint64_t event),
        as_event(event))
CUDA_OP(event_record, CUDA_RECORD,
        (void *self, uint64_t event, larder_stream stream), as_event(event),
        as_stream(stream))
CUDA_OP(event_query, CUDA_RELEASE, (void *self, uint64_t event),
        as_event(event))
CUDA_OP(event_sync, CUDA_RELEASE, (void *self, uint64_t event), as_event(event))

/* ---- streams -------------------------------------------------------------- */

CUDA_OP(stream_sync, CUDA_WAIT_STREAM, (void *self, larder_stream stream),
        as_stream(stream))

/* Ask whether a stream that exists is captured.  The default stream is never
 * captured.  While a stream that waits for it is, the query returns an
 * error. */
static larder_result capture_status(struct cuda *c, larder_stream stream,
                                    cud_capture_status *out)
{
    struct cuda_scope s = larder__cuda_scopes[CUDA_ON_STREAM];

    if (larder__cuda_enter(c, &s))
        s.answer = c->call.stream_is_capturing(as_stream(stream), out);
    if (s.answer == CUD_CAPTURE_IMPLICIT) {
        s.answer = CUD_SUCCESS;
        *out = CUD_CAPTURE_NONE;
    }
    return larder__cuda_leave(c, &s, s.answer);
}

/* Of the cheap queries this is the one that a captured stream allows: asking
 * for its flags ends the capture with an error (seen on an H200, driver 580).
 * The default stream always exists, and needs no context for it. */
static larder_result op_stream_check(void *self, larder_stream stream)
{
    struct cuda *c = self;
    cud_capture_status status;

    if (stream == 0 || c->call.stream_is_capturing == NULL)
        return LARDER_OK;
    return capture_status(c, stream, &status);
}

static larder_result op_stream_is_capturing(void *self, larder_stream stream,
                                            int *out)
{
    struct cuda *c = self;
    cud_capture_status status = CUD_CAPTURE_NONE;
    larder_result r = LARDER_OK;

    if (c->call.stream_is_capturing != NULL)
        r = capture_status(c, stream, &status);
    if (r == LARDER_OK)
        *out = status != CUD_CAPTURE_NONE;
    return r;
}

/* ---- data ----------------------------------------------------------------- */

static cud_result copy_queue(const struct cuda *c, uint64_t dst, uint64_t src,
                             uint64_t bytes, larder_copy_kind kind,
                             cud_stream stream)
{
    switch (kind) {
    case LARDER_COPY_TO_DEVICE:
        return c->call.copy_to_device(dst, (const void *)(uintptr_t)src, bytes,
                                      stream);
    case LARDER_COPY_TO_HOST:
        return c->call.copy_to_host((void *)(uintptr_t)dst, src, bytes, stream);
    case LARDER_COPY_ON_DEVICE:
        return c->call.copy_on_device(dst, src, bytes, stream);
    }
    return CUD_INVALID_VALUE;
}

static larder_result op_copy(void *self, uint64_t dst, uint64_t src,
                             uint64_t bytes, larder_copy_kind kind,
                             larder_stream stream)
{
    struct cuda *c = self;
    struct cuda_scope s = larder__cuda_scopes[CUDA_ON_STREAM];

    if (larder__cuda_enter(c, &s))
        s.answer = copy_queue(c, dst, src, bytes, kind, as_stream(stream));
    return larder__cuda_leave(c, &s, s.answer);
}

CUDA_OP(fill, CUDA_ON_STREAM,
        (void *self, larder_addr dst, unsigned char value, uint64_t bytes,
         larder_stream stream),
        dst, value, bytes, as_stream(stream))

/* ---- the table ------------------------------------------------------------ */

const larder_device_ops larder__cuda_ops = {
    .mem_alloc = op_mem_alloc,
    .mem_free = op_mem_free,
    .mem_info = op_mem_info,
    .host_alloc = op_host_alloc,
    .host_free = op_host_free,
    .address_reserve = op_address_reserve,
    .address_free = op_address_free,
    .page_create = op_page_create,
    .page_release = op_page_release,
    .map = op_map,
    .unmap = op_unmap,
    .set_access = op_set_access,
    .page_export = op_page_export,
    .page_import = op_page_import,
    .event_create = op_event_create,
    .event_destroy = op_event_destroy,
    .event_record = op_event_record,
    .event_query = op_event_query,
    .event_sync = op_event_sync,
    .stream_sync = op_stream_sync,
    .stream_check = op_stream_check,
    .stream_is_capturing = op_stream_is_capturing,
    .copy = op_copy,
    .fill = op_fill,
};
