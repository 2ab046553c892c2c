/* larder.h - a caching memory allocator for GPUs: the allocator's public API.
 *
 * Larder acquires large segments from a driver, allocates blocks from them,
 * caches freed blocks for reuse and releases memory on request.  Addresses are
 * device addresses: the library never dereferences them.
 *
 *   larder_device *dev;
 *   larder_allocator *a;
 *   larder_addr p;
 *   larder_device_open("sim:80GiB", 0, &dev);
 *   larder_create(dev, NULL, &a);
 *   if (larder_alloc(a, 1 << 20, 0, &p) != LARDER_OK)
 *       puts(larder_last_error());
 *   larder_free(a, p);
 *   larder_destroy(a);
 *   larder_device_close(dev);
 *
 * Errors     Calls that can fail return larder_result; outputs are written
 *            only on LARDER_OK.  The library never aborts, prints or exits.
 *            larder_last_error() describes the failure.
 * Threads    Any thread may call any function on any object at any time, with
 *            one exception: no other call on an object may overlap the call
 *            that destroys it.  Under the setting debug:1 larder_destroy()
 *            detects such an overlap and returns LARDER_ERR_BUSY; otherwise
 *            the behaviour is undefined.  Later calls return
 *            LARDER_ERR_DESTROYED.  Memory may be freed by a thread other than
 *            the one that allocated it.
 * Forks      Devices, allocators and everything created from them belong to
 *            the process that created them.  In a child of fork() every call on
 *            them, _destroy and _close included, returns LARDER_ERR_FORKED
 *            before it takes a lock.  The child cannot change its parent's
 *            state, whatever the parent's threads were doing, and may create
 *            devices and allocators of its own.
 * Ownership  The caller releases what _create, _open and _take return, with
 *            _destroy or _close.  It must not free strings that are returned as
 *            const char *.  Option strings are copied.
 * Growth     Structs start with `size`, set by their _init macro, and grow
 *            only at the end; zero always means "the default", so programs
 *            built against an older header keep working.
 * Units      Sizes are bytes unless a name says otherwise.
 */
#ifndef LARDER_LARDER_H
#define LARDER_LARDER_H

#include <stddef.h>
#include <stdint.h>

#define LARDER_VERSION_MAJOR 0
#define LARDER_VERSION_MINOR 1
#define LARDER_VERSION_PATCH 0
#define LARDER_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define LARDER_API __attribute__((visibility("default")))
#else
#define LARDER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results --------------------------------------------------------- */

/* Values are part of the ABI: add at the end, never renumber. */
#define LARDER_RESULT_MAP(X)                                                   \
    X(OK, 0, "success")                                                        \
    X(ERR_INVALID, 1, "invalid argument")                                      \
    X(ERR_OUT_OF_MEMORY, 2, "out of device memory")                            \
    X(ERR_NO_HOST_MEMORY, 3, "out of host memory")                             \
    X(ERR_DEVICE, 4, "the device refused a call")                              \
    X(ERR_UNKNOWN_ADDRESS, 5, "not an address of a live allocation")           \
    X(ERR_DOUBLE_FREE, 6, "the address was freed before")                      \
    X(ERR_UNKNOWN_POOL, 7, "no such private pool")                             \
    X(ERR_UNKNOWN_STREAM, 8, "the device has no such stream")                  \
    X(ERR_CONF, 9, "malformed configuration")                                  \
    X(ERR_UNSUPPORTED, 10, "not supported here")                               \
    X(ERR_CAPTURING, 11, "not permitted while a stream is being captured")     \
    X(ERR_NOT_READY, 12, "the queued work has not completed")                  \
    X(ERR_DESTROYED, 13, "the allocator was destroyed")                        \
    X(ERR_CORRUPT, 14, "an internal invariant is violated")                    \
    X(ERR_BUSY, 15, "still in use")                                            \
    X(ERR_SYSTEM, 16, "the operating system refused a call")                   \
    X(ERR_PAUSED, 17, "the memory of this tag is paused")                      \
    X(ERR_FORKED, 18, "created before a fork, by the parent process")          \
    X(ERR_OVERWRITTEN, 19, "memory outside of allocations was written")        \
    X(ERR_LEAKED, 20, "allocations were not freed")                            \
    X(ERR_UNRECORDED, 21, "a stream that was not recorded uses freed memory")

