/* replay_refused.c - makes the request that failed when a snapshot was recorded
 * again, under other settings, on the same card. */
#include "replay/replay_refused.h"

#include <string.h>

#include "replay/replay_session.h"

struct judging {
    const struct trace *trace;
    const struct replay_options *options;
    const struct replay_recorded *recorded;
    struct replay_refused *out;
    struct tool_error *error;
};

static bool probe(struct judging *j, larder_policy policy, const char *conf,
                  bool *fits)
{
    struct replay_options o = *j->options;
    struct replay_work work = {.options = &o};
    struct replay_figures f;
    bool ok;

    o.policy = policy;
    o.conf = conf;
    ok = replay_probe(j->trace, &work, 0, &f, j->error);
    *fits = ok && f.fits;
    return ok;
}

/* Whether the recorded settings fail on an empty device, as they did when
 * recorded. */
static bool check_control(struct judging *j)
{
    bool fits;

    if (!probe(j, j->recorded->policy, j->recorded->conf, &fits))
        return false;
    j->out->by_beginning = fits;
    return true;
}

static bool is_own(const struct judging *j, larder_policy policy,
                   const char *conf)
{
    const char *own = j->options->conf != NULL ? j->options->conf : "";

    return policy == j->options->policy && strcmp(conf, own) == 0;
}

static bool find_cures(struct judging *j)
{
    char conf[REPLAY_CONF_MAX];

    for (size_t i = 0; i < replay_setting_count; i++) {
        const struct replay_setting *s = &replay_settings[i];
        bool fits;

        replay_setting_conf(s, j->options->conf, conf);
        if (is_own(j, s->policy, conf))
            continue;
        if (!probe(j, s->policy, conf, &fits))
            return false;
        j->out->tried++;
        if (fits && j->out->cure_count < REFUSED_CURES)
            j->out->cures[j->out->cure_count++] = *s;
    }
    return true;
}

static bool find_smallest(struct judging *j, const struct replay_result *result)
{
    struct replay_refused *r = j->out;
    struct replay_work work = {.options = j->options};

    r->min_bytes = result->min_capacity_bytes;
    if (r->min_bytes == 0 &&
        !replay_capacity_find(j->trace, &work, &r->min_bytes, j->error))
        return false;
    if (!r->fits && r->min_bytes > r->device_bytes)
        r->short_bytes = r->min_bytes - r->device_bytes;
    else if (!r->fits)
        r->short_bytes = r->card.missing;
    return true;
}

/* The memory that the device has for programs. */
static bool get_device_bytes(struct judging *j, uint64_t *out)
{
    struct replay_work work = {.options = j->options};
    struct replay_session s;
    struct replay_reading now;
    bool ok;

    if (!replay_session_open(j->trace, &work, 0, &s, j->error))
        return false;
    ok = replay_read(&s, &now, j->error);
    replay_session_close(&s);
    if (ok)
        *out = now.props.total_bytes > now.props.context_bytes
                   ? now.props.total_bytes - now.props.context_bytes
                   : 0;
    return ok;
}

bool replay_refused_judge(const struct trace *t,
                          const struct replay_options *options,
                          const struct replay_recorded *recorded,
                          const struct replay_result *result,
                          struct replay_refused *out, struct tool_error *error)
{
    struct judging j = {t, options, recorded, out, error};

    out->fits = result->refused_fits;
    if (!get_device_bytes(&j, &out->device_bytes) ||
        (out->on_card && !check_control(&j)))
        return false;
    if (recorded->is_used && out->on_card)
        out->fits = false; /* as recorded */
    if (!find_smallest(&j, result))
        return false;
    return out->fits || out->by_beginning || find_cures(&j);
}
