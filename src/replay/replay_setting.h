/* replay_setting.h - settings that a job may be tried under, and those to try
 * first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <larder/larder.h>

enum { REPLAY_CONF_MAX = 256 };

/* All zero except the policy: its defaults.  A number of 0 omits its key. */
struct replay_setting {
    larder_policy policy;
    bool expandable;
    unsigned max_split_mb;
    unsigned gc_percent;
    unsigned roundup; /* divisions of a power of two */
    unsigned segment_mb;
};

/* One key each, simplest first; the policy `larder` last. */
extern const struct replay_setting replay_settings[];
extern const size_t replay_setting_count;

/* The setting in PyTorch's grammar, followed by the keys of `base` that belong
 * to the job rather than to its settings (per_process_memory_fraction,
 * pytorch). `base` may be NULL.  Of the policy `larder` with live memory moving,
 * as `python3 -m larder.torch` has it.  Returns out. */
const char *replay_setting_conf(const struct replay_setting *s,
                                const char *base, char out[REPLAY_CONF_MAX]);

/* The setting as a user writes it: of `base` with the fraction alone, which is a
 * key of PyTorch's. */
const char *replay_setting_line(const struct replay_setting *s,
                                const char *base, char out[REPLAY_CONF_MAX]);

/* The number of keys that are set. */
unsigned replay_setting_keys(const struct replay_setting *s);

bool replay_setting_same(const struct replay_setting *a,
                         const struct replay_setting *b);
