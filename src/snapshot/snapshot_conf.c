/* snapshot_conf.c - the settings under which a snapshot was recorded, as a
 * configuration. */
#include "snapshot/snapshot_conf.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the grammar --------------------------------------------------------- */

/* The end of the pair that begins here: a comma outside of brackets. */
static const char *pair_end(const char *p)
{
    int depth = 0;

    for (; *p != '\0' && (*p != ',' || depth > 0); p++)
        depth += (*p == '[') - (*p == ']');
    return p;
}

static const char *skip_blanks(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* Whether the pair has this key; then *value is behind the colon. */
static bool pair_has(const char *pair, const char *key, const char **value)
{
    size_t length = strlen(key);
    const char *p = skip_blanks(pair);

    if (strncmp(p, key, length) != 0)
        return false;
    p = skip_blanks(p + length);
    *value = skip_blanks(p + (*p == ':'));
    return *p == ':';
}

const char *snapshot_conf_value(const char *conf, const char *key,
                                size_t *length)
{
    const char *found = NULL;
    const char *value;

    for (const char *p = conf; *p != '\0';) {
        const char *end = pair_end(p);

        if (pair_has(p, key, &value)) {
            found = value;
            *length = (size_t)(end - value);
        }
        p = end + (*end == ',');
    }
    return found;
}

/* ---- the settings in force ----------------------------------------------- */

/* Append a setting, after a comma unless it is the first. */
__attribute__((format(printf, 2, 3))) static void add_setting(
    FILE *conf, const char *format, ...)
{
    va_list list;

    if (ftell(conf) > 0)
        fputc(',', conf);
    va_start(list, format);
    vfprintf(conf, format, list);
    va_end(list);
}

static bool all_alike(const struct snapshot_settings *set)
{
    for (size_t i = 1; i < set->roundup_count; i++) {
        if (set->roundup[i].divisions != set->roundup[0].divisions)
            return false;
    }
    return true;
}

static void add_roundup(FILE *conf, const struct snapshot_settings *set)
{
    if (set->roundup_count == 0 ||
        (all_alike(set) && set->roundup[0].divisions <= 1))
        return;
    add_setting(conf, "roundup_power2_divisions:");
    if (all_alike(set)) {
        fprintf(conf, "%" PRId64, set->roundup[0].divisions);
        return;
    }
    for (size_t i = 0; i < set->roundup_count; i++)
        fprintf(conf, "%c%" PRIu64 ":%" PRId64, i > 0 ? ',' : '[',
                set->roundup[i].size_mib, set->roundup[i].divisions);
    fputc(']', conf);
}

/* What PyTorch writes besides the text: the values that it used, whatever the
 * text says. */
static void add_effective(FILE *conf, const struct snapshot_settings *set)
{
    if (set->has_expandable_segments && set->expandable_segments)
        add_setting(conf, "expandable_segments:True");
    if (set->has_max_split_size && set->max_split_size > 0)
        add_setting(conf, "max_split_size_mb:%" PRId64,
                    set->max_split_size >> 20);
    if (set->garbage_collection_threshold > 0)
        add_setting(conf, "garbage_collection_threshold:%.15g",
                    set->garbage_collection_threshold);
    if (set->graph_capture_record_stream_reuse)
        add_setting(conf, "graph_capture_record_stream_reuse:True");
    add_roundup(conf, set);
}

/* Whether a pair of the text is among the values in force. */
static bool is_effective(const struct snapshot_settings *set, const char *pair)
{
    const struct {
        const char *key;
        bool has;
    } written[] = {
        {"expandable_segments", set->has_expandable_segments},
        {"max_split_size_mb", set->has_max_split_size},
        {"garbage_collection_threshold", set->has_garbage_collection_threshold},
        {"graph_capture_record_stream_reuse",
         set->has_graph_capture_record_stream_reuse},
        {"roundup_power2_divisions", set->has_roundup},
    };
    const char *value;

    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        if (written[i].has && pair_has(pair, written[i].key, &value))
            return true;
    }
    return false;
}

