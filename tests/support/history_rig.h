/* history_rig.h - shared by the tests of history and snapshots: the events as
 * text, snapshots in memory.
 *
 * Header only, for cmocka programs. */
#pragma once

#include "rig.h"

#include <larder/history.h>

static inline void history_on(struct rig *rig, uint64_t max_events)
{
    larder_history_options opt;

    larder_history_options_init(&opt);
    opt.max_events = max_events;
    assert_ok(larder_history_start(rig->a, &opt));
}

static inline larder_history_info history_info(struct rig *rig)
{
    larder_history_info info = {.size = sizeof info};

    assert_ok(larder_history_get(rig->a, &info));
    return info;
}

/* ---- events as text -------------------------------------------------------- */

struct event_text {
    char text[8192];
    size_t length;
    larder_addr base; /* addresses are relative to it */
    uint64_t last_us;
    size_t depth_max;
    int count;
};

/* "alloc +0 1000 stream 1 pool 2.0 'text'; ", fields that are 0 left out. */
static inline int event_text_add(void *ctx, const larder_event *e)
{
    struct event_text *t = ctx;
    char line[512];
    int n = snprintf(line, sizeof line, "%s", larder_action_name(e->action));

    if (e->addr != 0)
        n += snprintf(line + n, sizeof line - (size_t)n, " +%llu",
                      (unsigned long long)(e->addr - t->base));
    n += snprintf(line + n, sizeof line - (size_t)n, " %llu",
                  (unsigned long long)e->bytes);
    if (e->device_free_bytes != 0)
        n += snprintf(line + n, sizeof line - (size_t)n, " free %llu",
                      (unsigned long long)e->device_free_bytes);
    if (e->stream != 0)
        n += snprintf(line + n, sizeof line - (size_t)n, " stream %llu",
                      (unsigned long long)e->stream);
    if (e->pool.first != 0 || e->pool.second != 0)
        n += snprintf(line + n, sizeof line - (size_t)n, " pool %llu.%llu",
                      (unsigned long long)e->pool.first,
                      (unsigned long long)e->pool.second);
    if (e->annotation[0] != '\0')
        n +=
            snprintf(line + n, sizeof line - (size_t)n, " '%s'", e->annotation);
    assert_true(t->length + (size_t)n + 3 < sizeof t->text);
    t->length += (size_t)sprintf(t->text + t->length, "%s; ", line);
    assert_true(e->time_us >= t->last_us);
    t->last_us = e->time_us;
    if (e->depth > t->depth_max)
        t->depth_max = e->depth;
    t->count++;
    return 0;
}

static inline struct event_text events_of(struct rig *rig)
{
    struct event_text t = {.text = ""};
    larder_addr second;

    assert_ok(larder_sim_regions(rig->dev, &t.base, &second));
    assert_ok(larder_history_walk(rig->a, event_text_add, &t));
    return t;
}

static inline void rig_events(struct rig *rig, const char *want,
                              const char *file, int line)
{
    struct event_text t = events_of(rig);

    if (strcmp(t.text, want) == 0)
        return;
    print_error("%s:%d: events are\n%s\nexpected\n%s\n", file, line, t.text,
                want);
    _fail(file, line);
}

#define assert_events(rig, want) rig_events((rig), (want), __FILE__, __LINE__)

/* ---- snapshots in memory --------------------------------------------------- */

struct bytes {
    char *at; /* a NUL follows */
    size_t count;
    size_t refuse_at; /* writing fails from here on; 0: never */
};

static inline int bytes_add(void *ctx, const void *from, size_t count)
{
    struct bytes *b = ctx;

    if (b->refuse_at != 0 && b->count + count >= b->refuse_at)
        return 1;
    b->at = realloc(b->at, b->count + count + 1);
    assert_non_null(b->at);
    memcpy(b->at + b->count, from, count);
    b->count += count;
    b->at[b->count] = '\0';
    return 0;
}

static inline struct bytes snapshot_of(struct rig *rig,
                                       larder_snapshot_format format)
{
    larder_snapshot_options opt;
    struct bytes b = {0};

    larder_snapshot_options_init(&opt);
    opt.format = format;
    assert_ok(larder_snapshot_write_to(rig->a, bytes_add, &b, &opt));
    assert_non_null(b.at);
    return b;
}
