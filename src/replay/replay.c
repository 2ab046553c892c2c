/* replay.c - runs a trace through an allocator and reports what it needed. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "replay/replay_session.h"
#include "replay/replay_spec.h"

/* Estimated number of passes to find the smallest capacity. */
enum { PROBES_GUESSED = 24 };

static void free_one(struct replay_result *r)
{
    free(r->oom_text);
    free(r->summary);
    if (r->snapshot != NULL)
        free(r->snapshot->conf);
    free(r->snapshot);
}

void replay_result_free(struct replay_result *r)
{
    while (r->next != NULL) {
        struct replay_result *next = r->next;

        r->next = next->next;
        free_one(next);
        free(next);
    }
    free_one(r);
    memset(r, 0, sizeof *r);
}

static uint64_t guess_work(const struct trace *t,
                           const struct replay_options *options)
{
    uint64_t passes = 1;

    if (options->repeat > 0)
        passes += 1 + options->repeat;
    if (options->min_capacity)
        passes += PROBES_GUESSED;
    return passes * t->op_count;
}

static bool run_session(struct replay_session *s, struct replay_result *out,
                        struct tool_error *error)
{
    if (!replay_pass_cold(s, out, error))
        return false;
    return s->work->options->repeat == 0 || replay_pass_timed(s, out, error);
}

static bool run_all(const struct trace *t, struct replay_work *work,
                    struct replay_result *out, struct tool_error *error)
{
    struct replay_session s;
    bool ok;

    if (!replay_session_open(t, work, 0, &s, error))
        return false;
    ok = run_session(&s, out, error);
    replay_session_close(&s);
    return ok &&
           (!work->options->min_capacity ||
            replay_capacity_find(t, work, &out->min_capacity_bytes, error));
}

bool replay_run(const struct trace *t, const struct replay_options *options,
                struct replay_result *out, struct tool_error *error)
{
    struct replay_work work = {options, guess_work(t, options), 0};
    bool ok;

    memset(out, 0, sizeof *out);
    out->ns_per_op = -1;
    if (options->progress != NULL)
        options->progress(options->progress_ctx, work.left, 0);
    ok = run_all(t, &work, out, error);
    replay_work_done(&work, work.left);
    if (!ok)
        replay_result_free(out);
    return ok;
}

bool replay_check(const struct replay_options *options,
                  struct tool_error *error)
{
    struct replay_work work = {options, 0, 0};
    struct replay_session s;
    struct trace empty;

    if (options->conf != NULL && larder_conf_check(options->conf) != LARDER_OK)
        return tool_fail(error, "conf '%s': %s", options->conf,
                         larder_last_error());
    if (options->min_capacity && options->device != NULL &&
        !replay_spec_is_sim(options->device))
        return tool_fail(error,
                         "device '%s' has one size only; expected sim:SIZE "
                         "for the smallest capacity",
                         options->device);
    if (options->min_capacity && options->device != NULL &&
        replay_spec_has(options->device, "shared"))
        return tool_fail(error,
                         "device '%s' is shared; the smallest capacity needs "
                         "a device of its own",
                         options->device);
    trace_init(&empty);
    if (!replay_session_open(&empty, &work, 0, &s, error))
        return false;
    replay_session_close(&s);
    return true;
}
