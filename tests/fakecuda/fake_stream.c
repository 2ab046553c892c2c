/* fake_stream.c - streams, events and captures. */
#include "fakecuda/fake_state.h"

#include <stdlib.h>

/* ---- streams --------------------------------------------------------------- */

struct fake_stream {
    struct fake_handle handle;
    int device;
    cud_context context; /* that created it */
    unsigned flags;
    larder_stream number;
};

/* Numbers from here on belong to per-thread streams. */
enum { THREAD_STREAMS = LARDER_SIM_STREAMS - 4096 };

static larder_stream thread_stream(void)
{
    static unsigned threads;
    static _Thread_local unsigned own;

    if (own == 0)
        own = ++threads;
    return THREAD_STREAMS + own % 4096;
}

static const struct fake_stream *stream_find(cud_stream handle)
{
    return fake_handle_find(FAKE_STREAM, handle);
}

cud_result fake_stream_number(const char *symbol, const struct fake_device *d,
                              cud_stream stream, larder_stream *out)
{
    uintptr_t value = (uintptr_t)stream;
    const struct fake_stream *s;

    *out = value;
    if (d->has_loose_streams && value < LARDER_SIM_STREAMS)
        return CUD_SUCCESS;
    *out = value == 2 ? thread_stream() : 0;
    if (value <= 2)
        return CUD_SUCCESS;
    s = stream_find(stream);
    if (s == NULL)
        return fake_broken(symbol, CUD_INVALID_HANDLE,
                           "there is no stream %p, or no longer", stream);
    if (s->device != fake_number(d))
        return fake_broken(symbol, CUD_INVALID_HANDLE,
                           "the stream is of device %d, the current context "
                           "of device %d",
                           s->device, fake_number(d));
    *out = s->number;
    return CUD_SUCCESS;
}

static larder_stream number_take(struct fake_device *d)
{
    for (larder_stream n = 3; n < THREAD_STREAMS; n++) {
        if (!d->stream_used[n]) {
            d->stream_used[n] = 1;
            return n;
        }
    }
    return 0;
}

cud_result cuStreamCreate(cud_stream *out, unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    struct fake_stream *s;

    if (answer != CUD_SUCCESS)
        return answer;
    if (flags > 1)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "there are no flags 0x%x", flags));
    s = calloc(1, sizeof *s);
    if (s != NULL && (s->number = number_take(d)) == 0) {
        free(s);
        s = NULL;
    }
    if (s == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    s->device = fake_number(d);
    s->context = fake_current_context();
    s->flags = flags;
    *out = fake_handle_make(&s->handle, FAKE_STREAM);
    return fake_end(CUD_SUCCESS);
}

cud_result cuStreamCreateWithPriority(cud_stream *out, unsigned flags,
                                      int priority)
{
    (void)priority;
    return cuStreamCreate(out, flags);
}

cud_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = 0;
    return CUD_SUCCESS;
}

static void capture_drop(struct fake_device *d, larder_stream number);

/* The driver lets the work complete on its own; here it completes now. */
cud_result cuStreamDestroy_v2(cud_stream stream)
{
    struct fake_device *d;
    struct fake_stream *gone;
    cud_result answer = fake_begin_handle(__func__, FAKE_STREAM, stream, &gone);
    larder_result r = LARDER_OK;

    if (answer != CUD_SUCCESS)
        return answer;
    d = fake_device_get(gone->device);
    if (d != NULL) {
        capture_drop(d, gone->number);
        r = larder_sim_complete(d->dev, gone->number);
        d->stream_used[gone->number] = 0;
    }
    fake_handle_drop(&gone->handle);
    free(gone);
    return d == NULL ? fake_end(CUD_SUCCESS) : fake_end_sim(__func__, d, r);
}

/* Begin a call about a stream of the current device. */
static cud_result begin_stream(const char *symbol, cud_stream stream,
                               struct fake_device **d, larder_stream *number)
{
    cud_result answer = fake_begin(symbol, d);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(symbol, *d, stream, number);
    if (answer != CUD_SUCCESS)
        fake_unlock();
    return answer;
}

/* There is one priority. */
cud_result cuStreamGetPriority(cud_stream stream, int *out)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = 0;
    return fake_end(CUD_SUCCESS);
}

