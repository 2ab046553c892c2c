/* conf_keys.h - the keys of settings, grouped by topic.  Private to core. */
#pragma once

#include <stddef.h>

#include "core/settings/conf.h"
#include "core/settings/conf_read.h"

enum { CONF_ASK_MS = 1000 }; /* default of ask_budget_ms */

enum { CONF_LARGE_MB = 20 }; /* PyTorch's segment for requests below 10 MiB */

enum { CONF_CHOICES = 3 };

struct conf_key {
    const char *name;
    /* Read the value of r->key into *conf. */
    larder_result (*parse)(struct conf *conf, struct reader *r);
    /* For the functions below. */
    size_t at;            /* the field, as an offset */
    size_t given;         /* a bool that is set; 0: none */
    const char *accepted; /* for messages */
    uint64_t least;
    uint64_t most;                     /* 0: no bound */
    const char *choices[CONF_CHOICES]; /* NULL: unused */
};

#define CONF_AT(field) offsetof(struct conf, field)

/* Read True or False, into a bool or for nothing; "512MiB" or another size of at
 * least `least`; a number of MiB, as bytes; a number from `least` to `most`, each
 * into a uint64_t; one of `choices`, as its index into an int. */
larder_result larder__parse_bool(struct conf *conf, struct reader *r);
larder_result larder__parse_unused(struct conf *conf, struct reader *r);
larder_result larder__parse_size(struct conf *conf, struct reader *r);
larder_result larder__parse_mb(struct conf *conf, struct reader *r);
larder_result larder__parse_number(struct conf *conf, struct reader *r);
larder_result larder__parse_choice(struct conf *conf, struct reader *r);

/* Each list ends with an entry without a name. */
extern const struct conf_key larder__conf_pytorch_keys[];
extern const struct conf_key larder__conf_pinned_keys[];
extern const struct conf_key larder__conf_larder_keys[];
extern const struct conf_key larder__conf_peers_keys[];
