/* conf.h - settings and their grammar.  Private to core.
 *
 * The grammar and keys are those of PYTORCH_CUDA_ALLOC_CONF, plus Larder's own;
 * larder-conf(5) describes each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <larder/history.h>

#include "core/settings/pytorch_rules.h"

/* Sizes from 1 MiB on have their own number of roundup divisions for each power
 * of two; the last class is 32 GiB and above. */
enum { CONF_SIZE_CLASSES = 16 };

#define CONF_UNLIMITED UINT64_MAX

/* Size of a snapshot's path, including the NUL. */
enum { CONF_PATH_MAX = 256 };

/* Size of a user group's name, including the NUL. */
enum { CONF_GROUP_MAX = 65 };

enum { CONF_DEBUG_MAX = 3 };

/* Of handle_mib and small_kib.  Blocks of the large pool must be larger than a
 * slot of the address map (map.h). */
enum { CONF_SIZE_MAX = 1000000, CONF_SMALL_KIB_LEAST = 128 };

enum conf_defrag { CONF_DEFRAG_OFF, CONF_DEFRAG_LIMIT, CONF_DEFRAG_EAGER };

/* Whether hints are used (hint.h). */
enum conf_lifetimes { CONF_LIFETIMES_OFF, CONF_LIFETIMES_HINTS };

/* Whether live memory may be moved at any time (migrate.h). */
enum conf_migrate { CONF_MIGRATE_OFF, CONF_MIGRATE_ON };

struct conf {
    const struct pytorch_rules *rules; /* of the selected release */

    /* Each parse resets these three to their defaults, as in PyTorch. */
    uint64_t max_split_bytes; /* blocks of at least this size are not split */
    uint32_t divisions[CONF_SIZE_CLASSES]; /* 0, 1: round to 512 */
    double gc_threshold;                   /* fraction of the limit; 0: off */

    uint64_t max_non_split_rounding_bytes;
    bool slack_given;             /* whether the last parse set it */
    uint64_t large_segment_bytes; /* for requests below 10 MiB */
    double fraction;              /* per_process_memory_fraction, */
    bool fraction_given;          /* whether the last parse set it */
    bool expandable_segments;
    double reserve; /* addresses of an expandable segment, as a part of the
                           * device or in GiB; 0: 9/8 of the device, the most */
    bool reserve_is_gib;
    bool throw_on_oom; /* a limit's refusal skips the ladder */

    uint64_t preallocate_bytes; /* 0: none */
    uint64_t limit_bytes;       /* CONF_UNLIMITED: none */
    int defrag;          /* enum conf_defrag: for policies that move pages */
    int lifetimes;       /* enum conf_lifetimes: the same */
    int migrate;         /* enum conf_migrate: the same */
    bool migrate_is_off; /* given so: no guard either (migrate.h) */
    uint64_t handle_mib; /* the largest handle; 0: by the device (handles.c) */
    uint64_t small_kib;  /* the largest request of the small pool, in KiB */

    uint64_t debug; /* level; fixed at creation (debug/debug.h) */

    uint64_t trim_age_ns;         /* maximum time unused; 0: no limit */
    uint64_t reclaim_budget_ms;   /* maximum wait; CONF_UNLIMITED: for all */
    uint64_t pending_limit_bytes; /* maximum of pending memory */

    /* For pinned host memory only (pinned.h). */
    uint64_t pinned_limit_bytes;      /* CONF_UNLIMITED: none */
    uint64_t pinned_reserve_bytes;    /* acquired first; 0: none */
    uint64_t pinned_round_max_bytes;  /* larger requests have no size class */
    uint64_t pinned_cached_max_bytes; /* larger segments are not cached */

    /* About other processes on a device (peers.h).  All but the first three
     * apply to all allocators of this process on that device. */
    int ledger; /* 0: do not join others where there can be some */
    bool ledger_given;
    char ledger_group[CONF_GROUP_MAX]; /* owning group; "": the user's */
    bool ledger_thread;                /* a thread answers between calls */
    bool minimum_given;                /* whether the last parse set it */
    bool limits_given;                 /* the same for one of the limits */
    uint64_t ask_budget_ms;            /* maximum wait for others */
    uint64_t minimum_bytes;            /* reserved for this process */
    uint64_t process_limit_bytes;      /* CONF_UNLIMITED: none */
    uint64_t group_limit_bytes;        /* the same */

    uint64_t history_events;       /* 0: off */
    int history_stacks;            /* larder_stacks */
    bool history_given;            /* whether the last parse set one of these */
    char dump_path[CONF_PATH_MAX]; /* of dump_on_oom; "": none */
};

/* Set all defaults. */
void larder__conf_init(struct conf *conf);

/* Change *conf by the settings in `text`.  On ERR_CONF it is unchanged. */
larder_result larder__conf_parse(struct conf *conf, const char *text);

/* The name of a key; NULL past the last. */
const char *larder__conf_key(size_t index);

/* The first key that differs of those that are fixed when an allocator is
 * created, except `pytorch`.  NULL: none. */
const char *larder__conf_fixed(const struct conf *now, const struct conf *next);
