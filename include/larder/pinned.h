/* pinned.h - pinned (page-locked) host memory, which a GPU copies to and from
 * at full speed and asynchronously.
 *
 * Pinning takes a driver hundreds of microseconds per MiB, so pinned memory is
 * cached and split like device memory, by the same engine:
 *
 *   larder_allocator *pinned;
 *   void *buffer;
 *   larder_pinned_create(dev, NULL, &pinned);
 *   larder_pinned_alloc(pinned, bytes, &buffer);
 *   ... copy from it on `stream` ...
 *   larder_pinned_record_stream(pinned, buffer, stream);
 *   larder_pinned_free(pinned, buffer);      reused when the copy is done
 *   larder_destroy(pinned);
 *
 * The functions of larder.h and history.h work on such an allocator too:
 * larder_empty_cache(), larder_trim(), larder_configure(), larder_stats_get(),
 * larder_walk(), larder_check(), snapshots, reclaim callbacks, out-of-memory
 * observers.  Addresses are pointers.
 *
 * Sizes  A request of up to 2 KiB is rounded up to a multiple of 256 bytes; a
 *        larger one to the next of eight steps between two powers of two, at
 *        most 12.5 % more than requested.  (PyTorch: the next power of two.)
 *        The remainder of a larger segment serves other requests.  Unused
 *        segments are released before more is held than 5/4 of the peak in use.
 * Order  The host uses pinned memory and waits for no stream.  So every stream
 *        that copies to or from a block must be recorded, the default stream
 *        included; a freed block is reused when all of them have reached the
 *        free. */
#ifndef LARDER_PINNED_H
#define LARDER_PINNED_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The stream of pinned blocks in larder_walk(), snapshots and events.  No
 * device has this stream. */
#define LARDER_PINNED_STREAM ((larder_stream)INT64_MAX)

/* Create an allocator of pinned host memory for `dev`, which must outlive it.
 * `opt` may be NULL; its policy must be 0.  Of the settings (opt->conf, or
 * LARDER_CONF) only pinned_*, history*, dump_on_oom, trim_age and
 * reclaim_budget_ms take effect; the others concern device memory and are only
 * checked.  The first allocation acquires memory; larder_destroy() releases it.
 * ERR_UNSUPPORTED if the device has no pinned memory. */
LARDER_API larder_result larder_pinned_create(larder_device *dev,
                                              const larder_options *opt,
                                              larder_allocator **out);

/* Allocate `bytes`, aligned to 256, until larder_pinned_free().  0 bytes yields
 * NULL and has no other effect.  Not zeroed.
 *
 * ERR_OUT_OF_MEMORY if pinned_limit or the driver allows no more, even after
 * unused memory was released.  ERR_INVALID for an allocator that
 * larder_pinned_create() did not create.
 * Any thread.  A cache hit costs less than a microsecond, a miss the driver's
 * time to pin memory. */
LARDER_API larder_result larder_pinned_alloc(larder_allocator *pinned,
                                             uint64_t bytes, void **out);

/* Free a block of larder_pinned_alloc().  NULL is a no-op.  The block may be
 * reused at once, or, if streams were recorded, once they have reached this
 * point.  ERR_DOUBLE_FREE and ERR_UNKNOWN_ADDRESS name the address and change
 * nothing.  Any thread. */
LARDER_API larder_result larder_pinned_free(larder_allocator *pinned,
                                            void *ptr);

/* Declare that work queued on `stream` uses the block at `ptr`.  (PyTorch:
 * record_event of CachingHostAllocator.)  ERR_UNKNOWN_ADDRESS unless a live
 * block begins at `ptr`.  Any thread. */
LARDER_API larder_result larder_pinned_record_stream(larder_allocator *pinned,
                                                     void *ptr,
                                                     larder_stream stream);

/* Of calls that succeeded. */
typedef struct larder_pinned_duration {
    uint64_t total_us;
    uint64_t max_us;
    uint64_t min_us;
    uint64_t count;
    uint64_t avg_us;
} larder_pinned_duration;

/* The statistics of torch.cuda.host_memory_stats(), by the same names. */
typedef struct larder_pinned_stats {
    size_t size;                 /* set by larder_pinned_stats_init() */
    larder_stat allocations;     /* segments acquired from the driver */
    larder_stat allocated_bytes; /* their bytes, in use or cached */
    larder_stat active_requests; /* blocks allocated, or freed and waiting */
    larder_stat active_bytes;    /* their bytes, after rounding */
    int64_t num_host_alloc;
    int64_t num_host_free;
    larder_pinned_duration host_alloc_time;
    larder_pinned_duration host_free_time;
} larder_pinned_stats;

LARDER_API void larder_pinned_stats_init_sized(larder_pinned_stats *st,
                                               size_t size);
#define larder_pinned_stats_init(st)                                           \
    larder_pinned_stats_init_sized((st), sizeof *(st))

/* Copy the statistics, a consistent snapshot: O(1).  larder_stats_reset_peak()
 * and larder_stats_reset_accumulated() reset them, except for the durations.
 * larder_stats_get() has more.  ERR_INVALID for an allocator that is not of
 * pinned memory. */
LARDER_API larder_result larder_pinned_stats_get(larder_allocator *pinned,
                                                 larder_pinned_stats *st);

#ifdef __cplusplus
}
#endif
#endif
