/* replay_session.c - a trace, a device and an allocator on it, and the single
 * step that all kinds of passes use. */
#include "replay/replay_session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    if (out->addrs == NULL)
        return tool_fail(error, "out of host memory");
    if (!replay_hints_make(t, options->hints_after, &out->hints, error) ||
        !session_open_device(out, options, capacity, error) ||
        !session_make_allocator(out, options, error)) {
        replay_session_close(out);
        return false;
    }
    return true;
}

void replay_session_close(struct replay_session *s)
{
    larder_destroy(s->allocator);
    larder_device_close(s->device);
    free(s->addrs);
    replay_hints_free(&s->hints);
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
