/* snapshot.h - the contents of PyTorch's memory snapshots, as compact arrays.
 *
 * A snapshot is what torch.cuda.memory._snapshot() returns and _dump_snapshot()
 * pickles.  Strings, frames, stacks, streams and pools are each stored once and
 * referred to by 32-bit numbers; for strings and stacks number 0 means "none"
 * or "absent".
 *
 * Unknown keys are kept unchanged (snap_rest.h), so that the snapshot can be
 * written again.
 *
 * Which keys are present depends on the version of PyTorch that wrote the file.
 * Absent values are 0 here, and the `has` bits tell which were present:
 *
 *   2.0        segments and device_traces only; blocks have `history`
 *              (frames and real sizes) instead of `frames` and `address`;
 *              segments have neither frames nor pool id; events no time
 *   2.1, 2.2   + segment_pool_id, is_expandable, frames of segments and
 *              blocks, address of blocks; allocator_settings from 2.2 on
 *   2.3 - 2.5  + time_us of events; external_annotations from 2.5 on
 *   2.6 - 2.13 + compile_context, user_metadata, pool_id, device of events,
 *              graph_capture_record_stream_reuse, fx_* of frames, category,
 *              registration_counter
 *
 * Nothing here is thread safe, except reading a snapshot that nobody
 * changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tool_error.h"

enum snapshot_action {
    SNAPSHOT_ALLOC,
    SNAPSHOT_FREE_REQUESTED,
    SNAPSHOT_FREE_COMPLETED,
    SNAPSHOT_SEGMENT_ALLOC,
    SNAPSHOT_SEGMENT_FREE,
    SNAPSHOT_SEGMENT_MAP,
    SNAPSHOT_SEGMENT_UNMAP,
    SNAPSHOT_SNAPSHOT,
    SNAPSHOT_OOM,
    /* Unknown to this version: SNAPSHOT_OTHER + n is other_actions[n]. */
    SNAPSHOT_OTHER,
    SNAPSHOT_ACTION_MAX = 255
};

enum snapshot_state {
    SNAPSHOT_ACTIVE_ALLOCATED,
    SNAPSHOT_ACTIVE_PENDING_FREE, /* or active_awaiting_free in the file */
    SNAPSHOT_INACTIVE,
    SNAPSHOT_STATES
};

enum snapshot_segment_type {
    SNAPSHOT_SMALL,
    SNAPSHOT_LARGE,
    SNAPSHOT_TYPE_UNKNOWN /* the key is absent */
};

/* Bits of the `has` members: the key was present and not None. */
enum {
    SNAPSHOT_HAS_ADDRESS = 1 << 0, /* addr or device_free of an event */
    SNAPSHOT_HAS_COUNTER = 1 << 0, /* registration_counter of a segment */
    SNAPSHOT_HAS_TIME = 1 << 1,
    SNAPSHOT_HAS_POOL = 1 << 2,
    SNAPSHOT_HAS_FRAMES = 1 << 3, /* even if the list is empty */
    SNAPSHOT_HAS_DEVICE = 1 << 4,
    SNAPSHOT_HAS_REQUESTED = 1 << 5,
    SNAPSHOT_HAS_CONTEXT = 1 << 5,  /* compile_context of an event */
    SNAPSHOT_HAS_METADATA = 1 << 6, /* of an event or block, even if empty */
    SNAPSHOT_HAS_EXPANDABLE = 1 << 6,
    SNAPSHOT_HAS_HISTORY = 1 << 7
};

/* The device that a file calls -1, as in host_segments. */
enum { SNAPSHOT_ON_HOST = UINT16_MAX };

/* Members are 0 if their key is absent; filename, name and line are always
 * present. */
struct snapshot_frame {
    uint32_t filename; /* string */
    uint32_t name;     /* string */
    uint32_t line;
    uint32_t fx_node_op;        /* string */
    uint32_t fx_node_name;      /* string */
    uint32_t fx_original_trace; /* string */
    uint32_t rest;              /* string (snap_rest.h): other keys */
    /* Notebook cell, if the file is named by its content: numbered in order of
     * occurrence, from 1; 0: none. */
    uint32_t cell;
};

/* 48 bytes, because there are millions. */
struct snapshot_event {
    uint64_t address; /* OOM: device_free, the bytes the driver had left */
    uint64_t size;    /* as requested, for ALLOC and FREE_* */
    int64_t time_us;
    uint32_t stack;
    uint32_t stream;          /* for snapshot_stream() */
    uint32_t pool;            /* index of snapshot.pools */
    uint32_t user_metadata;   /* string; also holds `category` */
    uint32_t compile_context; /* string */
    uint16_t device;          /* the list the event is in */
    uint8_t action; /* enum snapshot_action, or beyond SNAPSHOT_OTHER */
    uint8_t has;
};