cud_result cuStreamGetFlags(cud_stream stream, unsigned *out)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);
    const struct fake_stream *s;

    if (answer != CUD_SUCCESS)
        return answer;
    s = stream_find(stream);
    *out = s == NULL ? 0 : s->flags;
    return fake_end(CUD_SUCCESS);
}

cud_result cuStreamGetId(cud_stream stream, unsigned long long *out)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = number;
    return fake_end(CUD_SUCCESS);
}

cud_result cuStreamGetCtx(cud_stream stream, cud_context *out)
{
    cud_result answer = fake_begin_bare(__func__);
    const struct fake_stream *s;

    if (answer != CUD_SUCCESS)
        return answer;
    s = stream_find(stream);
    *out = s == NULL ? fake_current_context() : s->context;
    if (s == NULL && (uintptr_t)stream > 2)
        answer = fake_broken(__func__, CUD_INVALID_HANDLE,
                             "there is no stream %p, or no longer", stream);
    return fake_end(answer);
}

/* ---- waiting --------------------------------------------------------------- */

/* Work queued so far has been waited for, whether or not a manual stream has
 * run it. */
static void waited_note(struct fake_device *d, larder_stream number)
{
    const struct sim_stream *s = larder__sim_stream_find(d->sim, number);

    if (s != NULL)
        d->waited[number] = s->queued;
}

void fake_waited_all(struct fake_device *d)
{
    for (larder_stream n = 0; n < LARDER_SIM_STREAMS; n++) {
        if (d->sim->streams[n / SIM_STREAM_CHUNK] == NULL)
            n += SIM_STREAM_CHUNK - 1;
        else
            waited_note(d, n);
    }
}

cud_result cuStreamSynchronize(cud_stream stream)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    r = larder_device_stream_sync(d->dev, number);
    if (r == LARDER_OK && !d->has_loose_streams)
        r = larder_sim_complete(d->dev, number);
    if (r == LARDER_OK) {
        waited_note(d, number);
        fake_pools_settle(d);
    }
    return fake_end_sim(__func__, d, r);
}

static bool has_work(const struct fake_device *d, larder_stream number)
{
    const struct sim_stream *s = larder__sim_stream_find(d->sim, number);

    return s != NULL && s->done < s->queued;
}

cud_result cuStreamQuery(cud_stream stream)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end(has_work(d, number) ? CUD_NOT_READY : CUD_SUCCESS);
}

larder_result fake_complete_all(struct fake_device *d)
{
    larder_result r = larder_device_stream_sync(d->dev, 0);

    for (larder_stream n = 0; r == LARDER_OK && n < LARDER_SIM_STREAMS; n++) {
        if (!d->has_loose_streams && has_work(d, n))
            r = larder_sim_complete(d->dev, n);
    }
    return r;
}

cud_result cuCtxSynchronize(void)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    r = fake_complete_all(d);
    if (r == LARDER_OK) {
        fake_waited_all(d);
        fake_pools_settle(d);
    }
    return fake_end_sim(__func__, d, r);
}

static bool overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static bool work_uses(const struct sim_work *w, uint64_t addr, uint64_t bytes)
{
    if (w->kind == SIM_WORK_FILL)
        return overlaps(w->as.fill.dst, w->as.fill.bytes, addr, bytes);
    return w->kind == SIM_WORK_COPY &&
           (overlaps(w->as.copy.dst, w->as.copy.bytes, addr, bytes) ||
            overlaps(w->as.copy.src, w->as.copy.bytes, addr, bytes));
}

bool fake_is_in_use(const struct fake_device *d, cud_addr addr, size_t bytes)
{
    for (larder_stream n = 0; n < LARDER_SIM_STREAMS; n++) {
        const struct sim_stream *s = larder__sim_stream_find(d->sim, n);

        if (s == NULL) {
            n += SIM_STREAM_CHUNK - 1;
            continue;
        }
        for (const struct sim_work *w = s->first; w != NULL; w = w->next) {
            if (w->ticket > d->waited[n] && work_uses(w, addr, bytes))
                return true;
        }
    }
    return false;
}

/* ---- events ---------------------------------------------------------------- */

/* A handle is that of the simulated event, which is never reused, with the
 * number of its device above it. */
enum { EVENT_SHIFT = 56 };

