/* cuda_order.c - events, streams and copies. */
#include "device/cuda_device.h"

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

void larder__cuda_order_ops(larder_device_ops *ops)
{
    ops->event_create = op_event_create;
    ops->event_destroy = op_event_destroy;
    ops->event_record = op_event_record;
    ops->event_query = op_event_query;
    ops->event_sync = op_event_sync;
    ops->stream_sync = op_stream_sync;
    ops->stream_check = op_stream_check;
    ops->stream_is_capturing = op_stream_is_capturing;
    ops->copy = op_copy;
    ops->fill = op_fill;
}