/* An entry in the history of an old version's block, newest first as in the
 * file. */
struct snapshot_history {
    uint64_t address;
    uint64_t real_size; /* as requested */
    uint32_t stack;
};

struct snapshot_block {
    uint64_t address; /* old versions: computed from the segment's */
    uint64_t size;
    uint64_t requested_size;
    uint32_t stack;         /* without frames: the newest in the history */
    uint32_t user_metadata; /* string */
    uint32_t history;       /* first of history_count in histories */
    uint32_t history_count;
    uint8_t state; /* enum snapshot_state */
    uint8_t has;
};

struct snapshot_segment {
    uint64_t address;
    uint64_t total_size;
    uint64_t allocated_size;
    uint64_t active_size;
    uint64_t requested_size;
    uint64_t registration_counter; /* UINT64_MAX for -1: none */
    size_t block;                  /* first of block_count in snapshot.blocks */
    size_t block_count;
    uint32_t stack;
    uint32_t stream; /* for snapshot_stream() */
    uint32_t pool;   /* index of snapshot.pools */
    uint16_t device;
    uint8_t type; /* enum snapshot_segment_type */
    bool expandable;
    uint8_t has;
};

/* pools[0] is (0, 0), the default. */
struct snapshot_pool {
    uint64_t a;
    uint64_t b;
};

/* Whether an event has a time of day, not only a number in its order: a history
 * that is `counted` (larder/history.h) begins at 1970, as that of a replayed
 * trace does. */
static inline bool snapshot_event_has_clock(const struct snapshot_event *e)
{
    const int64_t numbers_end = INT64_C(1000000000000); /* 11 days later */

    return (e->has & SNAPSHOT_HAS_TIME) != 0 && e->time_us >= numbers_end;
}

struct snapshot_annotation {
    int64_t time_us;
    uint32_t name;  /* string */
    uint32_t stage; /* string: START or END */
    uint16_t device;
};

/* An unknown key, or an action unknown to this version. */
struct snapshot_unknown {
    uint32_t name; /* string */
    uint64_t count;
};

/* Kinds of records that can have unknown keys, besides frames. */
enum snapshot_record {
    SNAPSHOT_OF_EVENT,
    SNAPSHOT_OF_BLOCK,
    SNAPSHOT_OF_SEGMENT,
    SNAPSHOT_OF_ANNOTATION,
    SNAPSHOT_OF_HISTORY,
    SNAPSHOT_RECORDS
};

struct snapshot_rest {
    uint64_t record; /* number among those of its kind */
    uint32_t pairs;  /* string (snap_rest.h) */
};

/* The records of one kind that have such keys, by number. */
struct snapshot_rests {
    struct snapshot_rest *at;
    size_t count;
};

/* The events of one device: events[first, first + count). */
struct snapshot_device {
    size_t first;
    size_t count;
};

enum { SNAPSHOT_ROUNDUP_MAX = 32, SNAPSHOT_CONFS = 3 };

/* A `has_` member is false if the key was absent. */
struct snapshot_settings {
    bool present; /* the file has allocator_settings */
    /* string: the value of PYTORCH_CUDA_ALLOC_CONF, or of one of the others if
     * that is empty */
    uint32_t conf;
    /* String plus 1, 0: absent; of PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF
     * and PYTORCH_HIP_ALLOC_CONF. */
    uint32_t confs[SNAPSHOT_CONFS];
    uint32_t rest;          /* string (snap_rest.h): other keys */
    int64_t max_split_size; /* bytes; -1: none */
    double garbage_collection_threshold;
    int64_t pinned_num_register_threads;
    bool has_max_split_size;
    bool has_garbage_collection_threshold;
    bool has_pinned_num_register_threads;
    bool has_expandable_segments;
    bool expandable_segments;
    bool has_release_lock_on_cudamalloc;
    bool release_lock_on_cudamalloc;
    bool has_pinned_use_cuda_host_register;
    bool pinned_use_cuda_host_register;
    bool has_graph_capture_record_stream_reuse;
    bool graph_capture_record_stream_reuse;
    bool has_roundup;
    size_t roundup_count; /* of roundup_power2_divisions, in file order */
    struct {
        uint64_t size_mib; /* the key: minimum request, in MiB */
        int64_t divisions;
    } roundup[SNAPSHOT_ROUNDUP_MAX];
};

/* What Larder says of itself in a snapshot that it wrote.  Strings are numbers
 * plus 1; 0: absent. */
struct snapshot_own {
    uint32_t policy;
    uint32_t conf;        /* every setting that is not a default */
    uint64_t total_bytes; /* of the device; 0: absent */
};

