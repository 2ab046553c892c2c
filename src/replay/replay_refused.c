/* replay_refused.c - makes the request that failed when a snapshot was recorded
 * again, under other settings, on the same card. */
#include "replay/replay_refused.h"

#include <string.h>

#include "replay/replay_session.h"

struct judging {
    const struct trace *trace;
    const struct replay_options *options;
    struct replay_refused *out;
    struct arena arena; /* to fail; nothing is taken */
};

static bool fits_under(struct judging *j, larder_policy policy,
                       const char *conf)
{
    struct replay_options o = *j->options;
    struct replay_work work = {.options = &o};
    struct replay_figures f;

    o.policy = policy;
    o.conf = conf;
    arena_check(&j->arena,
                replay_probe(j->trace, &work, 0, &f, j->arena.error));
    return f.fits;
}

static bool is_own(const struct judging *j, larder_policy policy,
                   const char *conf)
{
    const char *own = j->options->conf != NULL ? j->options->conf : "";

    return policy == j->options->policy && strcmp(conf, own) == 0;
}

static void find_cures(struct judging *j)
{
    char conf[REPLAY_CONF_MAX];

    for (size_t i = 0; i < replay_setting_count; i++) {
        const struct replay_setting *s = &replay_settings[i];

        replay_setting_conf(s, j->options->conf, conf);
        if (is_own(j, s->policy, conf))
            continue;
        j->out->tried++;
        if (fits_under(j, s->policy, conf) &&
            j->out->cure_count < REFUSED_CURES)
            j->out->cures[j->out->cure_count++] = *s;
    }
}

static void find_smallest(struct judging *j, const struct replay_result *result)
{
    struct replay_refused *r = j->out;
    struct replay_work work = {.options = j->options};

    r->min_bytes = result->min_capacity_bytes;
    if (r->min_bytes == 0)
        arena_check(&j->arena,
                    replay_capacity_find(j->trace, &work, &r->min_bytes,
                                         j->arena.error));
    if (!r->fits && r->min_bytes > r->device_bytes)
        r->short_bytes = r->min_bytes - r->device_bytes;
    else if (!r->fits)
        r->short_bytes = r->card.missing;
}

/* The memory that the device has for programs. */
static uint64_t device_bytes(struct judging *j)
{
    struct replay_work work = {.options = j->options};
    struct replay_session s;
    struct replay_reading now;
    bool ok;

    arena_check(&j->arena,
                replay_session_open(j->trace, &work, 0, &s, j->arena.error));
    ok = replay_read(&s, &now, j->arena.error);
    replay_session_close(&s);
    arena_check(&j->arena, ok);
    return now.props.total_bytes > now.props.context_bytes
               ? now.props.total_bytes - now.props.context_bytes
               : 0;
}

bool replay_refused_judge(const struct trace *t,
                          const struct replay_options *options,
                          const struct replay_recorded *recorded,
                          const struct replay_result *result,
                          struct replay_refused *out, struct tool_error *error)
{
    struct judging j = {t, options, out, {.error = error}};

    if (setjmp(j.arena.failed) != 0)
        return arena_end(&j.arena, false);
    out->fits = result->refused_fits;
    out->device_bytes = device_bytes(&j);
    /* Whether the recorded settings fail on an empty device, too. */
    if (out->on_card)
        out->by_beginning = fits_under(&j, recorded->policy, recorded->conf);
    if (recorded->is_used && out->on_card)
        out->fits = false; /* as recorded */
    find_smallest(&j, result);
    if (!out->fits && !out->by_beginning)
        find_cures(&j);
    return arena_end(&j.arena, true);
}
