/* conf_larder.c - Larder's own keys. */
#include <string.h>

#include "core/settings/conf_keys.h"

enum { TRIM_AGE_MAX = 1000000 /* seconds */ };

static larder_result parse_trim_age(struct conf *conf, struct reader *r)
{
    static const char accepted[] =
        "a number of seconds up to 1000000, 0 for never";
    const double ns = 1e9;
    double seconds;
    larder_result result = larder__read_real(r, true, accepted, &seconds);

    if (result != LARDER_OK)
        return result;
    if (!(seconds >= 0 && seconds <= TRIM_AGE_MAX))
        return larder__reader_fail(r, accepted);
    conf->trim_age_ns = (uint64_t)(seconds * ns);
    return LARDER_OK;
}

static larder_result parse_reclaim_budget(struct conf *conf, struct reader *r)
{
    larder_result result;

    if (larder__reader_peek(r) >= '0' && *r->at <= '9')
        return larder__parse_number(conf, r);
    result = larder__reader_word(r);
    if (result == LARDER_OK && strcmp(r->word, "unlimited") != 0)
        return larder__reader_fail(r, r->row->accepted);
    conf->reclaim_budget_ms = CONF_UNLIMITED;
    return result;
}

static larder_result parse_migrate(struct conf *conf, struct reader *r)
{
    larder_result result = larder__parse_choice(conf, r);

    conf->migrate_is_off = conf->migrate == CONF_MIGRATE_OFF;
    return result;
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

#define HISTORY_MOST (UINT64_C(1) << 32)

const struct conf_key larder__conf_larder_keys[] = {
    {"preallocate", .parse = larder__parse_size,
     .at = CONF_AT(preallocate_bytes)},
    {"limit", .parse = larder__parse_size, .at = CONF_AT(limit_bytes),
     .least = 1, .accepted = "a size above 0"},
    {"defrag", .parse = larder__parse_choice, .at = CONF_AT(defrag),
     .accepted = "off, limit or eager", .choices = {"off", "limit", "eager"}},
    {"lifetimes", .parse = larder__parse_choice, .at = CONF_AT(lifetimes),
     .accepted = "off or hints", .choices = {"off", "hints"}},
    {"migrate", .parse = parse_migrate, .at = CONF_AT(migrate),
     .accepted = "off or on", .choices = {"off", "on"}},
    {"debug", .parse = larder__parse_number, .at = CONF_AT(debug),
     .most = CONF_DEBUG_MAX, .accepted = "a level from 0 to 3"},
    {"handle_mib", .parse = larder__parse_number, .at = CONF_AT(handle_mib),
     .most = CONF_SIZE_MAX,
     .accepted = "a number up to 1000000, 0 for the rule"},
    {"small_kib", .parse = larder__parse_number, .at = CONF_AT(small_kib),
     .least = CONF_SMALL_KIB_LEAST, .most = CONF_SIZE_MAX,
     .accepted = "a number from 128 to 1000000"},
    {"trim_age", .parse = parse_trim_age},
    {"reclaim_budget_ms", .parse = parse_reclaim_budget,
     .at = CONF_AT(reclaim_budget_ms),
     .accepted = "a number of milliseconds, or unlimited"},
    {"pending_limit", .parse = larder__parse_size,
     .at = CONF_AT(pending_limit_bytes)},
    {"history", .parse = larder__parse_number, .at = CONF_AT(history_events),
     .given = CONF_AT(history_given), .most = HISTORY_MOST,
     .accepted = "a number of events up to 2^32, 0 for none"},
    {"history_stacks", .parse = larder__parse_choice,
     .at = CONF_AT(history_stacks), .given = CONF_AT(history_given),
     .accepted = "off, fp or unwind", .choices = {"off", "fp", "unwind"}},
    {"dump_on_oom", .parse = parse_dump_path},
    {.name = NULL},
};
