/* conf.h - settings, and the grammar they are written in.  Private to core.
 *
 * The grammar and the keys are those of PYTORCH_CUDA_ALLOC_CONF, plus
 * Larder's own; larder-conf(5) describes each. */
#ifndef LARDER_CORE_CONF_H
#define LARDER_CORE_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include <larder/history.h>

#include "core/settings/pytorch_rules.h"
#include "core/settings/tuning.h"

/* Sizes from 1 MiB on, a class for each power of two, have their own number
 * of roundup divisions; the last class is 32 GiB and all above. */
enum { CONF_SIZE_CLASSES = 16 };

#define CONF_UNLIMITED UINT64_MAX

/* Room for the path of a snapshot, with its NUL. */
enum { CONF_PATH_MAX = 256 };

/* Room for the name of a group of users, with its NUL. */
enum { CONF_GROUP_MAX = 65 };

enum { CONF_DEBUG_MAX = 3, CONF_TUNING_MAX = 1000000 };

enum conf_defrag { CONF_DEFRAG_OFF, CONF_DEFRAG_LIMIT, CONF_DEFRAG_EAGER };

/* Whether hints are heeded (hint.h). */
enum conf_lifetimes { CONF_LIFETIMES_OFF, CONF_LIFETIMES_HINTS };

/* Whether what lives may be moved at any time (migrate.h). */
enum conf_migrate { CONF_MIGRATE_OFF, CONF_MIGRATE_ON };

struct conf {
    const struct pytorch_rules *rules; /* of the release that is meant */

    /* These three go back to their defaults with each parse, as in PyTorch. */
    uint64_t max_split_bytes; /* blocks from this size on are not split */
    uint32_t divisions[CONF_SIZE_CLASSES]; /* 0, 1: round to 512 */
    double gc_threshold;                   /* part of the limit; 0: off */

    uint64_t max_non_split_rounding_bytes;
    bool slack_given;             /* if the last parse had it */
    uint64_t large_segment_bytes; /* what requests below 10 MiB come from */
    double fraction;              /* per_process_memory_fraction, */
    bool fraction_given;          /* if the last parse had it */
    bool expandable_segments;
    bool throw_on_oom; /* a limit's refusal skips the ladder */

    uint64_t preallocate_bytes; /* 0: none */
    uint64_t limit_bytes;       /* CONF_UNLIMITED: none */
    int defrag;    /* enum conf_defrag: for policies that move pages */
    int lifetimes; /* enum conf_lifetimes: the same */
    int migrate;   /* enum conf_migrate: the same */
    uint64_t tuning[TUNING_COUNT]; /* by enum tuning_number; none is 0 */

    uint64_t debug; /* a level, as it is made (handle.h, debug/debug.h) */

    uint64_t trim_age_ns;         /* unused longer: released; 0: never */
    uint64_t reclaim_budget_ms;   /* a request waits; CONF_UNLIMITED: for all */
    uint64_t pending_limit_bytes; /* freed, and waiting for recorded streams */

    /* Of pinned host memory (pinned.h); nothing else heeds them. */
    uint64_t pinned_limit_bytes;      /* CONF_UNLIMITED: none */
    uint64_t pinned_reserve_bytes;    /* had at the first request; 0: none */
    uint64_t pinned_round_max_bytes;  /* larger requests have no class */
    uint64_t pinned_cached_max_bytes; /* larger segments are not kept */

    /* Of the processes on a device (peers.h), but for the first three for all
     * of them in this process that are on it. */
    bool ledger; /* on: joined where there can be others */
    bool ledger_given;
    char ledger_group[CONF_GROUP_MAX]; /* whose it is; "": the user's */
    bool ledger_thread;                /* one answers between calls */
    bool minimum_given;                /* if the last parse had it */
    bool limits_given;                 /* or one of the limits */
    uint64_t ask_budget_ms;            /* others are waited for */
    uint64_t minimum_bytes;            /* kept for this process */
    uint64_t process_limit_bytes;      /* CONF_UNLIMITED: none */
    uint64_t group_limit_bytes;        /* the same */

    uint64_t history_events;       /* 0: off */
    int history_stacks;            /* larder_stacks */
    bool history_given;            /* if the last parse had one of these */
    char dump_path[CONF_PATH_MAX]; /* of dump_on_oom; "": none */
};

void larder__conf_init(struct conf *conf);

/* Change *conf by the settings in text; on LARDER_ERR_CONF it is as before. */
larder_result larder__conf_parse(struct conf *conf, const char *text);

#endif