typedef enum larder_result {
#define X(name, code, text) LARDER_##name = code,
    LARDER_RESULT_MAP(X)
#undef X
} larder_result;

/* "LARDER_ERR_INVALID"; "LARDER_ERR_?" for an unknown value.  Static. */
LARDER_API const char *larder_result_name(larder_result r);

/* A one-line description.  Static. */
LARDER_API const char *larder_result_text(larder_result r);

/* The message of the last call that failed on this thread: at least the
 * result's text; for LARDER_ERR_OUT_OF_MEMORY the full explanation.  Valid
 * until this thread's next failing call; never NULL; "" before the first. */
LARDER_API const char *larder_last_error(void);

/* The version of the loaded library, "0.1.0".  Static. */
LARDER_API const char *larder_version(void);

/* ---- basic types ----------------------------------------------------- */

/* A device address.  0 is never a live allocation. */
typedef uint64_t larder_addr;

/* A stream of the device: the value of its handle; 0 is the default stream. */
typedef uint64_t larder_stream;

/* Structures that begin with `size` are set by larder_NAME_init(), or begin as
 *
 *   larder_tag_usage usage = LARDER_TAG_USAGE_INIT;
 *
 * which sets `size` and leaves the other fields 0. */
#ifdef __cplusplus
#define LARDER_SIZED_INIT(type)                                                \
    {                                                                          \
        sizeof(type)                                                           \
    }
#else
#define LARDER_SIZED_INIT(type)                                                \
    {                                                                          \
        .size = sizeof(type)                                                   \
    }
#endif

typedef struct larder_device larder_device;       /* opaque; see device.h */
typedef struct larder_allocator larder_allocator; /* opaque */

/* Parse "512", "4KiB", "2MiB", "80GiB", "1TiB": a number and an optional
 * binary suffix k, m, g or t (any case, optionally followed by B or iB).  A
 * number with a unit may have decimals, "1.5GiB", and is rounded down to whole
 * bytes.  ERR_INVALID for anything else and for values above 2^63. */
LARDER_API larder_result larder_parse_size(const char *text, uint64_t *out);

/* ---- devices ---------------------------------------------------------- */

/* Open device number `ordinal` of `spec`:
 *
 *   sim:SIZE|CARD[,backing=memory|none|SIZE][,vmm=on|off][,context=SIZE]
 *           [,events=auto|manual|immediate|driver][,costs=FILE][,shared=NAME]
 *           [,count=N][,export=none|fd|fabric]
 *   cuda:N[,export=none|fd|fabric]
 *   hip:N[,export=none|fd]
 *
 * CARD is the name of one, such as h100, rtx4090 or 4090 (data/cards/cards.tsv):
 * it stands for its memory, its context and its name.
 *
 * sim.h documents the simulated GPU.  `ordinal` must be less than count.
 *
 * cuda and hip open device N + ordinal of the driver of that name, which this
 * call loads; hip has not been tried on hardware.  The first call that needs
 * the device's primary context retains it; calling threads may have any
 * context current, or none.  `export` selects how pages can be sent to other
 * processes (share.h); default none.
 *
 * ERR_INVALID: the message names the wrong part of the spec.  ERR_UNSUPPORTED:
 * the driver cannot be loaded, lacks a function, or has no GPU. */
LARDER_API larder_result larder_device_open(const char *spec, int ordinal,
                                            larder_device **out);

/* Close a device.  ERR_BUSY, with no effect, while an allocator or imported
 * memory uses it.  NULL is a no-op. */
LARDER_API larder_result larder_device_close(larder_device *dev);

/* ---- allocators ------------------------------------------------------- */

/* How memory is chosen.  Everything else (streams, pools, statistics) is the
 * same under every policy.
 *
 * `Requested` is the size that was asked for, `allocated` the size of the block
 * that serves the request.  A block is larger than its request by rounding
 * (less than 256 bytes; `pytorch`: 512) and by the remainder that the policy
 * does not split off: under LARDER_POLICY_LARDER none, under `pytorch` up to
 * 1 MiB of a large block, more with max_split_size_mb.  In private pools and
 * on devices without virtual memory LARDER_POLICY_LARDER splits as `pytorch`
 * does. */
