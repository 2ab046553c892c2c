/* snapshot_words.h - the strings that have a meaning in a snapshot.  They are the
 * first in the string table of one that was read, so a string's number tells
 * which word it is. */
#pragma once

/* Keys of records: fewer than 64, so that a set of them fits a 64-bit word. */
#define SNAP_RECORD_KEYS(X)                                                    \
    X(KEY_ACTION, "action")                                                    \
    X(KEY_ADDR, "addr")                                                        \
    X(KEY_DEVICE_FREE, "device_free")                                          \
    X(KEY_SIZE, "size")                                                        \
    X(KEY_STREAM, "stream")                                                    \
    X(KEY_TIME_US, "time_us")                                                  \
    X(KEY_FRAMES, "frames")                                                    \
    X(KEY_DEVICE, "device")                                                    \
    X(KEY_POOL_ID, "pool_id")                                                  \
    X(KEY_CATEGORY, "category")                                                \
    X(KEY_USER_METADATA, "user_metadata")                                      \
    X(KEY_COMPILE_CONTEXT, "compile_context")                                  \
    X(KEY_FILENAME, "filename")                                                \
    X(KEY_LINE, "line")                                                        \
    X(KEY_NAME, "name")                                                        \
    X(KEY_FX_NODE_OP, "fx_node_op")                                            \
    X(KEY_FX_NODE_NAME, "fx_node_name")                                        \
    X(KEY_FX_ORIGINAL_TRACE, "fx_original_trace")                              \
    X(KEY_ADDRESS, "address")                                                  \
    X(KEY_REQUESTED_SIZE, "requested_size")                                    \
    X(KEY_STATE, "state")                                                      \
    X(KEY_HISTORY, "history")                                                  \
    X(KEY_REAL_SIZE, "real_size")                                              \
    X(KEY_TOTAL_SIZE, "total_size")                                            \
    X(KEY_ALLOCATED_SIZE, "allocated_size")                                    \
    X(KEY_ACTIVE_SIZE, "active_size")                                          \
    X(KEY_SEGMENT_TYPE, "segment_type")                                        \
    X(KEY_SEGMENT_POOL_ID, "segment_pool_id")                                  \
    X(KEY_IS_EXPANDABLE, "is_expandable")                                      \
    X(KEY_BLOCKS, "blocks")                                                    \
    X(KEY_REGISTRATION_COUNTER, "registration_counter")                        \
    X(KEY_STAGE, "stage")

#define SNAP_OTHER_KEYS(X)                                                     \
    X(KEY_SEGMENTS, "segments")                                                \
    X(KEY_DEVICE_TRACES, "device_traces")                                      \
    X(KEY_ALLOCATOR_SETTINGS, "allocator_settings")                            \
    X(KEY_EXTERNAL_ANNOTATIONS, "external_annotations")                        \
    X(KEY_HOST_SEGMENTS, "host_segments")                                      \
    X(KEY_HOST_TRACES, "host_traces")                                          \
    X(KEY_IS_RESERVED, "is_reserved")                                          \
    X(KEY_OFFSET, "offset")                                                    \
    X(KEY_CUDA_CONF, "PYTORCH_CUDA_ALLOC_CONF")                                \
    X(KEY_CONF, "PYTORCH_ALLOC_CONF")                                          \
    X(KEY_HIP_CONF, "PYTORCH_HIP_ALLOC_CONF")                                  \
    X(KEY_MAX_SPLIT, "max_split_size")                                         \
    X(KEY_GC_THRESHOLD, "garbage_collection_threshold")                        \
    X(KEY_EXPANDABLE, "expandable_segments")                                   \
    X(KEY_PINNED_THREADS, "pinned_num_register_threads")                       \
    X(KEY_RELEASE_LOCK, "release_lock_on_cudamalloc")                          \
    X(KEY_PINNED_REGISTER, "pinned_use_cuda_host_register")                    \
    X(KEY_CAPTURE_REUSE, "graph_capture_record_stream_reuse")                  \
    X(KEY_ROUNDUP, "roundup_power2_divisions")                                 \
    X(KEY_LARDER, "larder")                                                    \
    X(KEY_STACKS, "stacks")                                                    \
    X(KEY_LOST_EVENTS, "history_lost_events")                                  \
    X(KEY_OWN_POLICY, "policy")                                                \
    X(KEY_OWN_CONF, "conf")                                                    \
    X(KEY_TOTAL_BYTES, "device_total_bytes")

/* Values, in the order of their enumerations in snapshot.h. */
#define SNAP_ACTIONS(X)                                                        \
    X(WORD_ALLOC, "alloc")                                                     \
    X(WORD_FREE_REQUESTED, "free_requested")                                   \
    X(WORD_FREE_COMPLETED, "free_completed")                                   \
    X(WORD_SEGMENT_ALLOC, "segment_alloc")                                     \
    X(WORD_SEGMENT_FREE, "segment_free")                                       \
    X(WORD_SEGMENT_MAP, "segment_map")                                         \
    X(WORD_SEGMENT_UNMAP, "segment_unmap")                                     \
    X(WORD_SNAPSHOT, "snapshot")                                               \
    X(WORD_OOM, "oom")

#define SNAP_STATES(X)                                                         \
    X(WORD_ACTIVE_ALLOCATED, "active_allocated")                               \
    X(WORD_ACTIVE_PENDING_FREE, "active_pending_free")                         \
    X(WORD_INACTIVE, "inactive")

#define SNAP_TYPES(X)                                                          \
    X(WORD_SMALL, "small")                                                     \
    X(WORD_LARGE, "large")

#define SNAP_STAGES(X) X(WORD_START, "START")

/* The name of active_pending_free in older documents. */
#define SNAP_ALIASES(X) X(WORD_AWAITING_FREE, "active_awaiting_free")

#define SNAP_WORDS(X)                                                          \
    SNAP_RECORD_KEYS(X)                                                        \
    SNAP_OTHER_KEYS(X)                                                         \
    SNAP_ACTIONS(X)                                                            \
    SNAP_STATES(X)                                                             \
    SNAP_TYPES(X)                                                              \
    SNAP_STAGES(X)                                                             \
    SNAP_ALIASES(X)

#define SNAP_WORD_NUMBER(word, text) word,

enum snap_word {
    WORD_EMPTY, /* string 0 */
    SNAP_WORDS(SNAP_WORD_NUMBER) SNAP_WORD_COUNT,
    SNAP_RECORD_KEY_END = KEY_STAGE + 1
};

#define SNAP_BIT(key) (UINT64_C(1) << (key))

/* Their texts, by number. */
extern const char *const larder__snapshot_words[SNAP_WORD_COUNT];