cud_result fake_event_find(const char *symbol, cud_event event,
                           struct fake_device **d, uint64_t *out)
{
    uint64_t value = (uintptr_t)event;

    *d = fake_device_get((int)(value >> EVENT_SHIFT) - 1);
    *out = value & ((UINT64_C(1) << EVENT_SHIFT) - 1);
    if (*d != NULL && larder__sim_slots_find(&(*d)->sim->events, *out) != NULL)
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_INVALID_HANDLE,
                       "there is no event %p, or no longer", event);
}

static cud_result begin_event(const char *symbol, cud_event event,
                              struct fake_device **d, uint64_t *inner)
{
    cud_result answer = fake_begin_bare(symbol);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(symbol, event, d, inner);
    if (answer != CUD_SUCCESS)
        fake_unlock();
    return answer;
}

cud_result cuEventCreate(cud_event *out, unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    uint64_t event = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    if (flags > 7)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "there are no flags 0x%x", flags));
    r = larder__device_event_create(d->dev, &event);
    if (r == LARDER_OK)
        *out = (cud_event)(uintptr_t)(event | (uint64_t)(fake_number(d) + 1)
                                                  << EVENT_SHIFT);
    return fake_end_sim(__func__, d, r);
}

cud_result cuEventDestroy_v2(cud_event event)
{
    struct fake_device *d;
    uint64_t inner;
    cud_result answer = begin_event(__func__, event, &d, &inner);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end_sim(__func__, d,
                        larder__device_event_destroy(d->dev, inner));
}

cud_result cuEventRecord(cud_event event, cud_stream stream)
{
    struct fake_device *d;
    struct fake_device *of;
    larder_stream number;
    uint64_t inner;
    cud_result answer = begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(__func__, event, &of, &inner);
    if (answer == CUD_SUCCESS && of != d)
        answer = fake_broken(__func__, CUD_INVALID_HANDLE,
                             "the event and the stream are of two devices");
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder__device_event_record(d->dev, inner, number));
}

cud_result cuEventRecordWithFlags(cud_event event, cud_stream stream,
                                  unsigned flags)
{
    (void)flags;
    return cuEventRecord(event, stream);
}

cud_result cuEventQuery(cud_event event)
{
    struct fake_device *d;
    uint64_t inner;
    cud_result answer = begin_event(__func__, event, &d, &inner);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end_sim(__func__, d, larder__device_event_query(d->dev, inner));
}

cud_result cuEventSynchronize(cud_event event)
{
    struct fake_device *d;
    uint64_t inner;
    cud_result answer = begin_event(__func__, event, &d, &inner);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end_sim(__func__, d, larder__device_event_sync(d->dev, inner));
}

cud_result cuStreamWaitEvent(cud_stream stream, cud_event event, unsigned flags)
{
    struct fake_device *d;
    struct fake_device *of;
    larder_stream number;
    uint64_t inner;
    cud_result answer = begin_stream(__func__, stream, &d, &number);

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(__func__, event, &of, &inner);
    if (answer == CUD_SUCCESS && of != d)
        answer = CUD_NOT_SUPPORTED;
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder_sim_wait_event(d->dev, number, inner));
}

/* There is no clock on a simulated GPU. */
cud_result cuEventElapsedTime(float *out, cud_event from, cud_event to)
{
    struct fake_device *d;
    uint64_t inner;
    cud_result answer = begin_event(__func__, from, &d, &inner);

    if (answer == CUD_SUCCESS)
        answer = fake_end(fake_event_find(__func__, to, &d, &inner));
    *out = 0;
    return answer;
}

/* ---- captures --------------------------------------------------------------- */

static _Thread_local cud_capture_mode mode; /* 0: global, the initial mode */
static unsigned long long capture_count;    /* number of the last one */

cud_result cuThreadExchangeStreamCaptureMode(cud_capture_mode *inout)
{
    cud_capture_mode old = mode;

    if (*inout < 0 || *inout > CUD_CAPTURE_RELAXED)
        return CUD_INVALID_VALUE;
    mode = *inout;
    *inout = old;
    return CUD_SUCCESS;
}

/* Counts captures of every mode except relaxed, which forbids nothing. */
void fake_capture_note(struct fake_device *d, bool begins, int with)
{
    if (with != CUD_CAPTURE_RELAXED)
        d->captures += begins ? 1 : -1;
}

