/* replay_snapshot.c - replays snapshots: each device with events becomes a
 * trace of its own, and the result is compared with what was recorded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"
#include "snapshot/snapshot_conf.h"

/* ---- the recorded settings ---------------------------------------------- */

char *replay_recorded_conf(const struct snapshot *s, const char *release,
                           const char *instead, struct tool_error *error)
{
    char *conf = snapshot_conf(s, release);

    if (conf == NULL) {
        tool_set_error(error, "out of host memory");
        return NULL;
    }
    if (larder_conf_check(conf) == LARDER_OK)
        return conf;
    free(conf);
    if (instead != NULL)
        return strdup(instead);
    tool_set_error(error,
                   "recorded under settings that cannot be replayed (--conf "
                   "gives others): %s",
                   larder_last_error());
    return NULL;
}

/* ---- one device --------------------------------------------------------- */

struct device_run {
    const struct snapshot *snapshot;
    size_t device;
    const struct replay_options *options; /* as they are asked for */
    struct replay_options chosen;         /* and as they are */
    char card[64];                        /* the device chosen, if one is */
    struct replay_result *out;
    struct tool_error *error;
};

static bool wants_recorded(const struct replay_options *options)
{
    return options->policy == LARDER_POLICY_DEFAULT && options->conf == NULL;
}

static bool replay_snapshot_compare(struct device_run *run,
                                    const struct story *story,
                                    struct replay_snapshot *extra)
{
    return !extra->recorded_settings ||
           recorded_compare(story, extra->conf, &extra->recorded, run->error);
}

static void choose_settings(struct device_run *run,
                            const struct replay_snapshot *extra)
{
    run->chosen = *run->options;
    if (extra->recorded_settings) {
        run->chosen.conf = extra->conf;
        run->chosen.policy = snapshot_policy(run->snapshot);
    }
    if (!extra->refused.on_card)
        return;
    snprintf(run->card, sizeof run->card, "sim:%" PRIu64,
             extra->refused.card.device_bytes);
    run->chosen.device = run->card;
}

/* Judge the failed request under its recorded settings. */
static bool judge(struct device_run *run, const struct trace *t,
                  struct replay_snapshot *extra)
{
    const struct replay_recorded recorded = {
        snapshot_policy(run->snapshot), extra->conf, extra->recorded_settings};

    return !extra->refused.card.found ||
           replay_refused_judge(t, &run->chosen, &recorded, run->out,
                                &extra->refused, run->error);
}

static bool run_trace(struct device_run *run, const struct trace *t,
                      struct replay_snapshot *extra)
{
    extra->recorded_settings = wants_recorded(run->options);
    choose_settings(run, extra);
    return replay_run(t, &run->chosen, run->out, run->error) &&
           judge(run, t, extra);
}

static bool run_story(struct device_run *run, const struct story *story,
                      struct replay_snapshot *extra)
{
    struct trace t;
    bool ok;

    extra->device = run->device;
    extra->conf = replay_recorded_conf(run->snapshot, run->options->release,
                                       run->options->conf, run->error);
    if (extra->conf == NULL ||
        !recorded_card_find(story->lifetimes, extra->conf, &extra->refused.card,
                            run->error) ||
        !snap_trace_make(story, &t, &extra->notes, run->error))
        return false;
    extra->refused.on_card =
        extra->refused.card.found && run->options->device == NULL;
    ok = run_trace(run, &t, extra);
    trace_free(&t);
    if (ok)
        run->out->snapshot = extra;
    return ok && replay_snapshot_compare(run, story, extra);
}

/* The result is empty before, and on failure after. */
static bool run_device(struct device_run *run)
{
    struct replay_snapshot *extra = calloc(1, sizeof *extra);
    struct story story;
    bool ok;

    if (extra == NULL)
        return tool_fail(run->error, "out of host memory");
    ok = story_make(run->snapshot, run->device, &story, run->error);
    if (ok) {
        ok = run_story(run, &story, extra);
        story_free(&story);
    }
    if (run->out->snapshot != extra) { /* it failed before the result took it */
        free(extra->conf);
        free(extra);
    }
    if (!ok)
        replay_result_free(run->out);
    return ok;
}

/* ---- all devices -------------------------------------------------------- */

static size_t count_devices(const struct snapshot *s)
{
    size_t count = 0;

    for (size_t i = 0; i < s->device_count; i++)
        count += snapshot_has_history(s, i);
    return count;
}

/* *last points to where the next result is stored. */
static bool add_result(struct device_run *run, struct replay_result **last)
{
    if (run->out != NULL) {
        struct replay_result *made = calloc(1, sizeof *made);

        if (made == NULL)
            return tool_fail(run->error, "out of host memory");
        (*last)->next = made;
        *last = made;
    }
    run->out = *last;
    return run_device(run);
}

static bool run_devices(const struct snapshot *s,
                        const struct replay_options *options,
                        struct replay_result *out, struct tool_error *error)
{
    struct device_run run = {.snapshot = s, .options = options, .error = error};
    struct replay_result *last = out;
    bool ok = true;

    for (size_t i = 0; ok && i < s->device_count; i++) {
        run.device = i;
        ok = !snapshot_has_history(s, i) || add_result(&run, &last);
    }
    if (!ok)
        replay_result_free(out);
    return ok;
}

bool replay_run_snapshot(const struct replay_input *in,
                         const struct replay_options *options,
                         struct replay_result *out, struct tool_error *error)
{
    struct tool_error why;
    struct snapshot *s;
    size_t count;
    bool ok;

    memset(out, 0, sizeof *out);
    if (!snapshot_read_source(in->source, in->path, NULL, &s, error))
        return false;
    count = count_devices(s);
    if (count == 0)
        ok = tool_fail(
            &why,
            "no history: neither allocations nor frees were "
            "recorded, and there is nothing to replay; " REPLAY_HOW_TO_RECORD);
    else if (count > 1 &&
             (options->placements != NULL || options->stats != NULL))
        ok = tool_fail(&why,
                       "has %zu devices with events, but placements and "
                       "statistics are of one; larder convert --device makes "
                       "a trace of one",
                       count);
    else
        ok = run_devices(s, options, out, &why);
    snapshot_free(s);
    return ok || tool_fail(error, "%s: %s", in->path, why.text);
}
