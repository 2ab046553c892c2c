/* snap_settings.h - the keys of allocator_settings that have one value of a
 * plain type, in PyTorch's order. */
#pragma once

/* X(TYPE, KEY, MEMBER) for each; struct snapshot_settings has MEMBER and
 * has_MEMBER. */
#define SNAP_SETTINGS(X)                                                       \
    X(signed, KEY_MAX_SPLIT, max_split_size)                                   \
    X(real, KEY_GC_THRESHOLD, garbage_collection_threshold)                    \
    X(bool, KEY_EXPANDABLE, expandable_segments)                               \
    X(signed, KEY_PINNED_THREADS, pinned_num_register_threads)                 \
    X(bool, KEY_RELEASE_LOCK, release_lock_on_cudamalloc)                      \
    X(bool, KEY_PINNED_REGISTER, pinned_use_cuda_host_register)                \
    X(bool, KEY_CAPTURE_REUSE, graph_capture_record_stream_reuse)