typedef enum larder_policy {
    LARDER_POLICY_DEFAULT = 0, /* LARDER_POLICY_LARDER */
    LARDER_POLICY_PYTORCH = 1, /* PyTorch's native policy, exactly */
    LARDER_POLICY_DIRECT = 2,  /* one driver call per request: a baseline */
    LARDER_POLICY_LARDER =
        3 /* moves pages where they are needed (docs/POLICY.md) */
} larder_policy;

/* Parse "larder", "pytorch" or "direct"; LARDER_ERR_INVALID otherwise. */
LARDER_API larder_result larder_policy_parse(const char *name,
                                             larder_policy *out);
/* The name of a policy, "?" for an unknown value.  LARDER_POLICY_DEFAULT has
 * the name of the policy it stands for.  Static. */
LARDER_API const char *larder_policy_name(larder_policy policy);

/* Initialise with larder_options_init(); zero fields mean the default. */
typedef struct larder_options {
    size_t size;          /* set by larder_options_init() */
    larder_policy policy; /* 0 = LARDER_POLICY_DEFAULT */
    uint32_t flags;       /* must be 0 */
    /* Settings in PyTorch's grammar, "key:value,key:value"; the keys are in
     * larder-conf(5).  NULL: the environment variable LARDER_CONF, if set and
     * the program is not set-user-ID; "": none. */
    const char *conf;
} larder_options;

LARDER_API void larder_options_init_sized(larder_options *opt, size_t size);
#define larder_options_init(opt) larder_options_init_sized((opt), sizeof *(opt))

/* Create an allocator on `dev`, which must outlive it.  `opt` may be NULL.
 * Acquires no device memory: the first allocation does. */
LARDER_API larder_result larder_create(larder_device *dev,
                                       const larder_options *opt,
                                       larder_allocator **out);

/* Wait for recorded streams, release all memory to the device, live
 * allocations included, and destroy the allocator.  Later calls with the
 * handle return LARDER_ERR_DESTROYED.  NULL is a no-op.
 *
 * With no effect: LARDER_ERR_CAPTURING while a stream that memory was allocated
 * on is being captured, because the device could not release memory;
 * LARDER_ERR_BUSY under debug:1 while another call on the allocator is in
 * progress, including one whose callback makes this call.
 *
 * With the allocator destroyed: LARDER_ERR_OVERWRITTEN under debug:2, see
 * larder_free(); LARDER_ERR_LEAKED under debug:3 if allocations were live;
 * LARDER_ERR_DEVICE if the device refused to release some memory, which is then
 * lost. */
LARDER_API larder_result larder_destroy(larder_allocator *a);

/* Change settings of a running allocator.  As in PyTorch, each call first
 * resets max_split_size_mb, roundup_power2_divisions and
 * garbage_collection_threshold to their defaults; other keys keep their
 * value.  Under the policy `pytorch` with `pytorch:2.10` or later
 * per_process_memory_fraction limits nothing here, as in PyTorch: use
 * larder_set_memory_fraction().  On failure nothing changes: LARDER_ERR_CONF, also for another value of
 * a key that is fixed when the allocator is created; LARDER_ERR_NO_HOST_MEMORY
 * or LARDER_ERR_SYSTEM if a key needs a history or a thread that cannot be
 * created; LARDER_ERR_OUT_OF_MEMORY if a minimum cannot be kept. */
LARDER_API larder_result larder_configure(larder_allocator *a,
                                          const char *conf);

/* Check the syntax of `conf`: LARDER_OK, or LARDER_ERR_CONF with a description
 * in larder_last_error(). */
LARDER_API larder_result larder_conf_check(const char *conf);

/* The names of all keys; NULL past the last.  Static. */
LARDER_API const char *larder_conf_key(size_t index);

/* What a request of `bytes` bytes takes from the device under the settings
 * `conf` and the policy `pytorch` if nothing that is cached serves it: a segment
 * of *segment_bytes, or, with expandable segments, as many pages of *page_bytes
 * as are missing.  Either may be NULL.  ERR_CONF: as larder_conf_check(). */
LARDER_API larder_result larder_conf_segment(const char *conf, uint64_t bytes,
                                             uint64_t *segment_bytes,
                                             uint64_t *page_bytes);

/* The releases of PyTorch that the setting `pytorch` accepts, oldest first;
 * NULL past the last.  Static.  The setting also takes the version of a build
 * of one of them, as torch.__version__ has it: "2.9.1+cu128" is 2.9. */
LARDER_API const char *larder_pytorch_release(size_t index);

