/* conf_larder.c - Larder's own keys. */
#include <string.h>

#include "core/settings/conf_keys.h"

enum { TRIM_AGE_MAX = 1000000 /* seconds */ };

static larder_result parse_preallocate(struct conf *conf, struct reader *r)
{
    return larder__read_size(r, &conf->preallocate_bytes);
}

static larder_result conf_larder_parse_limit(struct conf *conf,
                                             struct reader *r)
{
    larder_result result = larder__read_size(r, &conf->limit_bytes);

    if (result == LARDER_OK && conf->limit_bytes == 0)
        return larder__reader_fail(r, "a size above 0");
    return result;
}

static larder_result parse_trim_age(struct conf *conf, struct reader *r)
{
    static const char accepted[] =
        "a number of seconds up to 1000000, 0 for never";
    const double ns = 1e9;
    double seconds;
    larder_result result = larder__read_real(r, accepted, &seconds);

    if (result != LARDER_OK)
        return result;
    if (!(seconds >= 0 && seconds <= TRIM_AGE_MAX))
        return larder__reader_fail(r, accepted);
    conf->trim_age_ns = (uint64_t)(seconds * ns);
    return LARDER_OK;
}

static larder_result parse_reclaim_budget(struct conf *conf, struct reader *r)
{
    static const char accepted[] = "a number of milliseconds, or unlimited";
    bool is_number = larder__reader_peek(r) >= '0' && *r->at <= '9';
    larder_result result;

    if (is_number)
        return larder__read_number(r, accepted, &conf->reclaim_budget_ms);
    result = larder__reader_word(r);
    if (result == LARDER_OK && strcmp(r->word, "unlimited") != 0)
        return larder__reader_fail(r, accepted);
    conf->reclaim_budget_ms = CONF_UNLIMITED;
    return result;
}

static larder_result parse_pending_limit(struct conf *conf, struct reader *r)
{
    return larder__read_size(r, &conf->pending_limit_bytes);
}

static larder_result parse_defrag(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "limit", "eager"};

    return larder__read_choice(r, names, "off, limit or eager", &conf->defrag);
}

static larder_result parse_lifetimes(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "hints", NULL};

    return larder__read_choice(r, names, "off or hints", &conf->lifetimes);
}

static larder_result parse_migrate(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "on", NULL};

    larder_result result =
        larder__read_choice(r, names, "off or on", &conf->migrate);

    conf->migrate_is_off = conf->migrate == CONF_MIGRATE_OFF;
    return result;
}

static larder_result parse_debug(struct conf *conf, struct reader *r)
{
    static const char accepted[] = "a level from 0 to 3";
    larder_result result = larder__read_number(r, accepted, &conf->debug);

    if (result == LARDER_OK && conf->debug > CONF_DEBUG_MAX)
        return larder__reader_fail(r, accepted);
    return result;
}

static larder_result parse_handle_mib(struct conf *conf, struct reader *r)
{
    static const char accepted[] = "a number up to 1000000, 0 for the rule";
    larder_result result = larder__read_number(r, accepted, &conf->handle_mib);

    if (result == LARDER_OK && conf->handle_mib > CONF_SIZE_MAX)
        return larder__reader_fail(r, accepted);
    return result;
}

static larder_result parse_small_kib(struct conf *conf, struct reader *r)
{
    static const char accepted[] = "a number from 128 to 1000000";
    larder_result result = larder__read_number(r, accepted, &conf->small_kib);

    if (result == LARDER_OK && (conf->small_kib < CONF_SMALL_KIB_LEAST ||
                                conf->small_kib > CONF_SIZE_MAX))
        return larder__reader_fail(r, accepted);
    return result;
}

static larder_result parse_history(struct conf *conf, struct reader *r)
{
    static const char accepted[] = "a number of events up to 2^32, 0 for none";
    larder_result result =
        larder__read_number(r, accepted, &conf->history_events);

    conf->history_given = true;
    if (result != LARDER_OK || conf->history_events <= UINT64_C(1) << 32)
        return result;
    return larder__reader_fail(r, accepted);
}

static larder_result parse_history_stacks(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "fp", "unwind"};

    conf->history_given = true;
    return larder__read_choice(r, names, "off, fp or unwind",
                               &conf->history_stacks);
}

/* Read up to the next comma, unchanged. */
static larder_result parse_dump_path(struct conf *conf, struct reader *r)
{
    size_t n;

    (void)larder__reader_peek(r);
    n = strcspn(r->at, ",");
    r->word[0] = '\0';
    if (n == 0 || n >= sizeof conf->dump_path)
        return larder__reader_fail(r, "a path of 1 to 255 bytes");
    memcpy(conf->dump_path, r->at, n);
    conf->dump_path[n] = '\0';
    r->at += n;
    return LARDER_OK;
}

const struct conf_key larder__conf_larder_keys[] = {
    {"preallocate", parse_preallocate},
    {"limit", conf_larder_parse_limit},
    {"defrag", parse_defrag},
    {"lifetimes", parse_lifetimes},
    {"migrate", parse_migrate},
    {"debug", parse_debug},
    {"handle_mib", parse_handle_mib},
    {"small_kib", parse_small_kib},
    {"trim_age", parse_trim_age},
    {"reclaim_budget_ms", parse_reclaim_budget},
    {"pending_limit", parse_pending_limit},
    {"history", parse_history},
    {"history_stacks", parse_history_stacks},
    {"dump_on_oom", parse_dump_path},
    {NULL, NULL},
};
