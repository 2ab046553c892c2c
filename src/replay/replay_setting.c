/* replay_setting.c - settings that a job may be tried under, and those to try
 * first. */
#include "replay/replay_setting.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/snapshot_conf.h"

/* max_split_size_mb has the values that people report as cures, and some
 * between; the smallest is the minimum that every PyTorch accepts. */
const struct replay_setting replay_settings[] = {
    {.policy = LARDER_POLICY_PYTORCH},
    {.policy = LARDER_POLICY_PYTORCH, .expandable = true},
    {.policy = LARDER_POLICY_PYTORCH, .max_split_mb = 21},
    {.policy = LARDER_POLICY_PYTORCH, .max_split_mb = 64},
    {.policy = LARDER_POLICY_PYTORCH, .max_split_mb = 128},
    {.policy = LARDER_POLICY_PYTORCH, .max_split_mb = 256},
    {.policy = LARDER_POLICY_PYTORCH, .max_split_mb = 512},
    {.policy = LARDER_POLICY_PYTORCH, .max_split_mb = 1024},
    {.policy = LARDER_POLICY_PYTORCH, .gc_percent = 60},
    {.policy = LARDER_POLICY_PYTORCH, .gc_percent = 80},
    {.policy = LARDER_POLICY_PYTORCH, .roundup = 2},
    {.policy = LARDER_POLICY_PYTORCH, .roundup = 4},
    {.policy = LARDER_POLICY_PYTORCH, .roundup = 8},
    {.policy = LARDER_POLICY_PYTORCH, .segment_mb = 64},
    {.policy = LARDER_POLICY_PYTORCH, .segment_mb = 256},
    {.policy = LARDER_POLICY_LARDER},
};

const size_t replay_setting_count =
    sizeof replay_settings / sizeof replay_settings[0];

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(char out[REPLAY_CONF_MAX], const char *format, ...)
{
    size_t length = strlen(out);
    va_list list;

    if (length > 0 && length + 1 < REPLAY_CONF_MAX)
        out[length++] = ',';
    va_start(list, format);
    vsnprintf(out + length, REPLAY_CONF_MAX - length, format, list);
    va_end(list);
}

static void add_kept(char out[REPLAY_CONF_MAX], const char *base,
                     const char *key)
{
    size_t length;
    const char *value =
        base != NULL ? snapshot_conf_value(base, key, &length) : NULL;

    if (value != NULL)
        add(out, "%s:%.*s", key, (int)length, value);
}

const char *replay_setting_line(const struct replay_setting *s,
                                const char *base, char out[REPLAY_CONF_MAX])
{
    out[0] = '\0';
    if (s->expandable)
        add(out, "expandable_segments:True");
    if (s->max_split_mb != 0)
        add(out, "max_split_size_mb:%u", s->max_split_mb);
    if (s->gc_percent != 0)
        add(out, "garbage_collection_threshold:0.%02u", s->gc_percent);
    if (s->roundup != 0)
        add(out, "roundup_power2_divisions:%u", s->roundup);
    if (s->segment_mb != 0)
        add(out, "large_segment_size_mb:%u", s->segment_mb);
    add_kept(out, base, "per_process_memory_fraction");
    return out;
}

const char *replay_setting_conf(const struct replay_setting *s,
                                const char *base, char out[REPLAY_CONF_MAX])
{
    replay_setting_line(s, base, out);
    if (s->policy == LARDER_POLICY_LARDER)
        add(out, "migrate:on");
    add_kept(out, base, "pytorch");
    return out;
}

unsigned replay_setting_keys(const struct replay_setting *s)
{
    return (unsigned)s->expandable + (s->max_split_mb != 0) +
           (s->gc_percent != 0) + (s->roundup != 0) + (s->segment_mb != 0);
}

bool replay_setting_same(const struct replay_setting *a,
                         const struct replay_setting *b)
{
    return a->policy == b->policy && a->expandable == b->expandable &&
           a->max_split_mb == b->max_split_mb &&
           a->gc_percent == b->gc_percent && a->roundup == b->roundup &&
           a->segment_mb == b->segment_mb;
}
