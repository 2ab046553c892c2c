/* fake_wait.c - waiting for work, and what was not waited for.  What reads a stream
 * has the simulated GPU's lock (fake_state.h). */
#include "driver/fake_state.h"

/* Work queued so far has been waited for, whether or not a manual stream has
 * run it. */
static void waited_note(struct fake_device *d, larder_stream number)
{
    const struct sim_stream *s;

    sim_lock(d->sim);
    s = larder__sim_stream_find(d->sim, number);
    if (s != NULL)
        d->waited[number] = s->queued;
    sim_unlock(d->sim);
}

static void waited_all(struct fake_device *d)
{
    const struct sim_stream *s;
    larder_stream at = 0;

    sim_lock(d->sim);
    while ((s = larder__sim_stream_next(d->sim, &at)) != NULL)
        d->waited[at - 1] = s->queued;
    sim_unlock(d->sim);
}

cud_result cuStreamSynchronize(cud_stream stream)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_capture_guard_stream(__func__, d, number);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
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
    const struct sim_stream *s;
    bool is_so;

    sim_lock(d->sim);
    s = larder__sim_stream_find(d->sim, number);
    is_so = s != NULL && s->done < s->queued;
    sim_unlock(d->sim);
    return is_so;
}

cud_result cuStreamQuery(cud_stream stream)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin_stream(__func__, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_capture_guard_stream(__func__, d, number);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end(has_work(d, number) ? CUD_NOT_READY : CUD_SUCCESS);
}

/* The next stream with work from number *at on; *at becomes the number after
 * it.  False: there are no more. */
static bool next_with_work(const struct fake_device *d, larder_stream *at)
{
    const struct sim_stream *s;

    sim_lock(d->sim);
    do
        s = larder__sim_stream_next(d->sim, at);
    while (s != NULL && s->done >= s->queued);
    sim_unlock(d->sim);
    return s != NULL;
}

larder_result fake_complete_all(struct fake_device *d)
{
    larder_result r = larder_device_stream_sync(d->dev, 0);
    larder_stream at = 0;

    while (r == LARDER_OK && !d->has_loose_streams && next_with_work(d, &at))
        r = larder_sim_complete(d->dev, at - 1);
    return r;
}

larder_result fake_synchronize(struct fake_device *d)
{
    larder_result r = fake_complete_all(d);

    if (r == LARDER_OK) {
        waited_all(d);
        fake_pools_settle(d);
    }
    return r;
}

cud_result cuCtxSynchronize(void)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_capture_guard_device(__func__, d);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    return fake_end_sim(__func__, d, fake_synchronize(d));
}

/* Whether work of the stream beyond the ticket uses the range. */
static bool stream_uses(const struct sim_stream *s, uint64_t waited,
                        cud_addr addr, size_t bytes)
{
    for (const struct sim_work *w = s->first; w != NULL; w = w->next) {
        if (w->ticket > waited && larder__sim_work_touches(w, addr, bytes))
            return true;
    }
    return false;
}

bool fake_is_in_use(const struct fake_device *d, cud_addr addr, size_t bytes)
{
    const struct sim_stream *s;
    larder_stream at = 0;
    bool is_so = false;

    sim_lock(d->sim);
    while (!is_so && (s = larder__sim_stream_next(d->sim, &at)) != NULL)
        is_so = stream_uses(s, d->waited[at - 1], addr, bytes);
    sim_unlock(d->sim);
    return is_so;
}