/* Change `number` of release `index` from the release before it: a description,
 * and the setting that restores the old behaviour, "" if there is none.
 * ERR_INVALID past the last change.  The strings are static. */
LARDER_API larder_result larder_pytorch_change(size_t index, size_t number,
                                               const char **words,
                                               const char **restored);

/* ---- memory ------------------------------------------------------------ */

/* Allocate `bytes` for use on `stream`.  0 bytes yields address 0 and has no
 * other effect.  The block has at least `bytes` bytes and is aligned to 512,
 * under the policy `larder` to 256.
 *
 * ERR_OUT_OF_MEMORY if not even the release of everything that may be released
 * makes room; larder_last_error() explains.  ERR_UNKNOWN_STREAM,
 * ERR_NO_HOST_MEMORY, ERR_DEVICE.  A failure leaves live allocations
 * unchanged.  Cost of a cache hit: tens of nanoseconds, no system call, no
 * driver call. */
LARDER_API larder_result larder_alloc(larder_allocator *a, uint64_t bytes,
                                      larder_stream stream, larder_addr *out);

/* Free an allocation.  Address 0 is a no-op.  The block may be reused on its
 * own stream at once, or, if other streams were recorded, once they have
 * reached this point.
 *
 * ERR_DOUBLE_FREE and ERR_UNKNOWN_ADDRESS name the address and change nothing.
 * A double free is distinguished from a foreign address until the memory is
 * allocated again or released to the device.
 *
 * Under debug:2 the call waits for the block's stream and checks the memory
 * around the allocation.  ERR_OVERWRITTEN names a location that was written
 * there or in memory freed earlier.  ERR_UNRECORDED, only on a device that
 * knows its queued work (the simulated one: docs/DEBUG.md), means that a stream
 * that was not recorded still uses the allocation, and that no recorded stream
 * waits for that work.  In both cases the allocation is freed. */
LARDER_API larder_result larder_free(larder_allocator *a, larder_addr addr);

/* Declare that work queued on `stream` uses this allocation: when it is freed
 * it is not reused before the work queued there by then has completed.  The
 * allocation's own stream is ignored.  (PyTorch: Tensor.record_stream.)
 * ERR_UNKNOWN_ADDRESS (also for address 0) or ERR_DOUBLE_FREE unless a live
 * allocation begins there; ERR_UNKNOWN_STREAM; ERR_NO_HOST_MEMORY. */
LARDER_API larder_result larder_record_stream(larder_allocator *a,
                                              larder_addr addr,
                                              larder_stream stream);

/* Wait for recorded streams, then release to the device every unused segment
 * and every unused whole page of an expandable segment.  Private pools that
 * have users keep their memory, and reserved pieces stay.  ERR_CAPTURING, with
 * no effect, while a capture may be in progress (larder_pool_begin()); with the
 * setting `pytorch:2.8` or later the pools without users are released then, and
 * nothing else. */
LARDER_API larder_result larder_empty_cache(larder_allocator *a);

/* Release cached memory until at most `target_bytes` are reserved or no more
 * can be released; 0 releases all.  Stops at the target, rounded to whole
 * segments or pages.  Memory that a recorded stream may still use stays; the
 * streams of pages that are unmapped are waited for.  Private pools that have
 * users keep their memory, and reserved pieces stay.  `released`, if not NULL,
 * receives the bytes released.  The setting `trim_age` does this in the
 * background.  ERR_CAPTURING as for larder_empty_cache().
 * Any thread.  O(free blocks), plus the driver's time. */
LARDER_API larder_result larder_trim(larder_allocator *a, uint64_t target_bytes,
                                     uint64_t *released);

/* Acquire one piece of `bytes` (rounded up to 2 MiB) from the device now;
 * segments are carved from it before the device is asked for more.  It counts
 * as reserved until larder_destroy(): larder_empty_cache() does not release
 * it.  A segment that returns to the piece may be carved for any stream, so,
 * like a driver's free, the call that releases it first waits for the segment's
 * stream.  The setting `preallocate:SIZE` does this at the first allocation.
 * ERR_OUT_OF_MEMORY if the device or a limit does not permit it (cached memory
 * is not released for it); ERR_INVALID for 0 bytes; ERR_NO_HOST_MEMORY,
 * ERR_DEVICE. */
LARDER_API larder_result larder_reserve(larder_allocator *a, uint64_t bytes);

