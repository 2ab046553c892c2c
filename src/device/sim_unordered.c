/* sim_unordered.c - finds work on a range of memory that other streams do not
 * wait for.
 *
 * Order comes from the queues and from the waits in them: a stream that waits
 * for a position in another one is ordered after everything before that
 * position, and so on through that stream's waits. */
#include "device/sim_device.h"

/* Streams without work are not visited. */
static void ordered_clear(const struct sim *sim)
{
    for (struct sim_stream *s = sim->busy; s != NULL; s = s->busy_next)
        s->ordered = 0;
}

/* Streams whose waits must be followed are linked by `waiter`, which is unused
 * while no stream runs. */
static void follow(struct sim_stream **todo, struct sim_stream *s,
                   uint64_t ticket)
{
    if (s->ordered >= ticket)
        return;
    s->ordered = ticket;
    for (const struct sim_stream *t = *todo; t != NULL; t = t->waiter) {
        if (t == s)
            return;
    }
    s->waiter = *todo;
    *todo = s;
}

/* Mark everything queued on these streams, and all that it waits for, as
 * ordered. */
static void ordered_mark(struct sim *sim, const larder_stream *streams,
                         size_t count)
{
    struct sim_stream *todo = NULL;
    struct sim_stream *s;

    for (size_t i = 0; i < count; i++) {
        if (larder__sim_stream_check(streams[i]) == LARDER_OK &&
            (s = larder__sim_stream_find(sim, streams[i])) != NULL)
            follow(&todo, s, s->queued);
    }
    while ((s = todo) != NULL) {
        todo = s->waiter;
        for (const struct sim_work *w = s->first;
             w != NULL && w->ticket <= s->ordered; w = w->next) {
            if (w->kind == SIM_WORK_WAIT)
                follow(&todo, w->as.wait.stream, w->as.wait.ticket);
        }
    }
}

static bool uses_later(const struct sim_stream *s, larder_addr addr,
                       uint64_t bytes)
{
    for (const struct sim_work *w = s->first; w != NULL; w = w->next) {
        if (w->ticket > s->ordered && larder__sim_work_touches(w, addr, bytes))
            return true;
    }
    return false;
}

larder_result larder__sim_unordered_use(struct sim *sim, larder_addr addr,
                                        uint64_t bytes,
                                        const larder_stream *streams,
                                        size_t count, larder_stream *out)
{
    const struct sim_stream *user = NULL;

    if (sim->busy == NULL)
        return LARDER_OK;
    ordered_clear(sim);
    ordered_mark(sim, streams, count);
    for (const struct sim_stream *s = sim->busy; s != NULL; s = s->busy_next) {
        if ((user == NULL || s->number < user->number) &&
            uses_later(s, addr, bytes))
            user = s;
    }
    if (user == NULL)
        return LARDER_OK;
    *out = user->number;
    return LARDER_ERR_NOT_READY;
}
