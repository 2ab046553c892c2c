/* sim_stream.c - streams as queues, run in order. */
#include "device/sim_device.h"

#include "base/fail.h"
#include "base/host.h"
#include "device/sim_fail.h"

larder_result larder__sim_stream_check(larder_stream stream)
{
    if (stream < LARDER_SIM_STREAMS)
        return LARDER_OK;
    return larder__sim_fail(LARDER_ERR_UNKNOWN_STREAM,
                            "streams are the numbers below %d",
                            LARDER_SIM_STREAMS);
}

struct sim_stream *larder__sim_stream_find(const struct sim *sim,
                                           larder_stream stream)
{
    struct sim_stream *chunk = sim->streams[stream / SIM_STREAM_CHUNK];

    return chunk != NULL ? &chunk[stream % SIM_STREAM_CHUNK] : NULL;
}

larder_result larder__sim_stream_get(struct sim *sim, larder_stream stream,
                                     struct sim_stream **out)
{
    struct sim_stream **chunk;
    larder_result r = larder__sim_stream_check(stream);

    if (r != LARDER_OK)
        return r;
    chunk = &sim->streams[stream / SIM_STREAM_CHUNK];
    if (*chunk == NULL)
        *chunk = larder__host_alloc(SIM_STREAM_CHUNK, sizeof **chunk);
    if (*chunk == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    *out = &(*chunk)[stream % SIM_STREAM_CHUNK];
    (*out)->number = stream;
    return LARDER_OK;
}

/* Add a stream to the list of those with work, or remove it. */
static void busy_add(struct sim *sim, struct sim_stream *s)
{
    s->busy_next = sim->busy;
    s->busy_link = &sim->busy;
    if (s->busy_next != NULL)
        s->busy_next->busy_link = &s->busy_next;
    sim->busy = s;
}

static void busy_remove(struct sim_stream *s)
{
    *s->busy_link = s->busy_next;
    if (s->busy_next != NULL)
        s->busy_next->busy_link = s->busy_link;
}

static larder_result stream_append(struct sim *sim, struct sim_stream *s,
                                   const struct sim_work *work)
{
    struct sim_work *w = larder__host_alloc(1, sizeof *w);

    if (w == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    *w = *work;
    w->next = NULL;
    w->ticket = ++s->queued;
    larder__sim_work_queued(sim, w);
    if (s->first == NULL) {
        s->first = w;
        busy_add(sim, s);
    } else {
        s->last->next = w;
    }
    s->last = w;
    return LARDER_OK;
}

larder_result larder__sim_stream_queue(struct sim *sim, larder_stream stream,
                                       const struct sim_work *work)
{
    struct sim_stream *s;
    larder_result r;

    if ((r = larder__sim_stream_get(sim, stream, &s)) != LARDER_OK ||
        (r = larder__sim_work_check(sim, work)) != LARDER_OK)
        return r;
    if (sim->spec.is_manual)
        return stream_append(sim, s, work);
    larder__sim_work_do(sim, work);
    return LARDER_OK;
}

/* Remove the first work item and run it. */
static larder_result stream_step(const struct sim *sim, struct sim_stream *s)
{
    struct sim_work *w = s->first;
    larder_result r = larder__sim_work_turn(sim, w);

    s->first = w->next;
    if (s->first == NULL)
        busy_remove(s);
    larder__host_free(w);
    return r;
}

/* The stream that must run before the first item of s can.  NULL: none. */
static struct sim_stream *stream_awaits(struct sim_stream *s)
{
    const struct sim_work *w = s->first;
    struct sim_stream *other = w->as.wait.stream;

    s->done = w->ticket - 1; /* everything before it was records */
    if (w->kind != SIM_WORK_WAIT || other->done >= w->as.wait.ticket)
        return NULL;
    return other;
}

/* Streams that wait for each other form a chain and never a cycle, because what
 * is waited for was recorded before the wait was queued.  So each stream is in
 * the chain once, and links within the streams are enough. */
larder_result larder__sim_stream_run(struct sim *sim, struct sim_stream *s,
                                     uint64_t ticket)
{
    larder_result r = LARDER_OK;

    s->target = ticket;
    s->waiter = NULL;
    while (s != NULL) {
        struct sim_stream *other;

        if (s->first == NULL || s->first->ticket > s->target) {
            if (s->done < s->target)
                s->done = s->target;
            s = s->waiter;
        } else if ((other = stream_awaits(s)) != NULL) {
            other->target = s->first->as.wait.ticket;
            other->waiter = s;
            s = other;
        } else {
            fail_keep_first(&r, stream_step(sim, s));
        }
    }
    return r;
}

/* Immediate work is already done; manual work completes when told to. */
larder_result larder__sim_stream_sync(struct sim *sim, larder_stream stream)
{
    larder_result r = larder__sim_capture_forbids(sim);
    struct sim_stream *s;

    if (r == LARDER_OK)
        r = larder__sim_stream_check(stream);
    if (r != LARDER_OK || !sim->spec.frees_wait)
        return r;
    s = larder__sim_stream_find(sim, stream);
    return s == NULL ? LARDER_OK : larder__sim_stream_run(sim, s, s->queued);
}

struct sim_stream *larder__sim_stream_next(const struct sim *sim,
                                           larder_stream *at)
{
    while (*at < LARDER_SIM_STREAMS) {
        struct sim_stream *s = larder__sim_stream_find(sim, *at);

        if (s != NULL) {
            (*at)++;
            return s;
        }
        *at += SIM_STREAM_CHUNK - *at % SIM_STREAM_CHUNK;
    }
    return NULL;
}

larder_result larder__sim_streams_wait(struct sim *sim)
{
    larder_result r = LARDER_OK;
    larder_stream at = 0;
    struct sim_stream *s;

    if (!sim->spec.frees_wait)
        return LARDER_OK;
    while ((s = larder__sim_stream_next(sim, &at)) != NULL)
        fail_keep_first(&r, larder__sim_stream_run(sim, s, s->queued));
    return r;
}

void larder__sim_streams_close(struct sim *sim)
{
    for (struct sim_stream *s = sim->busy; s != NULL; s = s->busy_next) {
        while (s->first != NULL) {
            struct sim_work *w = s->first;

            s->first = w->next;
            larder__host_free(w);
        }
    }
    for (int i = 0; i < SIM_STREAM_CHUNKS; i++)
        larder__host_free(sim->streams[i]);
}

/* ---- captures, and the calls that they forbid ----------------------------- */

larder_result larder__sim_capture_forbids(const struct sim *sim)
{
    if (sim->captured == 0)
        return LARDER_OK;
    return larder__sim_fail_plain(LARDER_ERR_CAPTURING);
}

larder_result larder__sim_capture_set(struct sim *sim, larder_stream stream,
                                      bool begin)
{
    struct sim_stream *s;
    larder_result r = larder__sim_stream_get(sim, stream, &s);

    if (r != LARDER_OK)
        return r;
    if (s->is_captured == begin)
        return larder__sim_fail(LARDER_ERR_INVALID,
                                begin ? "the stream is captured already"
                                      : "the stream is not captured");
    s->is_captured = begin;
    sim->captured += begin ? 1 : -1;
    return LARDER_OK;
}