/* Limit reserved bytes to this fraction of the device's memory;
 * 0 <= fraction <= 1, otherwise ERR_INVALID.  The driver's context does not
 * count, and memory already held stays. */
LARDER_API larder_result larder_set_memory_fraction(larder_allocator *a,
                                                    double fraction);

/* The fraction that was set, 1 if none was. */
LARDER_API larder_result larder_memory_fraction(larder_allocator *a,
                                                double *out);

/* Size of the largest cached block of any pool, 0 if nothing is cached.
 * O(pools).  (PyTorch: cacheInfo.) */
LARDER_API larder_result larder_largest_cached(larder_allocator *a,
                                               uint64_t *out);

/* The address and size of the segment that contains a live allocation.
 * ERR_UNKNOWN_ADDRESS or ERR_DOUBLE_FREE if none begins at `addr`;
 * ERR_UNSUPPORTED for expandable segments, which are not one allocation of the
 * driver.  (PyTorch: getBaseAllocation.) */
LARDER_API larder_result larder_base_allocation(larder_allocator *a,
                                                larder_addr addr,
                                                larder_addr *base,
                                                uint64_t *bytes);

/* Called when no cached block fits, before the device is asked.  Returns
 * nonzero if it freed something: the cache is then searched again.  Called
 * without locks held; may call the allocator, except to allocate or to destroy
 * it.  Never called under LARDER_POLICY_DIRECT, which has no cache. */
typedef int larder_reclaim_fn(void *ctx);
LARDER_API larder_result larder_add_reclaim(larder_allocator *a,
                                            larder_reclaim_fn *fn, void *ctx);

/* Called without locks held when an allocation runs out of memory, before the
 * call returns.  Not called for requests of 2^60 bytes or more, which always
 * fail. */
typedef struct larder_oom_info {
    uint64_t requested_bytes; /* as the caller asked */
    uint64_t segment_bytes;   /* needed from the device to serve it */
    larder_stream stream;
    uint64_t device_total_bytes; /* or the limit, if lower */
    uint64_t device_free_bytes;
    const char *message; /* the full explanation; valid during the call */
} larder_oom_info;
typedef void larder_oom_fn(void *ctx, const larder_oom_info *info);
LARDER_API larder_result larder_add_oom_observer(larder_allocator *a,
                                                 larder_oom_fn *fn, void *ctx);

/* ---- private pools ------------------------------------------------------ */

/* Identifies a private pool, like PyTorch's MempoolId_t; {0, 0} is the default
 * pool and cannot be begun. */
typedef struct larder_pool_id {
    uint64_t first;
    uint64_t second;
} larder_pool_id;

/* Returns whether allocations on `stream` use the pool.  Called once or several
 * times for a request, by the thread that makes it and by one thread at a time,
 * with locks of the allocator held: must not call the allocator. */
typedef int larder_pool_filter(void *ctx, larder_stream stream);

/* Begin the pool: until larder_pool_end(), allocations on streams that the
 * filter accepts (all if it is NULL) come from it.  The first call creates the
 * pool; every call adds a user.
 *
 * While any pool is begun a capture may be in progress: recorded streams are
 * not polled and cached memory is not released.  With the setting
 * `pytorch:2.13` or later this holds only between larder_capture_begin() and
 * larder_capture_end(), and a pool that lends is exempt
 * (larder_pool_set_lending()).  larder_record_stream() has no effect meanwhile
 * for a stream that is being captured, because the end of its capture orders
 * its work; under the policy `pytorch` for any stream, as in PyTorch.
 * ERR_INVALID if the pool is begun already or has lost its last user; the
 * errors of larder_pool_recall() if it is lent. */
LARDER_API larder_result larder_pool_begin(larder_allocator *a,
                                           larder_pool_id id,
                                           larder_pool_filter *filter,
                                           void *ctx);
/* ERR_UNKNOWN_POOL unless the pool is begun. */
LARDER_API larder_result larder_pool_end(larder_allocator *a,
                                         larder_pool_id id);

/* Remove a user.  Once a pool has none, larder_empty_cache() and requests that
 * run out of memory may release its free memory, after the streams that it was
 * allocated on, and the pool is destroyed with its last segment.  By then its
 * graphs must have finished, or those streams must wait for them.
 * ERR_UNKNOWN_POOL for a pool without users. */
