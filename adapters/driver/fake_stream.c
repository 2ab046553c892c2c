/* fake_stream.c - streams and events. */
#include "driver/fake_state.h"

#include <stdlib.h>

/* ---- streams ------------------------------------------------------------ */

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

bool fake_stream_is_blocking(cud_stream stream)
{
    const struct fake_stream *s = fake_handle_find(FAKE_STREAM, stream);

    return s != NULL && (s->flags & 1) == 0;
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

static void stream_drop(struct fake_stream *gone)
{
    fake_device_get(gone->device)->stream_used[gone->number] = 0;
    fake_handle_drop(&gone->handle);
    free(gone);
}

/* The driver lets the work complete on its own; here it completes now. */
cud_result cuStreamDestroy_v2(cud_stream stream)
{
    struct fake_device *d;
    struct fake_stream *gone;
    cud_result answer = fake_begin_handle(__func__, FAKE_STREAM, stream, &gone);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    d = fake_device_get(gone->device);
    fake_capture_drop(d, gone->number);
    r = larder_sim_complete(d->dev, gone->number);
    stream_drop(gone);
    return fake_end_sim(__func__, d, r);
}

static bool stream_forget(struct fake_handle *h, const struct fake_device *d)
{
    struct fake_stream *s = (struct fake_stream *)h; /* its first member */

    if (s->device != fake_number(d))
        return false;
    stream_drop(s);
    return true;
}

void fake_streams_forget(const struct fake_device *d)
{
    fake_handles_each(FAKE_STREAM, stream_forget, d);
}

cud_result fake_begin_stream(const char *symbol, cud_stream stream,
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
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = 0;
    return fake_end(CUD_SUCCESS);
}

cud_result cuStreamGetFlags(cud_stream stream, unsigned *out)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);
    const struct fake_stream *s;

    if (answer != CUD_SUCCESS)
        return answer;
    s = stream_find(stream);
    *out = s == NULL ? 0 : s->flags;
    return fake_end(fake_capture_guard_member(__func__, d, number));
}

cud_result cuStreamGetId(cud_stream stream, unsigned long long *out)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);

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

/* A stream without a handle belongs to the current device. */
cud_result cuStreamGetDevice(cud_stream stream, cud_device *out)
{
    cud_result answer = fake_begin_bare(__func__);
    const struct fake_stream *s;
    const struct fake_device *d;
    larder_stream number;

    if (answer != CUD_SUCCESS)
        return answer;
    s = stream_find(stream);
    d = s == NULL ? fake_current() : fake_device_get(s->device);
    if (d == NULL)
        return fake_end(fake_no_context(__func__));
    answer = fake_stream_number(__func__, d, stream, &number);
    if (answer == CUD_SUCCESS)
        *out = fake_number(d);
    return fake_end(answer);
}

/* ---- events ------------------------------------------------------------- */

/* A handle is that of the simulated event, which is never reused, with the
 * number of its device above it. */
enum { EVENT_SHIFT = 56 };

/* In addition to its creation flags: created by the program, not by a pool. */
enum { EVENT_IS_THEIRS = 1 << 30 };

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

/* The device of an event that was found. */
static struct sim_event *event_of(const struct fake_device *d, uint64_t inner)
{
    return larder__sim_slots_find(&d->sim->events, inner);
}

unsigned fake_event_flags(const struct fake_device *d, uint64_t inner)
{
    return event_of(d, inner)->note.flags;
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
    if (flags & CUD_EVENT_INTERPROCESS && !(flags & CUD_EVENT_NO_TIMING))
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "an event between processes has no "
                                    "timing: flags 0x%x",
                                    flags));
    r = larder_device_event_create(d->dev, &event);
    if (r == LARDER_OK) {
        event_of(d, event)->note.flags = flags | EVENT_IS_THEIRS;
        *out = (cud_event)(uintptr_t)(event | (uint64_t)(fake_number(d) + 1)
                                                  << EVENT_SHIFT);
    }
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
                        larder_device_event_destroy(d->dev, inner));
}

void fake_events_forget(struct fake_device *d)
{
    struct sim_slots *slots = &d->sim->events;

    for (uint32_t i = 0; i < slots->count; i++) {
        const struct sim_event *event = larder__sim_slots_at(slots, i);

        if (event->slot.next == SIM_SLOT_TAKEN &&
            (event->note.flags & EVENT_IS_THEIRS) != 0)
            (void)larder_device_event_destroy(
                d->dev, larder__sim_slots_handle(slots, event));
    }
}

cud_result cuEventRecord(cud_event event, cud_stream stream)
{
    struct fake_device *d;
    struct fake_device *of;
    larder_stream number;
    uint64_t inner;
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(__func__, event, &of, &inner);
    if (answer == CUD_SUCCESS && of != d)
        answer = fake_broken(__func__, CUD_INVALID_HANDLE,
                             "the event and the stream are of two devices");
    if (answer == CUD_SUCCESS)
        answer = fake_record_note(__func__, d, number, event_of(d, inner));
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder_device_event_record(d->dev, inner, number));
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
    answer = fake_capture_guard_event(__func__, d, event_of(d, inner));
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d, larder_device_event_query(d->dev, inner));
}

cud_result cuEventSynchronize(cud_event event)
{
    struct fake_device *d;
    uint64_t inner;
    cud_result answer = begin_event(__func__, event, &d, &inner);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_capture_guard_event(__func__, d, event_of(d, inner));
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d, larder_device_event_sync(d->dev, inner));
}

cud_result cuStreamWaitEvent(cud_stream stream, cud_event event, unsigned flags)
{
    struct fake_device *d;
    struct fake_device *of;
    larder_stream number;
    uint64_t inner;
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(__func__, event, &of, &inner);
    if (answer == CUD_SUCCESS && of == d)
        answer = fake_wait_note(__func__, d, stream, number, event_of(d, inner),
                                flags);
    /* The other device's work is done first. */
    if (answer == CUD_SUCCESS && of != d)
        return fake_end_sim(__func__, of,
                            larder_device_event_sync(of->dev, inner));
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d,
                        larder_sim_wait_event(d->dev, number, inner));
}

/* By the simulated clock, which serialises all work of a device. */
static cud_result elapsed(const char *symbol, const struct sim_event *from,
                          const struct sim_event *to, float *out)
{
    if (from->ticket == 0 || to->ticket == 0)
        return fake_broken(symbol, CUD_INVALID_HANDLE,
                           "an event was not recorded");
    if (from->note.capture != 0 || to->note.capture != 0)
        return fake_broken(symbol, CUD_INVALID_HANDLE,
                           "an event was recorded in a capture");
    *out = (float)((double)(int64_t)(to->note.ns - from->note.ns) / 1e6);
    return CUD_SUCCESS;
}

cud_result cuEventElapsedTime(float *out, cud_event from, cud_event to)
{
    struct fake_device *d;
    struct fake_device *other;
    uint64_t first;
    uint64_t second;
    cud_result answer = begin_event(__func__, from, &d, &first);

    *out = 0;
    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(__func__, to, &other, &second);
    if (answer == CUD_SUCCESS && other != d)
        answer = fake_broken(__func__, CUD_INVALID_HANDLE,
                             "the events are of two devices");
    if (answer == CUD_SUCCESS)
        answer =
            elapsed(__func__, event_of(d, first), event_of(d, second), out);
    return fake_end(answer);
}
