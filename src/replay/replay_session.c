/* replay_session.c - a trace, a device and an allocator on it, and the single
 * step that all kinds of passes use. */
#include "replay/replay_session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <larder/hint.h>

#include "replay/replay_spec.h"

static const char *device_of(const struct replay_options *options)
{
    return options->device != NULL ? options->device : REPLAY_DEVICE_DEFAULT;
}

static bool session_open_device(struct replay_session *s,
                                const struct replay_options *options,
                                uint64_t capacity, struct tool_error *error)
{
    char *spec = replay_spec_make(device_of(options), s->trace, capacity);
    larder_addr second;
    larder_result r;

    if (spec == NULL)
        return tool_fail(error, "out of host memory");
    r = larder_device_open(spec, 0, &s->device);
    if (r != LARDER_OK)
        tool_set_error(error, "%s", larder_last_error());
    free(spec);
    if (r != LARDER_OK)
        return false;
    /* Other devices have no regions: their addresses are printed unchanged. */
    if (larder_sim_regions(s->device, &s->base, &second) != LARDER_OK)
        s->base = 0;
    return true;
}

/* The configuration, preceded by the release if one is given. */
static char *replay_conf(const struct replay_options *options)
{
    const char *given = options->conf != NULL ? options->conf : "";
    size_t room = strlen(given) + 32;
    char *conf = malloc(room);

    if (conf != NULL && options->release != NULL)
        snprintf(conf, room, "pytorch:%.15s,%s", options->release, given);
    else if (conf != NULL)
        snprintf(conf, room, "%s", given);
    return conf;
}

static bool session_make_allocator(struct replay_session *s,
                                   const struct replay_options *options,
                                   struct tool_error *error)
{
    larder_options opt;
    char *conf = replay_conf(options);
    larder_result r;

    if (conf == NULL)
        return tool_fail(error, "out of host memory");
    larder_options_init(&opt);
    opt.policy =
        options->release != NULL ? LARDER_POLICY_PYTORCH : options->policy;
    opt.conf = conf;
    r = larder_create(s->device, &opt, &s->allocator);
    free(conf);
    return r == LARDER_OK || tool_fail(error, "%s", larder_last_error());
}

/* ---- hints, as a program that knew all lifetimes would give them ---------- */

/* Mark allocations that are followed by enough others before they are freed or
 * the trace ends. */
static void mark_outlived(struct replay_session *s, uint64_t after,
                          uint64_t *born)
{
    const struct trace *t = s->trace;
    uint64_t now = 0;

    for (size_t i = 0; i < t->op_count; i++) {
        const struct trace_op *op = &t->ops[i];

        if (op->kind == TRACE_ALLOC)
            born[op->id] = ++now;
        else if (op->kind == TRACE_FREE && born[op->id] != 0) {
            s->is_long[op->id] = now - born[op->id] >= after;
            born[op->id] = 0;
        }
    }
    for (size_t id = 0; id < t->id_count; id++) {
        if (born[id] != 0)
            s->is_long[id] = now - born[id] >= after;
    }
}

bool replay_make_hints(struct replay_session *s, uint64_t after)
{
    size_t count = s->trace->id_count + 1;
    uint64_t *born;

    if (after == 0)
        return true;
    born = calloc(count, sizeof *born);
    s->is_long = calloc(count, sizeof *s->is_long);
    if (born != NULL && s->is_long != NULL)
        mark_outlived(s, after, born);
    free(born);
    return born != NULL && s->is_long != NULL;
}

larder_result replay_alloc_hinted(struct replay_session *s,
                                  const struct trace_op *op)
{
    larder_hint hint =
        s->is_long[op->id] ? LARDER_HINT_LONG : LARDER_HINT_SHORT;

    return larder_alloc_hinted(s->allocator, op->bytes, op->stream, hint,
                               &s->addrs[op->id]);
}

/* ---- the session --------------------------------------------------------- */

bool replay_session_open(const struct trace *t, struct replay_work *work,
                         uint64_t capacity, struct replay_session *out,
                         struct tool_error *error)
{
    const struct replay_options *options = work->options;

    memset(out, 0, sizeof *out);
    out->trace = t;
    out->work = work;
    /* One entry more than there are IDs: operations without an ID use entry
     * 0. */
    out->addrs = calloc(t->id_count + 1, sizeof *out->addrs);
    if (out->addrs == NULL || !replay_make_hints(out, options->hints_after))
        tool_set_error(error, "out of host memory");
    else if (session_open_device(out, options, capacity, error) &&
             session_make_allocator(out, options, error))
        return true;
    replay_session_close(out);
    return false;
}

void replay_session_close(struct replay_session *s)
{
    larder_destroy(s->allocator);
    larder_device_close(s->device);
    free(s->addrs);
    free(s->is_long);
    memset(s, 0, sizeof *s);
}

larder_result replay_alloc_in_pool(struct replay_session *s,
                                   const struct trace_op *op)
{
    larder_pool_id id = {0, op->pool};
    larder_result r = larder_pool_begin(s->allocator, id, NULL, NULL);

    if (r != LARDER_OK)
        return r;
    r = larder_alloc(s->allocator, op->bytes, op->stream, &s->addrs[op->id]);
    (void)larder_pool_end(s->allocator, id); /* begun above */
    return r;
}

bool replay_op_fail(const struct replay_session *s, size_t index,
                    struct tool_error *error)
{
    uint64_t ops = 0;

    for (size_t i = 0; i <= index; i++)
        ops += s->trace->ops[i].kind != TRACE_MARK;
    return tool_fail(error, "operation %" PRIu64 ": %s", ops,
                     larder_last_error());
}

void replay_work_done(struct replay_work *work, uint64_t ops)
{
    const struct replay_options *o = work->options;

    if (ops > work->left)
        ops = work->left;
    work->left -= ops;
    if (o->progress != NULL && ops != 0)
        o->progress(o->progress_ctx, 0, ops);
}

/* ---- what was done so far ------------------------------------------------- */

/* Calls for memory, and waits. */
static uint64_t count_calls(const larder_device_counters *n)
{
    static const larder_call memory_or_wait[] = {
        LARDER_CALL_mem_alloc,
        LARDER_CALL_mem_free,
        LARDER_CALL_address_reserve,
        LARDER_CALL_address_free,
        LARDER_CALL_page_create,
        LARDER_CALL_page_release,
        LARDER_CALL_map,
        LARDER_CALL_unmap,
        LARDER_CALL_set_access,
        LARDER_CALL_event_sync,
        LARDER_CALL_stream_sync,
    };
    uint64_t sum = 0;

    /* Failed calls were made too, and are part of the driver's time. */
    for (size_t i = 0; i < sizeof memory_or_wait / sizeof *memory_or_wait; i++)
        sum += n->calls[memory_or_wait[i]] + n->failed[memory_or_wait[i]];
    return sum;
}

bool replay_read(const struct replay_session *s, struct replay_reading *out,
                 struct tool_error *error)
{
    out->counters = (larder_device_counters){.size = sizeof out->counters};
    out->props = (larder_device_props){.size = sizeof out->props};
    larder_stats_init(&out->stats);
    if (larder_stats_get(s->allocator, &out->stats) != LARDER_OK ||
        larder_device_get_counters(s->device, &out->counters) != LARDER_OK ||
        larder_device_get_props(s->device, &out->props) != LARDER_OK)
        return tool_fail(error, "%s", larder_last_error());
    out->driver_calls = count_calls(&out->counters);
    return true;
}