LARDER_API larder_result larder_pool_release(larder_allocator *a,
                                             larder_pool_id id);

/* Limit the segments of the pool to `bytes`; 0 (the default): no limit.
 * Requests that would exceed it fail with ERR_OUT_OF_MEMORY before the device
 * is asked; memory already held stays.  Any thread.  ERR_UNKNOWN_POOL for a
 * pool that was never begun or no longer exists. */
LARDER_API larder_result larder_pool_set_limit(larder_allocator *a,
                                               larder_pool_id id,
                                               uint64_t bytes);

/* Set whether free memory of the pool may serve requests of the default pools
 * that run out of memory.  (PyTorch: MemPool(use_on_oom=True).)  Any thread.
 * ERR_UNKNOWN_POOL.
 *
 * Under the policy `pytorch` its free blocks serve them, if they do in the
 * emulated release (the setting `pytorch`).
 *
 * Under the policy `larder`, handles and segments that are entirely free, in
 * excess of the pool's minimum (account.h), move to where they are needed; the
 * pool acquires others when it grows again.  Lending also declares that the
 * pool is not for graphs: while it is begun, streams are polled and memory is
 * released as usual, except between larder_capture_begin() and
 * larder_capture_end().  Once the pool has served a request on a stream that
 * was being captured, it lends only under larder_pool_lend().  Memory moves by
 * the page with expandable_segments:True, otherwise by the segment. */
LARDER_API larder_result larder_pool_set_lending(larder_allocator *a,
                                                 larder_pool_id id, int on);

/* Lend the pool to `stream` until larder_pool_recall().  A pool for which
 * larder_pool_set_lending() is off is assumed to serve graphs, which write to
 * memory that looks free.  The caller promises that it launches no graph of the
 * pool until the recall, and that graphs launched before are queued on
 * `stream`.  Meanwhile, under the policy `larder`, requests on that stream that
 * run out of memory may use the pool's free blocks in place: their addresses
 * keep their memory.  Such a request waits for the stream that the pool
 * allocated the block on.  The block's own stream is then `stream`.
 *
 * larder_pool_recall() ends the loan, as do larder_pool_begin(), a loan to
 * another stream, and larder_checkpoint_restore().  If anything was borrowed it
 * waits for `stream`: graphs may be launched on any stream after that.
 * ERR_BUSY while a borrowed allocation is in use, which the message names, and
 * ERR_CAPTURING if it would have to wait while a capture may be in progress;
 * the pool then stays lent.  No effect on a pool that is not lent.
 * Both: any thread; lend O(1), recall O(the pool's blocks).  ERR_UNKNOWN_POOL,
 * ERR_UNKNOWN_STREAM; lend ERR_INVALID while the pool is begun. */
LARDER_API larder_result larder_pool_lend(larder_allocator *a,
                                          larder_pool_id id,
                                          larder_stream stream);
LARDER_API larder_result larder_pool_recall(larder_allocator *a,
                                            larder_pool_id id);

/* Set whether requests get the pool's blocks unsplit, however large, under the
 * policy `pytorch`.  (PyTorch: MemPool(no_split=True).)  Any thread.
 * ERR_UNKNOWN_POOL. */
LARDER_API larder_result larder_pool_set_whole(larder_allocator *a,
                                               larder_pool_id id, int on);

/* Declare that the capture of a stream begins or ends.  Until every capture
 * that began has ended, recorded streams are not polled and cached memory is
 * not released.  Needed where larder_pool_begin() does not imply this: with the
 * setting `pytorch:2.13` or later, and for a pool that lends.
 * ERR_INVALID for an end without a begin.  Any thread. */
LARDER_API larder_result larder_capture_begin(larder_allocator *a);
LARDER_API larder_result larder_capture_end(larder_allocator *a);

/* The current state of a private pool. */
typedef struct larder_pool_info {
    size_t size;          /* set by larder_pool_info_init() */
    uint64_t limit_bytes; /* 0: none */
    uint64_t reserved_bytes;
    uint64_t allocated_bytes;
    uint64_t active_bytes;
    uint64_t requested_bytes; /* of active blocks */
    uint64_t segments;
    uint64_t allocations; /* live blocks */
    int users;            /* 0: released, but not empty yet */
    int is_begun;         /* allocations are routed to it */
} larder_pool_info;

