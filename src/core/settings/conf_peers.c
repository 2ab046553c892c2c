/* conf_peers.c - keys about the other processes on a device. */
#include <string.h>

#include "core/settings/conf_keys.h"

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

const struct conf_key larder__conf_peers_keys[] = {
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
