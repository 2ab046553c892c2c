/* conf_larder.c - Larder's own keys, those for pinned host memory and those about
 * the other processes on a device. */
#include <string.h>

#include "base/bits.h"
#include "core/settings/conf_keys.h"

/* ---- pinned host memory ---------------------------------------------------- */

enum { CONF_MAX_THREADS = 128 };

static larder_result parse_unused_threads(struct conf *conf, struct reader *r)
{
    uint64_t n;
    larder_result result = larder__read_size_t(r, conf->rules->numbers_are_int,
                                               "a power of 2 up to 128", &n);

    if (result != LARDER_OK)
        return result;
    if (!bits_is_pow2(n))
        return larder__fail(LARDER_ERR_CONF,
                            "Number of register threads has to be power of 2: "
                            "%s is %s",
                            r->key, r->word);
    if (n > CONF_MAX_THREADS)
        return larder__fail(LARDER_ERR_CONF,
                            "Number of register threads should be less than "
                            "or equal to %d: %s is %s",
                            CONF_MAX_THREADS, r->key, r->word);
    return LARDER_OK;
}

static larder_result parse_reserve(struct conf *conf, struct reader *r)
{
    larder_result result = larder__parse_mb(conf, r);

    if (result == LARDER_OK && conf->pinned_reserve_bytes == 0)
        return larder__fail(LARDER_ERR_CONF,
                            "%s: 0 is not accepted: has to be greater than 0",
                            r->key);
    return result;
}

/* ---- requests and memory --------------------------------------------------- */

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

/* ---- other processes ------------------------------------------------------- */

_Static_assert((int)CONF_GROUP_MAX > (int)CONF_WORD_MAX, "any word fits");

/* Joining finds out whether the group exists. */
static larder_result parse_ledger_group(struct conf *conf, struct reader *r)
{
    larder_result result = larder__reader_word(r);

    if (result == LARDER_OK && r->word[0] == '\0')
        return larder__reader_fail(r, "the name or number of a group");
    if (result == LARDER_OK)
        strcpy(conf->ledger_group, r->word);
    return result;
}

/* 0: none. */
static larder_result parse_peers_limit(struct conf *conf, struct reader *r)
{
    uint64_t *limit = (uint64_t *)(void *)((char *)conf + r->row->at);
    larder_result result = larder__parse_size(conf, r);

    if (result == LARDER_OK && *limit == 0)
        *limit = CONF_UNLIMITED;
    return result;
}

/* ---- the keys --------------------------------------------------------------- */

#define HISTORY_MOST (UINT64_C(1) << 32)

const struct conf_key larder__conf_larder_keys[] = {
    /* How memory is registered, and which thread polls events, has no counterpart
     * here: values are checked, to detect mistakes, and then ignored. */
    {"pinned_use_cuda_host_register", .parse = larder__parse_unused},
    {"pinned_use_hip_host_register", .parse = larder__parse_unused},
    {"pinned_use_background_threads", .parse = larder__parse_unused},
    {"pinned_free_catch_all", .parse = larder__parse_unused},
    {"pinned_num_register_threads", .parse = parse_unused_threads},
    {"pinned_reserve_segment_size_mb", .parse = parse_reserve,
     .at = CONF_AT(pinned_reserve_bytes)},
    {"pinned_max_round_threshold_mb", .parse = larder__parse_mb,
     .at = CONF_AT(pinned_round_max_bytes)},
    {"pinned_max_cached_size_mb", .parse = larder__parse_mb,
     .at = CONF_AT(pinned_cached_max_bytes)},
    {"pinned_limit", .parse = larder__parse_size,
     .at = CONF_AT(pinned_limit_bytes), .least = 1,
     .accepted = "a size above 0"},
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
    {"ledger", .parse = larder__parse_choice, .at = CONF_AT(ledger),
     .given = CONF_AT(ledger_given), .accepted = "off or on",
     .choices = {"off", "on"}},
    {"ledger_group", .parse = parse_ledger_group},
    {"ledger_thread", .parse = larder__parse_bool,
     .at = CONF_AT(ledger_thread)},
    {"ask_budget_ms", .parse = larder__parse_number,
     .at = CONF_AT(ask_budget_ms), .accepted = "a number of milliseconds"},
    {"minimum", .parse = larder__parse_size, .at = CONF_AT(minimum_bytes),
     .given = CONF_AT(minimum_given)},
    {"process_limit", .parse = parse_peers_limit,
     .at = CONF_AT(process_limit_bytes), .given = CONF_AT(limits_given)},
    {"group_limit", .parse = parse_peers_limit,
     .at = CONF_AT(group_limit_bytes), .given = CONF_AT(limits_given)},
    {.name = NULL},
};
