/* conf.c - settings and their grammar. */
#include "core/settings/conf.h"

#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "core/settings/conf_keys.h"

enum { CONF_NAMES_MAX = 2048 }; /* room for the names of all keys */

static const struct conf_key *const lists[] = {
    larder__conf_pytorch_keys,
    larder__conf_larder_keys,
};

enum { LISTS = sizeof lists / sizeof lists[0] };

static const struct conf_key *conf_find(const char *name)
{
    for (int i = 0; i < LISTS; i++) {
        for (const struct conf_key *k = lists[i]; k->name != NULL; k++) {
            if (strcmp(k->name, name) == 0)
                return k;
        }
    }
    return NULL;
}

const char *larder__conf_key(size_t index)
{
    for (int i = 0; i < LISTS; i++) {
        for (const struct conf_key *k = lists[i]; k->name != NULL; k++) {
            if (index-- == 0)
                return k->name;
        }
    }
    return NULL;
}

/* The key that was probably meant; NULL: none is near. */
static const char *nearest(const char *word)
{
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 1; /* a typo in three letters */
    const char *name;

    for (size_t i = 0; (name = larder__conf_key(i)) != NULL; i++) {
        size_t distance = larder__text_distance(word, name);

        if (distance < least) {
            least = distance;
            best = name;
        }
    }
    return best;
}

static larder_result conf_unknown(const char *key)
{
    char accepted[CONF_NAMES_MAX];
    const char *meant = nearest(key);
    const char *name;
    struct text t;

    larder__text_init(&t, accepted, sizeof accepted);
    for (size_t i = 0; (name = larder__conf_key(i)) != NULL; i++)
        larder__text_add(&t, "%s%s", i > 0 ? ", " : "", name);
    return larder__fail(LARDER_ERR_CONF,
                        "Unrecognized CachingAllocator option: %s; %s%s%s"
                        "accepted: %s",
                        key, meant != NULL ? "did you mean " : "",
                        meant != NULL ? meant : "", meant != NULL ? "? " : "",
                        accepted);
}

/* One "key:value". */
static larder_result parse_setting(struct conf *conf, struct reader *r)
{
    const struct conf_key *key;
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    key = conf_find(r->word);
    if (key == NULL)
        return conf_unknown(r->word[0] != '\0' ? r->word : "''");
    r->key = key->name;
    r->row = key;
    result = larder__reader_expect(r, ':');
    if (key->given != 0)
        *(bool *)((char *)conf + key->given) = true;
    return result == LARDER_OK ? key->parse(conf, r) : result;
}

void larder__conf_init(struct conf *conf)
{
    *conf = (struct conf){
        .rules = larder__pytorch_rules(PYTORCH_DEFAULT),
        .max_split_bytes = CONF_UNLIMITED,
        .max_non_split_rounding_bytes = CONF_LARGE_MB * LARDER_MIB,
        .large_segment_bytes = CONF_LARGE_MB * LARDER_MIB,
        .limit_bytes = CONF_UNLIMITED,
        .fraction = 1,
        .defrag = CONF_DEFRAG_LIMIT,
        .lifetimes = CONF_LIFETIMES_HINTS,
        .small_kib = CONF_SMALL_KIB_LEAST,
        .reclaim_budget_ms = CONF_UNLIMITED,
        .pending_limit_bytes = CONF_UNLIMITED,
        .ledger = 1,
        .ask_budget_ms = CONF_ASK_MS,
        .process_limit_bytes = CONF_UNLIMITED,
        .group_limit_bytes = CONF_UNLIMITED,
        .pinned_limit_bytes = CONF_UNLIMITED,
        .pinned_round_max_bytes = CONF_UNLIMITED,
        .pinned_cached_max_bytes = CONF_UNLIMITED,
    };
}

static void conf_reset_each_parse(struct conf *conf)
{
    if (conf->rules->slack_follows_segment)
        conf->max_non_split_rounding_bytes = conf->large_segment_bytes;
    conf->max_split_bytes = CONF_UNLIMITED;
    conf->gc_threshold = 0;
    conf->slack_given = false;
    conf->fraction_given = false;
    conf->history_given = false;
    conf->minimum_given = false;
    conf->limits_given = false;
    memset(conf->divisions, 0, sizeof conf->divisions);
}