cud_result fake_capture_guard(const char *symbol, struct fake_device *d)
{
    if (d->captures == 0 || mode == CUD_CAPTURE_RELAXED)
        return CUD_SUCCESS;
    return fake_broken(symbol, CUD_CAPTURE_UNSUPPORTED,
                       "a stream is captured, and this thread's mode is not "
                       "relaxed");
}

cud_result cuStreamBeginCapture_v2(cud_stream stream, cud_capture_mode with)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    if (number == 0)
        return fake_end(fake_broken(__func__, CUD_CAPTURE_UNSUPPORTED,
                                    "the default stream cannot be captured"));
    r = larder_sim_capture_begin(d->dev, number);
    if (r == LARDER_OK) {
        capture_count++;
        fake_capture_note(d, true, with);
    }
    return fake_end_sim(__func__, d, r);
}

cud_result cuStreamBeginCaptureToGraph(cud_stream stream, void *graph,
                                       const void *nodes, const void *edges,
                                       size_t count, cud_capture_mode with)
{
    void *into;
    cud_result answer = fake_begin_handle(__func__, FAKE_GRAPH, graph, &into);

    (void)nodes;
    (void)edges;
    (void)count;
    if (answer != CUD_SUCCESS)
        return answer;
    fake_unlock();
    return cuStreamBeginCapture_v2(stream, with);
}

static larder_result capture_end(struct fake_device *d, larder_stream number)
{
    larder_result r = larder_sim_capture_end(d->dev, number);

    if (r == LARDER_OK && d->captures > 0)
        fake_capture_note(d, false, 0);
    return r;
}

/* That of a stream that is destroyed, if it was captured. */
static void capture_drop(struct fake_device *d, larder_stream number)
{
    int is_captured = 0;

    if (larder_device_stream_is_capturing(d->dev, number, &is_captured) ==
            LARDER_OK &&
        is_captured)
        (void)capture_end(d, number);
}

/* The graph that the program was shown, if it still has it, or a new one. */
static void *captured_take(struct fake_device *d)
{
    void *graph = d->captured;

    d->captured = NULL;
    return fake_handle_find(FAKE_GRAPH, graph) != NULL ? graph
                                                       : fake_graph_make();
}

/* The graph is empty. */
cud_result cuStreamEndCapture(cud_stream stream, void **graph)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    r = capture_end(d, number);
    if (r == LARDER_OK && (*graph = captured_take(d)) == NULL)
        r = LARDER_ERR_NO_HOST_MEMORY;
    return fake_end_sim(__func__, d, r);
}

/* Captured work is not kept: no graph, no dependencies. */
cud_result cuStreamGetCaptureInfo_v3(cud_stream stream, cud_capture_status *out,
                                     unsigned long long *id, void **graph,
                                     const void **nodes, const void **edges,
                                     size_t *count)
{
    struct fake_device *d;
    cud_result answer = cuStreamIsCapturing(stream, out);

    if (answer != CUD_SUCCESS || *out == CUD_CAPTURE_NONE)
        return answer;
    answer = fake_begin(__func__, &d);
    if (answer != CUD_SUCCESS)
        return answer;
    if (d->captured == NULL)
        d->captured = fake_graph_make();
    if (id != NULL)
        *id = capture_count;
    if (graph != NULL)
        *graph = d->captured;
    if (nodes != NULL)
        *nodes = NULL;
    if (edges != NULL)
        *edges = NULL;
    if (count != NULL)
        *count = 0;
    return fake_end(d->captured == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS);
}

cud_result cuStreamUpdateCaptureDependencies_v2(cud_stream stream, void *nodes,
                                                const void *edges, size_t count,
                                                unsigned flags)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);

    (void)nodes;
    (void)edges;
    (void)count;
    (void)flags;
    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

cud_result cuStreamIsCapturing(cud_stream stream, cud_capture_status *out)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = begin_stream(__func__, stream, &d, &number);
    int captured = 0;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    if (number == 0 && d->captures > 0 && !d->has_loose_streams)
        return fake_end(CUD_CAPTURE_IMPLICIT);
    r = larder_device_stream_is_capturing(d->dev, number, &captured);
    *out = captured;
    return fake_end_sim(__func__, d, r);
}
