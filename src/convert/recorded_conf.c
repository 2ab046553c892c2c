#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/recorded.h"

enum { CONF_MAX = 2048 };

static void recorded_conf_add(char *conf, const char *text)
{
    if (conf[0] != '\0')
        strncat(conf, ",", CONF_MAX - strlen(conf) - 1);
    strncat(conf, text, CONF_MAX - strlen(conf) - 1);
}

static bool all_alike(const struct snapshot_settings *set)
{
    for (size_t i = 1; i < set->roundup_count; i++) {
        if (set->roundup[i].divisions != set->roundup[0].divisions)
            return false;
    }
    return true;
}

static void add_roundup(char *conf, const struct snapshot_settings *set)
{
    char text[96];

    if (set->roundup_count == 0 ||
        (all_alike(set) && set->roundup[0].divisions <= 1))
        return;
    if (all_alike(set)) {
        snprintf(text, sizeof text, "roundup_power2_divisions:%" PRId64,
                 set->roundup[0].divisions);
        recorded_conf_add(conf, text);
        return;
    }
    recorded_conf_add(conf, "roundup_power2_divisions:[");
    for (size_t i = 0; i < set->roundup_count; i++) {
        snprintf(text, sizeof text, "%s%" PRIu64 ":%" PRId64, i > 0 ? "," : "",
                 set->roundup[i].size_mib, set->roundup[i].divisions);
        strncat(conf, text, CONF_MAX - strlen(conf) - 1);
    }
    strncat(conf, "]", CONF_MAX - strlen(conf) - 1);
}

char *recorded_conf(const struct snapshot_settings *settings)
{
    char *conf = calloc(1, CONF_MAX);
    char text[96];

    if (conf == NULL)
        return NULL;
    if (settings->has_expandable_segments && settings->expandable_segments)
        recorded_conf_add(conf, "expandable_segments:True");
    if (settings->has_max_split_size && settings->max_split_size > 0) {
        snprintf(text, sizeof text, "max_split_size_mb:%" PRId64,
                 settings->max_split_size >> 20);
        recorded_conf_add(conf, text);
    }
    if (settings->garbage_collection_threshold > 0) {
        snprintf(text, sizeof text, "garbage_collection_threshold:%g",
                 settings->garbage_collection_threshold);
        recorded_conf_add(conf, text);
    }
    add_roundup(conf, settings);
    return conf;
}

static bool events_have_pools(const struct snapshot *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        if ((s->events[i].has & SNAPSHOT_HAS_POOL) != 0)
            return true;
    }
    return false;
}

static bool segments_have_counters(const struct snapshot *s)
{
    for (size_t i = 0; i < s->segment_count; i++) {
        if ((s->segments[i].has & SNAPSHOT_HAS_COUNTER) != 0)
            return true;
    }
    return false;
}

const char *recorded_release(const struct snapshot *s)
{
    if (!segments_have_counters(s))
        return NULL;
    return events_have_pools(s) ? "2.15" : "2.11";
}

char *recorded_conf_of(const struct snapshot *s, const char *release)
{
    char *settings = recorded_conf(&s->settings);
    char *conf = settings == NULL ? NULL : calloc(1, CONF_MAX);

    if (release == NULL)
        release = recorded_release(s);
    if (conf != NULL && release != NULL)
        snprintf(conf, CONF_MAX, "pytorch:%.15s", release);
    if (conf != NULL && settings[0] != '\0')
        recorded_conf_add(conf, settings);
    free(settings);
    return conf;
}
