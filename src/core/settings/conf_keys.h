/* conf_keys.h - the keys of settings, grouped by topic.  Private to core. */
#ifndef LARDER_CORE_SETTINGS_CONF_KEYS_H
#define LARDER_CORE_SETTINGS_CONF_KEYS_H

#include "core/settings/conf.h"
#include "core/settings/conf_read.h"

enum { CONF_ASK_MS = 1000 }; /* default of ask_budget_ms */

enum { CONF_LARGE_MB = 20 }; /* PyTorch's segment for requests below 10 MiB */

struct conf_key {
    const char *name;
    /* Read the value of r->key into *conf. */
    larder_result (*parse)(struct conf *conf, struct reader *r);
};

/* Each list ends with an entry without a name. */
extern const struct conf_key larder__conf_pytorch_keys[];
extern const struct conf_key larder__conf_pinned_keys[];
extern const struct conf_key larder__conf_larder_keys[];
extern const struct conf_key larder__conf_peers_keys[];

#endif
