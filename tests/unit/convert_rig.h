/* convert_rig.h - snapshots written in tests as JSON.  Header only, for cmocka
 * programs. */
#pragma once

#include "replay_rig.h"

#include "convert/recorded.h"
#include "convert/snap_trace.h"
#include "support/snapshot_bytes.h"

/* ACTION, address, size; on stream 0 or another; in a pool. */
#define EVENT(action, addr, size)                                              \
    "{\"action\":\"" action "\",\"addr\":" #addr ",\"size\":" #size            \
    ",\"stream\":0,\"frames\":[]}"
#define EVENT_ON(action, addr, size, stream)                                   \
    "{\"action\":\"" action "\",\"addr\":" #addr ",\"size\":" #size            \
    ",\"stream\":" #stream ",\"frames\":[]}"
#define EVENT_IN(action, addr, size, pool)                                     \
    "{\"action\":\"" action "\",\"addr\":" #addr ",\"size\":" #size            \
    ",\"stream\":0,\"frames\":[],\"pool_id\":[0," #pool "]}"
#define OOM(free, size)                                                        \
    "{\"action\":\"oom\",\"device_free\":" #free ",\"size\":" #size            \
    ",\"stream\":0,\"frames\":[]}"
#define FREED(addr, size)                                                      \
    EVENT("free_requested", addr, size)                                        \
    "," EVENT("free_completed", addr, size)

/* A segment of the final state, and its blocks. */
#define SEGMENT(addr, size, type, blocks)                                      \
    "{\"device\":0,\"address\":" #addr ",\"total_size\":" #size                \
    ",\"stream\":0,\"segment_type\":\"" type                                   \
    "\",\"segment_pool_id\":[0,0],\"is_expandable\":false,\"frames\":[],"      \
    "\"blocks\":[" blocks "]}"
#define BLOCK(addr, size, requested, state)                                    \
    "{\"address\":" #addr ",\"size\":" #size ",\"requested_size\":" #requested \
    ",\"state\":\"" state "\",\"frames\":[]}"

static inline struct snapshot *read_json(const char *json)
{
    struct tool_error error;
    struct snapshot *s;

    if (!snapshot_read_bytes(json, strlen(json), NULL, &s, &error))
        fail_msg("not read: %s", error.text);
    return s;
}

/* Read a snapshot of one device from its segments and events. */
static inline struct snapshot *read_snapshot(const char *segments,
                                             const char *events)
{
    struct snapshot *s;
    char *json;

    assert_true(asprintf(&json, "{\"segments\":[%s],\"device_traces\":[[%s]]}",
                         segments, events) > 0);
    s = read_json(json);
    free(json);
    return s;
}

static inline void make_story(const struct snapshot *s, struct story *story)
{
    struct tool_error error;

    if (!story_make(s, 0, story, &error))
        fail_msg("no story: %s", error.text);
}
