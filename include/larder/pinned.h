/* pinned.h - pinned host memory: page-locked, so that a GPU copies to and from
 * it at full speed and without the host waiting.
 *
 * Pinning takes a driver hundreds of microseconds for each MiB, so what was
 * pinned is kept and cut, as device memory is, by the same engine:
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
 * What larder.h and history.h offer on an allocator works here too:
 * larder_empty_cache(), larder_trim(), larder_configure(), larder_stats_get(),
 * larder_walk(), larder_check(), snapshots, reclaim callbacks, out-of-memory
 * observers.  Addresses are pointers.
 *
 * Sizes  A request up to 2 KiB takes the next multiple of 256 bytes; a larger
 *        one the next of eight steps between two powers of two, at most
 *        12.5 % more than was asked for.  (PyTorch: the next power of two.)
 *        What a request leaves of a larger piece serves others; before more
 *        than 5/4 of what was ever in use is held, unused pieces go.
 * Order  Pinned memory is used by the host, which waits for no stream.  So
 *        each stream that copies to or from a block must be recorded, the
 *        default stream too; a freed block is reused when all have passed. */
#ifndef LARDER_PINNED_H
#define LARDER_PINNED_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The stream that larder_walk(), snapshots and events name for pinned
 * blocks.  No stream of a device. */
#define LARDER_PINNED_STREAM ((larder_stream)INT64_MAX)

/* Make an allocator of pinned host memory for `dev`, which must outlive it.
 * `opt` may be NULL; its policy must be 0.  Of the settings (opt->conf, or
 * LARDER_CONF) those named pinned_* are heeded, history*, dump_on_oom,
 * trim_age and reclaim_budget_ms; the others are about device memory and
 * checked only.  Takes nothing from the driver before the first allocation;
 * larder_destroy() releases all.
 * ERR_UNSUPPORTED if the device has no pinned memory. */
LARDER_API larder_result larder_pinned_create(larder_device *dev,
                                              const larder_options *opt,
                                              larder_allocator **out);

/* Allocate `bytes`, aligned to 256; the caller's until larder_pinned_free().
 * 0 bytes gives NULL and touches nothing.  Not zeroed.
 *
 * ERR_OUT_OF_MEMORY when pinned_limit or the driver leaves no more, after
 * what nothing uses was released.  ERR_INVALID for an allocator that
 * larder_pinned_create() did not make.
 * Any thread.  A block that is cached costs under a microsecond; what must be
 * pinned costs the driver's time. */
LARDER_API larder_result larder_pinned_alloc(larder_allocator *pinned,
                                             uint64_t bytes, void **out);

/* Free what larder_pinned_alloc() gave.  NULL is a no-op.  It is reused
 * at once, or when the streams recorded for it have passed this point.
 * ERR_DOUBLE_FREE and ERR_UNKNOWN_ADDRESS name the address and change
 * nothing.  Any thread. */
LARDER_API larder_result larder_pinned_free(larder_allocator *pinned,
                                            void *ptr);

/* Say that work queued so far on `stream` uses the block at `ptr`.  (PyTorch:
 * record_event of CachingHostAllocator.)  ERR_UNKNOWN_ADDRESS unless `ptr` is
 * where a live block begins.  Any thread. */
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

/* What torch.cuda.host_memory_stats() says, by its names. */
typedef struct larder_pinned_stats {
    size_t size;                 /* set by larder_pinned_stats_init() */
    larder_stat allocations;     /* pieces had from the driver */
    larder_stat allocated_bytes; /* their bytes, in use or cached */
    larder_stat active_requests; /* blocks handed out, or freed and waiting */
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

/* Copy out the statistics: O(1), all from one moment.
 * larder_stats_reset_peak() and larder_stats_reset_accumulated() act on them,
 * the times excepted, which count from the beginning.  larder_stats_get() has
 * more.  ERR_INVALID for an allocator that is not of pinned memory. */
LARDER_API larder_result larder_pinned_stats_get(larder_allocator *pinned,
                                                 larder_pinned_stats *st);

#ifdef __cplusplus
}
#endif
#endif