LARDER_API void larder_pool_info_init_sized(larder_pool_info *info,
                                            size_t size);
#define larder_pool_info_init(info)                                            \
    larder_pool_info_init_sized((info), sizeof *(info))

/* ERR_UNKNOWN_POOL if there is no such pool.  Any thread.  O(its blocks + all
 * segments). */
LARDER_API larder_result larder_pool_info_get(larder_allocator *a,
                                              larder_pool_id id,
                                              larder_pool_info *info);

/* A saved state of a private pool: which blocks were live, and where. */
typedef struct larder_checkpoint larder_checkpoint;

/* Save the state; what the pool has lent (larder_pool_lend()) counts as free.
 * The caller releases it with larder_checkpoint_destroy(), in any order with
 * larder_destroy().  ERR_UNKNOWN_POOL, also for a pool without users;
 * ERR_NO_HOST_MEMORY.  Any thread.  O(the pool's blocks). */
LARDER_API larder_result larder_checkpoint_take(larder_allocator *a,
                                                larder_pool_id id,
                                                larder_checkpoint **out);

/* Restore the pool to that state: free its live blocks, then make the blocks
 * of the checkpoint live again at the same addresses.  `freed` receives the
 * addresses of the former, `created` of the latter, up to their capacities; the
 * counts are always complete.  Either array may be NULL.  larder_walk() gives
 * an upper bound.
 * ERR_INVALID, with no effect, if a segment of the checkpoint no longer exists,
 * lacks pages that it had (what was mapped since stays), or a recorded stream
 * may still use a block of the pool.  ERR_UNKNOWN_POOL if
 * the pool no longer exists; ERR_BUSY and ERR_CAPTURING as for
 * larder_pool_recall(); ERR_NO_HOST_MEMORY. */
LARDER_API larder_result larder_checkpoint_restore(
    larder_allocator *a, const larder_checkpoint *cp, larder_addr *freed,
    size_t freed_capacity, size_t *freed_count, larder_addr *created,
    size_t created_capacity, size_t *created_count);
LARDER_API void larder_checkpoint_destroy(larder_checkpoint *cp);

/* Set *same to 1 if the set of live addresses of the pool equals these `count`
 * addresses (in any order, duplicates ignored), else to 0.  (PyTorch:
 * checkPoolLiveAllocations.) */
LARDER_API larder_result larder_pool_live_is(larder_allocator *a,
                                             larder_pool_id id,
                                             const larder_addr *addrs,
                                             size_t count, int *same);

/* ---- statistics ---------------------------------------------------------- */

/* The names are PyTorch's.  The struct, the text, the JSON and the bindings are
 * generated from this list. */
#define LARDER_METRIC_MAP(X)                                                   \
    X(allocation, "live allocations")                                          \
    X(segment, "segments held, not counting expandable ones")                  \
    X(active, "blocks allocated or waiting for a recorded stream")             \
    X(inactive_split, "free blocks of segments partly in use")                 \
    X(allocated_bytes, "bytes allocated, after rounding")                      \
    X(reserved_bytes, "bytes held from the device")                            \
    X(active_bytes, "bytes allocated or waiting for a recorded stream")        \
    X(inactive_split_bytes, "bytes in free blocks of segments partly in use")  \
    X(requested_bytes, "bytes requested, of active blocks")

#define LARDER_COUNTER_MAP(X)                                                  \
    X(num_alloc_retries, "retries after the cache was released")               \
    X(num_ooms, "allocations that ran out of memory")                          \
    X(num_sync_all_streams, "times all recorded streams were waited for")      \
    X(num_device_alloc, "device allocations, or ranges mapped")                \
    X(num_device_free, "device allocations released, or ranges unmapped")      \
    X(num_oom_rejections, "rejected by a limit (throw_on_cudamalloc_oom)")

/* Counters that PyTorch does not have. */
#define LARDER_OWN_COUNTER_MAP(X)                                              \
    X(num_trims, "times larder_trim() or trim_age released something")         \
    X(trimmed_bytes, "bytes they released")

typedef struct larder_stat {
    int64_t current;
    int64_t peak;      /* highest current */
    int64_t allocated; /* sum of all increases */
    int64_t freed;     /* sum of all decreases */
} larder_stat;

/* For both pools together and for each. */
typedef struct larder_stat_split {
    larder_stat all;
    larder_stat small_pool;
    larder_stat large_pool;
} larder_stat_split;