/* ---- the whole ----------------------------------------------------------- */

static const char *own_text(const struct snapshot *s, uint32_t string)
{
    return string != 0 ? snapshot_string(s, string - 1) : "";
}

static const char *text_of(const struct snapshot *s)
{
    return s->own.conf != 0 ? own_text(s, s->own.conf)
                            : snapshot_string(s, s->settings.conf);
}

bool snapshot_set_to(const struct snapshot *s, const char *key,
                     const char *value)
{
    size_t length;
    const char *set = snapshot_conf_value(text_of(s), key, &length);

    return set != NULL && (value == NULL || (strncmp(set, value, length) == 0 &&
                                             strlen(value) == length));
}

uint64_t snapshot_set_number(const struct snapshot *s, const char *key)
{
    size_t length;
    const char *set = snapshot_conf_value(text_of(s), key, &length);

    return set != NULL ? strtoull(set, NULL, 10) & UINT32_MAX : 0;
}

/* Append the pairs of `text` that are not told otherwise. */
static void add_rest(FILE *conf, const char *text,
                     const struct snapshot_settings *effective)
{
    for (const char *p = skip_blanks(text); *p != '\0';) {
        const char *end = pair_end(p);
        const char *value;

        if (end > p && !pair_has(p, "pytorch", &value) &&
            (effective == NULL || !is_effective(effective, p)))
            add_setting(conf, "%.*s", (int)(end - p), p);
        p = skip_blanks(end + (*end == ','));
    }
}

char *snapshot_conf(const struct snapshot *s, const char *release)
{
    const struct snapshot_settings *set = &s->settings;
    bool is_own = s->own.conf != 0;
    char *text = NULL;
    size_t length;
    FILE *conf = open_memstream(&text, &length);

    if (conf == NULL)
        return NULL;
    if (release == NULL)
        release = snapshot_release(s);
    if (release != NULL)
        add_setting(conf, "pytorch:%.15s", release);
    if (!is_own)
        add_effective(conf, set);
    add_rest(conf, text_of(s), is_own ? NULL : set);
    if (fclose(conf) == 0)
        return text;
    free(text);
    return NULL;
}

larder_policy snapshot_policy(const struct snapshot *s)
{
    larder_policy policy;

    if (s->own.policy != 0 &&
        larder_policy_parse(own_text(s, s->own.policy), &policy) == LARDER_OK)
        return policy;
    return LARDER_POLICY_PYTORCH;
}

/* ---- the release --------------------------------------------------------- */

/* Larder writes the release if it is not the default. */
static const char *own_release(const struct snapshot *s)
{
    size_t length;
    const char *value =
        snapshot_conf_value(own_text(s, s->own.conf), "pytorch", &length);
    const char *name;

    for (size_t i = 0; (name = larder_pytorch_release(i)) != NULL; i++) {
        if (value != NULL && strlen(name) == length &&
            memcmp(name, value, length) == 0)
            return name;
    }
    return NULL;
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

const char *snapshot_release(const struct snapshot *s)
{
    if (s->own.conf != 0)
        return own_release(s);
    if (!segments_have_counters(s))
        return NULL;
    return events_have_pools(s) ? "2.15" : "2.11";
}

bool snapshot_segment(const struct snapshot *s, uint64_t bytes,
                      uint64_t *segment_bytes, uint64_t *page_bytes)
{
    char *conf = snapshot_conf(s, NULL);
    bool ok = conf != NULL;

    if (ok && larder_conf_segment(conf, bytes, segment_bytes, page_bytes) !=
                  LARDER_OK)
        /* Cannot fail: there are no settings. */
        (void)larder_conf_segment("", bytes, segment_bytes, page_bytes);
    free(conf);
    return ok;
}
