/* conf_peers.c - keys about the other processes on a device. */
#include <string.h>

#include "core/settings/conf_keys.h"

_Static_assert((int)CONF_GROUP_MAX > (int)CONF_WORD_MAX, "any word fits");

static larder_result parse_ledger(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "on", NULL};
    int on = conf->ledger;
    larder_result result = larder__read_choice(r, names, "off or on", &on);

    conf->ledger = on != 0;
    conf->ledger_given = true;
    return result;
}

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

static larder_result parse_ledger_thread(struct conf *conf, struct reader *r)
{
    return larder__read_bool(r, &conf->ledger_thread);
}

static larder_result parse_ask_budget(struct conf *conf, struct reader *r)
{
    return larder__read_number(r, "a number of milliseconds",
                               &conf->ask_budget_ms);
}

static larder_result parse_minimum(struct conf *conf, struct reader *r)
{
    conf->minimum_given = true;
    return larder__read_size(r, &conf->minimum_bytes);
}

static larder_result read_limit(struct conf *conf, struct reader *r,
                                uint64_t *out)
{
    uint64_t bytes;
    larder_result result = larder__read_size(r, &bytes);

    if (result != LARDER_OK)
        return result;
    conf->limits_given = true;
    *out = bytes == 0 ? CONF_UNLIMITED : bytes;
    return LARDER_OK;
}

static larder_result parse_process_limit(struct conf *conf, struct reader *r)
{
    return read_limit(conf, r, &conf->process_limit_bytes);
}

static larder_result parse_group_limit(struct conf *conf, struct reader *r)
{
    return read_limit(conf, r, &conf->group_limit_bytes);
}

const struct conf_key larder__conf_peers_keys[] = {
    {"ledger", parse_ledger},
    {"ledger_group", parse_ledger_group},
    {"ledger_thread", parse_ledger_thread},
    {"ask_budget_ms", parse_ask_budget},
    {"minimum", parse_minimum},
    {"process_limit", parse_process_limit},
    {"group_limit", parse_group_limit},
    {NULL, NULL},
};