typedef struct larder_stats {
    size_t size; /* set by larder_stats_init() */
#define X(name, text) larder_stat_split name;
    LARDER_METRIC_MAP(X)
#undef X
    larder_stat oversize_allocations; /* of max_split_size_mb or more */
    larder_stat oversize_segments;
#define X(name, text) int64_t name;
    LARDER_COUNTER_MAP(X)
#undef X
    int64_t max_split_size; /* bytes; -1: unlimited; under the policy
                             * `pytorch` what the allocator began with */
#define X(name, text) int64_t name;
    LARDER_OWN_COUNTER_MAP(X)
#undef X
} larder_stats;

LARDER_API void larder_stats_init_sized(larder_stats *st, size_t size);
#define larder_stats_init(st) larder_stats_init_sized((st), sizeof *(st))

/* Copy the statistics, a consistent snapshot: O(streams).  Current values and
 * sums are exact.  So are peaks, with one exception: under the policy `larder`,
 * once a second thread has allocated or freed, those of allocation, active,
 * allocated_bytes, active_bytes and requested_bytes may be off, for each
 * stream by up to 1/1024 of the device's memory (at least 2 MiB). */
LARDER_API larder_result larder_stats_get(larder_allocator *a,
                                          larder_stats *st);
/* Set peaks to the current values. */
LARDER_API larder_result larder_stats_reset_peak(larder_allocator *a);
/* Set sums and counters to 0. */
LARDER_API larder_result larder_stats_reset_accumulated(larder_allocator *a);

/* Write the table of torch.cuda.memory_summary(), under Larder's name,
 * NUL-terminated, at most `capacity` bytes.  `needed`, if not NULL, receives
 * the length without the NUL: a capacity of needed + 1 suffices.
 * `abbreviated` nonzero omits the rows of the two pools. */
LARDER_API larder_result larder_memory_summary(larder_allocator *a,
                                               int abbreviated, char *out,
                                               size_t capacity, size_t *needed);

/* ---- inspection ---------------------------------------------------------- */

/* Quoted: the names in PyTorch's snapshots. */
typedef enum larder_block_state {
    LARDER_BLOCK_FREE = 0,      /* "inactive" */
    LARDER_BLOCK_ALLOCATED = 1, /* "active_allocated" */
    LARDER_BLOCK_PENDING = 2    /* "active_pending_free": freed, but a
                                   recorded stream may still use it */
} larder_block_state;

/* A segment; of an expandable segment, one contiguous mapped range. */
typedef struct larder_segment_info {
    larder_addr addr;
    uint64_t bytes;
    uint64_t allocated_bytes;
    uint64_t active_bytes;
    uint64_t requested_bytes; /* of active blocks */
    larder_stream stream;
    larder_pool_id pool; /* {0, 0}: default */
    int is_large;
    int is_expandable;
    int is_reserved; /* carved from a piece of larder_reserve() */
    size_t block_count;
    int is_paused; /* memory released (tag.h): not in `reserved_bytes` */
} larder_segment_info;

typedef struct larder_block_info {
    larder_addr addr;
    uint64_t bytes;
    uint64_t requested_bytes; /* 0 if it is free */
    larder_block_state state;
} larder_block_info;

/* Visit every segment in address order, and every block of each.  Memory that
 * the policy `larder` holds but has not mapped comes first, as one expandable
 * segment at address 0 with one free block, so that the segments that are not
 * paused add up to `reserved_bytes`.
 * Either function may be NULL; a nonzero return ends the walk.  They are called
 * with the allocator's lock held and must not call it.  O(blocks). */
typedef int larder_segment_fn(void *ctx, const larder_segment_info *segment);
typedef int larder_block_fn(void *ctx, const larder_segment_info *segment,
                            const larder_block_info *block);
LARDER_API larder_result larder_walk(larder_allocator *a,
                                     larder_segment_fn *segment_fn,
                                     larder_block_fn *block_fn, void *ctx);

/* Verify every invariant of the allocator's structures: O(blocks).
 * ERR_CORRUPT at the first violation, named in larder_last_error().  Under
 * debug:2 the memory around every allocation and freed memory are checked too:
 * ERR_OVERWRITTEN, as for larder_free(). */
LARDER_API larder_result larder_check(larder_allocator *a);

#ifdef __cplusplus
}
#endif
#endif