/* Check `key` against the size of large segments.  Releases that require more
 * than that have one fixed size. */
static larder_result check_bound(const struct conf *conf, const char *key,
                                 uint64_t bytes, bool is_above)
{
    const uint64_t large_mb = conf->large_segment_bytes / LARDER_MIB;
    const uint64_t mb = bytes / LARDER_MIB;

    is_above = is_above && large_mb == CONF_LARGE_MB;
    if (mb > large_mb || (mb == large_mb && !is_above))
        return LARDER_OK;
    return larder__fail(LARDER_ERR_CONF,
                        "CachingAllocator option %s too small, must be %s "
                        "%llu: it is %llu",
                        key,
                        is_above ? ">" : ">=", (unsigned long long)large_mb,
                        (unsigned long long)mb);
}

/* A minimum above the limit would be withheld from other processes for
 * nothing. */
static larder_result check_minimum(const struct conf *conf, const char *key,
                                   uint64_t limit)
{
    if (conf->minimum_bytes <= limit)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_CONF,
                        "minimum of %llu bytes too large, must be <= %s: that "
                        "is %llu",
                        (unsigned long long)conf->minimum_bytes, key,
                        (unsigned long long)limit);
}

/* PyTorch takes any size above 10, and its first large request ends in an error
 * of the driver, whose pages are multiples of 2 MiB. */
static larder_result check_pages(const struct conf *conf)
{
    const uint64_t mb = conf->large_segment_bytes / LARDER_MIB;

    if (!conf->expandable_segments || mb % 2 == 0)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_CONF,
                        "large_segment_size_mb must be even with "
                        "expandable_segments, as the driver's pages are of 2 "
                        "MiB: it is %llu",
                        (unsigned long long)mb);
}

/* Rules between two settings, independent of their order. */
static larder_result conf_check_whole(const struct conf *conf)
{
    larder_result result = check_pages(conf);

    if (result == LARDER_OK)
        result = check_bound(conf, "max_split_size_mb", conf->max_split_bytes,
                             !conf->rules->split_at_segment);

    if (result == LARDER_OK && conf->slack_given)
        result = check_bound(conf, "max_non_split_rounding_mb",
                             conf->max_non_split_rounding_bytes,
                             conf->rules->slack_above_segment);
    if (result == LARDER_OK)
        result =
            check_minimum(conf, "process_limit", conf->process_limit_bytes);
    if (result == LARDER_OK)
        result = check_minimum(conf, "group_limit", conf->group_limit_bytes);
    return result;
}

static larder_result parse_all(struct conf *conf, const char *text)
{
    struct reader r = {.at = text, .key = ""};
    larder_result result;

    conf_reset_each_parse(conf);
    while (larder__reader_peek(&r) != '\0') {
        if ((result = parse_setting(conf, &r)) != LARDER_OK)
            return result;
        if (larder__reader_peek(&r) != '\0' &&
            (result = larder__reader_expect(&r, ',')) != LARDER_OK)
            return result;
    }
    return LARDER_OK;
}

/* Parse twice: the meaning of a setting can depend on the release and on the
 * size of large segments, which may come later in the text. */
larder_result larder__conf_parse(struct conf *conf, const char *text)
{
    struct conf first = *conf;
    struct conf next = *conf;
    larder_result result = parse_all(&first, text);

    if (result != LARDER_OK)
        return result;
    next.rules = first.rules;
    next.large_segment_bytes = first.large_segment_bytes;
    if ((result = parse_all(&next, text)) != LARDER_OK ||
        (result = conf_check_whole(&next)) != LARDER_OK)
        return result;
    *conf = next;
    return LARDER_OK;
}

const char *larder__conf_fixed(const struct conf *now, const struct conf *next)
{
    if (next->debug != now->debug)
        return "debug";
    if (next->ledger != now->ledger)
        return "ledger";
    if (strcmp(next->ledger_group, now->ledger_group) != 0)
        return "ledger_group";
    if (next->small_kib != now->small_kib)
        return "small_kib";
    return NULL;
}
