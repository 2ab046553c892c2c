/* snapshot_state.h - a copy of the allocator's state at one moment, and writing
 * it.  Private to core.
 *
 * Taking a snapshot copies what changes (blocks, events) under the lock.  The
 * stacks and texts that they refer to are not copied because they never change.
 * Writing needs no lock. */
#pragma once

#include "core/history/recording.h"
#include "base/emit.h"

struct snapshot_segment {
    larder_segment_info info;
    uint32_t stack;
};

struct snapshot_block {
    larder_addr addr;
    uint64_t bytes;
    uint64_t requested;
    uint32_t stack;
    uint16_t annotation;
    uint8_t state; /* larder_block_state */
};

struct snapshot {
    struct snapshot_segment *segments; /* in order of address */
    size_t segment_count;
    size_t segment_capacity;
    struct snapshot_block *blocks; /* of all segments, in order */
    size_t block_count;
    size_t block_capacity;

    struct history *history; /* keeps a reference; NULL: it is off */
    struct history_event *events;
    uint64_t event_count;
    struct history_mark *marks;
    uint64_t mark_count;
    larder_pool_id *pool_ids;
    uint32_t stack_words; /* how much of its stacks was used then */
    struct ticks_scale scale;
    larder_history_info info;

    struct conf conf;
    larder_stats stats;
    const char *policy; /* its name */
    larder_device_props props;
    uint64_t allowed_bytes;
    double fraction;
    bool fraction_is_set;
    larder_frame_fn *frame_fn;
    void *frame_ctx;
};

/* Take a snapshot; the caller holds the lock.  ERR_NO_HOST_MEMORY: no snapshot,
 * but the event that one was taken remains in the history. */
larder_result larder__snapshot_take(struct allocator *a, bool with_history,
                                    struct snapshot *out);
void larder__snapshot_free(struct snapshot *s);

/* Write it.  ERR_SYSTEM, without a message, if `write` failed. */
larder_result larder__snapshot_emit(const struct snapshot *s, bool json,
                                    larder_write_fn *write, void *ctx);

/* Write it to a file.  ERR_SYSTEM, with a message. */
larder_result larder__snapshot_file(const struct snapshot *s, bool json,
                                    const char *path);

/* Whether a path's name asks for JSON. */
bool larder__snapshot_is_json(const char *path);

/* The parts allocator_settings and larder (snapshot_settings.c). */
void larder__emit_settings(struct emit *e, const struct snapshot *s);
void larder__emit_larder(struct emit *e, const struct snapshot *s);

/* The history's own state. */
void larder__history_info(const struct allocator *a, larder_history_info *out);
