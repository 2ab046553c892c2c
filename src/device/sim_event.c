/* sim_event.c - events: positions in a stream's queue. */
#include "device/sim_device.h"

#include "device/sim_fail.h"

static larder_result event_get(const struct sim *sim, uint64_t handle,
                               struct sim_event **out)
{
    *out = larder__sim_slots_find(&sim->events, handle);
    if (*out != NULL)
        return LARDER_OK;
    return larder__sim_fail(LARDER_ERR_DEVICE, "there is no such event");
}

/* The stream of a recorded event that has not completed.  NULL: it has. */
static struct sim_stream *event_awaits(const struct sim *sim,
                                       const struct sim_event *event)
{
    struct sim_stream *s;

    if (event->ticket == 0)
        return NULL;
    s = larder__sim_stream_find(sim, event->stream);
    return s->done < event->ticket ? s : NULL;
}

larder_result larder__sim_event_create(struct sim *sim, uint64_t *out)
{
    struct sim_event *event = larder__sim_slots_take(&sim->events);

    if (event == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    *out = larder__sim_slots_handle(&sim->events, event);
    return LARDER_OK;
}

larder_result larder__sim_event_destroy(struct sim *sim, uint64_t handle)
{
    struct sim_event *event;
    larder_result r = event_get(sim, handle, &event);

    if (r == LARDER_OK)
        larder__sim_slots_release(&sim->events, event);
    return r;
}

/* Recording takes a ticket, as work does: with manual events it completes when
 * the stream is told to run that far. */
larder_result larder__sim_event_record(struct sim *sim, uint64_t handle,
                                       larder_stream stream)
{
    struct sim_event *event;
    struct sim_stream *s;
    larder_result r;

    if ((r = event_get(sim, handle, &event)) != LARDER_OK ||
        (r = larder__sim_stream_get(sim, stream, &s)) != LARDER_OK)
        return r;
    event->stream = stream;
    event->ticket = ++s->queued;
    if (!sim->spec.is_manual)
        s->done = s->queued;
    return LARDER_OK;
}

larder_result larder__sim_event_query(struct sim *sim, uint64_t handle)
{
    struct sim_event *event;
    larder_result r;

    if ((r = larder__sim_capture_forbids(sim)) != LARDER_OK ||
        (r = event_get(sim, handle, &event)) != LARDER_OK)
        return r;
    return event_awaits(sim, event) != NULL ? LARDER_ERR_NOT_READY : LARDER_OK;
}

larder_result larder__sim_event_sync(struct sim *sim, uint64_t handle)
{
    struct sim_event *event;
    struct sim_stream *s;
    larder_result r;

    if ((r = larder__sim_capture_forbids(sim)) != LARDER_OK ||
        (r = event_get(sim, handle, &event)) != LARDER_OK)
        return r;
    s = event_awaits(sim, event);
    return s != NULL ? larder__sim_stream_run(sim, s, event->ticket)
                     : LARDER_OK;
}

larder_result larder__sim_event_wait(struct sim *sim, larder_stream stream,
                                     uint64_t handle)
{
    struct sim_work work = {.kind = SIM_WORK_WAIT};
    struct sim_event *event;
    larder_result r;

    if ((r = larder__sim_stream_check(stream)) != LARDER_OK ||
        (r = event_get(sim, handle, &event)) != LARDER_OK)
        return r;
    work.as.wait.stream = event_awaits(sim, event);
    work.as.wait.ticket = event->ticket;
    if (work.as.wait.stream == NULL)
        return LARDER_OK;
    return larder__sim_stream_queue(sim, stream, &work);
}