/* Read-only except for the reader. */
struct snapshot {
    /* What the file contained. */
    bool has_device_traces;
    bool has_external_annotations;
    bool is_json;
    uint8_t protocol; /* of the pickle */

    struct snapshot_device *devices;
    size_t device_count;
    struct snapshot_event *events; /* by device, then in file order */
    size_t event_count;
    uint64_t lost_events; /* of a full ring; only Larder reports this */

    struct snapshot_segment *segments; /* in file order */
    size_t segment_count;
    struct snapshot_block *blocks; /* by segment, then in file order */
    size_t block_count;
    struct snapshot_history *histories;
    size_t history_count;

    struct snapshot_settings settings;
    struct snapshot_own own;
    struct snapshot_annotation *annotations;
    size_t annotation_count;

    struct snapshot_frame *frames; /* all different */
    size_t frame_count;

    /* Stack n is stack_frames[stack_begins[n], stack_begins[n + 1]), innermost
     * frame first.  All are different; stack 0 is empty. */
    uint64_t *stack_begins;
    uint32_t *stack_frames;
    size_t stack_count;
    bool stacks_are_notes; /* see notes_as_stacks.h; false after reading */

    /* String n begins at string_bytes[string_begins[n]] and ends with a NUL;
     * snapshot_string_length() is its length.  All are different; they are
     * UTF-8 and may contain NULs.  String 0 is empty. */
    uint64_t *string_begins;
    char *string_bytes;
    size_t string_count;

    uint64_t *streams; /* all different, as in the file; [0] is 0 */
    size_t stream_count;
    struct snapshot_pool *pools;
    size_t pool_count;

    /* Records in lists under unknown keys, such as host_traces, are stored
     * after the regular ones: events[event_count, event_end), and so on. */
    size_t event_end;
    size_t segment_end;
    size_t block_end;
    struct snapshot_rests rests[SNAPSHOT_RECORDS];
    uint32_t rest; /* string (snap_rest.h): unknown outermost keys */

    struct snapshot_unknown *unknown_keys;
    size_t unknown_key_count;
    struct snapshot_unknown *other_actions;
    size_t other_action_count;
    uint64_t clamped_count; /* integers beyond 64 bits, clamped */

    uint64_t input_bytes; /* decompressed */
};

struct snapshot_read_options {
    uint64_t max_input_bytes;    /* decompressed; 0: SNAPSHOT_INPUT_DEFAULT */
    uint64_t *peak_memory_bytes; /* if not NULL: set, also on failure */
};

#define SNAPSHOT_INPUT_DEFAULT ((uint64_t)16 << 30)
enum { SNAPSHOT_DEPTH_MAX = 1000 }; /* of nesting */

/* Read a source, which is closed, with a pickle (protocols 0 to 5) or JSON (first
 * non-blank byte: `{`); `path` is for messages, and `options` may be NULL.
 *
 * A value of the wrong type, an opcode that would run code, and anything else
 * that no snapshot contains is an error: "FILE: byte N: ..."  ("FILE:LINE: byte
 * N: ..." for malformed JSON) and what was expected; *out is then NULL.
 * Memory: at most 4 bytes for each byte of input plus 64 MiB, otherwise an
 * error.  Cost: one pass. */
struct trace_source;
bool snapshot_read_source(struct trace_source *source, const char *path,
                          const struct snapshot_read_options *options,
                          struct snapshot **out, struct tool_error *error);

/* Accepts NULL. */
void snapshot_free(struct snapshot *s);

/* Whether a device has a recorded history, however short: a request, or a
 * release.  Without a history PyTorch stores the single last event, which is
 * not enough. */
bool snapshot_has_history(const struct snapshot *s, size_t device);

static inline const char *snapshot_string(const struct snapshot *s,
                                          uint32_t string)
{
    return s->string_bytes + s->string_begins[string];
}

static inline size_t snapshot_string_length(const struct snapshot *s,
                                            uint32_t string)
{
    return (size_t)(s->string_begins[string + 1] - s->string_begins[string] -
                    1);
}

/* The frames of a stack, innermost first; *count may be 0. */
static inline const uint32_t *snapshot_stack(const struct snapshot *s,
                                             uint32_t stack, size_t *count)
{
    *count = (size_t)(s->stack_begins[stack + 1] - s->stack_begins[stack]);
    return s->stack_frames + s->stack_begins[stack];
}

/* A stream as in the file: 0, or the address of a cudaStream_t. */
static inline uint64_t snapshot_stream(const struct snapshot *s,
                                       uint32_t stream)
{
    return s->streams[stream];
}

/* PyTorch's names; NULL beyond the last one. */
const char *snapshot_action_name(enum snapshot_action action);
const char *snapshot_state_name(enum snapshot_state state);
