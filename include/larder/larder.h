/* larder.h - a caching memory allocator for GPUs: the allocator's public API.
 *
 * Larder takes big segments from a driver, hands out blocks of them, keeps
 * what is freed for reuse and releases it when asked.  Addresses are device
 * addresses: the library never reads or writes the memory behind them.
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
 *            only on LARDER_OK.  Nothing in the library aborts, prints or
 *            exits.  larder_last_error() has the failure in words.
 * Threads    Every call may come from any thread, at any time, on the same
 *            object, except the call that destroys it: no other may be under
 *            way then.  Under the setting debug:1 an allocator counts its
 *            calls, and larder_destroy() among others is refused with
 *            LARDER_ERR_BUSY; without it that is undefined.  A call that begins
 *            later gets LARDER_ERR_DESTROYED.  Memory may be freed by another
 *            thread than the one that allocated it.
 * Forks      Devices, allocators and what is made of them belong to the process
 *            that made them.  In a child of fork() every call on them is
 *            refused with LARDER_ERR_FORKED, before any lock: those that
 *            destroy and close too.  The child changes nothing of its parent's,
 *            whatever threads that had, and may make devices and allocators of
 *            its own.
 * Ownership  What _create, _open and _take return, _destroy and _close
 *            release.  Strings returned as const char * are not the caller's
 *            to free.  Option strings are copied.
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
    X(ERR_UNKNOWN_ADDRESS, 5, "not an address this allocator gave out")        \
    X(ERR_DOUBLE_FREE, 6, "the address was freed before")                      \
    X(ERR_UNKNOWN_POOL, 7, "no such private pool")                             \
    X(ERR_UNKNOWN_STREAM, 8, "the device has no such stream")                  \
    X(ERR_CONF, 9, "malformed configuration")                                  \
    X(ERR_UNSUPPORTED, 10, "not supported here")                               \
    X(ERR_CAPTURING, 11, "not permitted while a stream is being captured")     \
    X(ERR_NOT_READY, 12, "the work asked about has not completed")             \
    X(ERR_DESTROYED, 13, "the allocator was destroyed")                        \
    X(ERR_CORRUPT, 14, "an internal rule is broken")                           \
    X(ERR_BUSY, 15, "still in use")                                            \
    X(ERR_SYSTEM, 16, "the operating system refused a call")                   \
    X(ERR_PAUSED, 17, "the memory of this tag is paused")                      \
    X(ERR_FORKED, 18, "made before a fork: it is the parent process's")        \
    X(ERR_OVERWRITTEN, 19, "memory was written that was not allocated")        \
    X(ERR_LEAKED, 20, "allocations were not freed")                            \
    X(ERR_UNRECORDED, 21, "memory was freed that a stream not recorded uses")

typedef enum larder_result {
#define X(name, code, text) LARDER_##name = code,
    LARDER_RESULT_MAP(X)
#undef X
} larder_result;

/* "LARDER_ERR_INVALID"; "LARDER_ERR_?" for a value that is none.  Static. */
LARDER_API const char *larder_result_name(larder_result r);

/* One line in words.  Static. */
LARDER_API const char *larder_result_text(larder_result r);

/* What the last failed call on this thread had to say: at least the result's
 * text, for an out-of-memory the whole explanation.  Valid until this
 * thread's next failing call; never NULL; "" before the first failure. */
LARDER_API const char *larder_last_error(void);

/* "0.1.0", of the library that is loaded. */
LARDER_API const char *larder_version(void);

/* ---- basic types ----------------------------------------------------- */

/* A device address.  0 is never a live allocation. */
typedef uint64_t larder_addr;

/* A stream of the device: its handle's value; 0 is the default stream. */
typedef uint64_t larder_stream;

typedef struct larder_device larder_device;       /* opaque; see device.h */
typedef struct larder_allocator larder_allocator; /* opaque */

/* Read "512", "4KiB", "2MiB", "80GiB", "1TiB", or a binary suffix k m g t
 * (any case, an optional B or iB after it); before a unit also with decimals,
 * "1.5GiB", of which whole bytes count.  ERR_INVALID for anything else and
 * for values past 2^63. */
LARDER_API larder_result larder_parse_size(const char *text, uint64_t *out);

/* ---- devices ---------------------------------------------------------- */

/* Open device number `ordinal` of `spec`:
 *
 *   sim:SIZE[,backing=memory|none][,vmm=on|off][,context=SIZE]
 *           [,events=auto|manual|immediate|driver][,costs=FILE][,shared=NAME]
 *           [,count=N][,export=none|fd|fabric]
 *   cuda:N[,export=none|fd|fabric]
 *   hip:N[,export=none|fd]
 *
 * sim.h says what the simulated GPU does.  `ordinal` is below count.
 *
 * cuda and hip are device N + ordinal of the driver of that name, which is
 * loaded now; hip has not been tried on hardware.  The device's primary
 * context is taken by the first call that needs it; calls may come from
 * threads with any context or none.  `export` says how pages can be handed to
 * other processes (share.h); default none.
 *
 * ERR_INVALID names the part of the spec that is wrong; ERR_UNSUPPORTED says
 * that the driver could not be loaded, what it lacks, or that it has no GPU. */
LARDER_API larder_result larder_device_open(const char *spec, int ordinal,
                                            larder_device **out);

/* Close a device.  ERR_BUSY while an allocator still uses it: nothing then
 * happens.  NULL is a no-op. */
LARDER_API larder_result larder_device_close(larder_device *dev);

/* ---- allocators ------------------------------------------------------- */

/* How memory is chosen.  Everything else (streams, pools, statistics) is the
 * same under each.
 *
 * What is allocated is the block a request gets, what is requested its bytes.
 * A block is larger by less than 256 bytes (`pytorch`: 512) and by what its
 * policy does not cut off: under `pytorch` up to 1 MiB of large blocks, under
 * LARDER_POLICY_LARDER up to 28 % of requests of 16 KiB and more, as long as
 * memory is plentiful and all of that is not a 64th of it: when it gets tight
 * live blocks are cut to what was asked for. */
typedef enum larder_policy {
    LARDER_POLICY_DEFAULT = 0, /* the library's best: LARDER_POLICY_LARDER */
    LARDER_POLICY_PYTORCH = 1, /* PyTorch's native policy, exactly */
    LARDER_POLICY_DIRECT = 2,  /* a driver call for each request: a baseline */
    LARDER_POLICY_LARDER =
        3 /* pages go where they are needed (docs/POLICY.md) */
} larder_policy;

/* "larder", "pytorch", "direct"; LARDER_ERR_INVALID for a name that is none. */
LARDER_API larder_result larder_policy_parse(const char *name,
                                             larder_policy *out);
/* The other way; static.  The default policy answers with its real name. */
LARDER_API const char *larder_policy_name(larder_policy policy);

/* Make with larder_options_init(); what stays zero is the default. */
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

/* Make an allocator over `dev`, which must outlive it.  `opt` may be NULL.
 * Takes nothing from the device: that begins with the first allocation. */
LARDER_API larder_result larder_create(larder_device *dev,
                                       const larder_options *opt,
                                       larder_allocator **out);

/* Release everything to the device, live allocations included, after
 * waiting for the streams that were recorded.  A destroyed handle stays
 * recognisable: later calls with it return LARDER_ERR_DESTROYED.  NULL is a
 * no-op.  LARDER_ERR_CAPTURING, and nothing happens, while a stream that memory
 * was allocated on is being captured: the device would take nothing back.
 * LARDER_ERR_BUSY, and nothing happens, under debug:1 while another call on the
 * allocator is under way, be it one that this call is made from a callback of.
 * LARDER_ERR_OVERWRITTEN, under debug:2: see larder_free(); LARDER_ERR_LEAKED,
 * under debug:3, if allocations are live: the allocator is gone all the same.
 * LARDER_ERR_DEVICE if the device refused to take something back (it
 * is then lost; the allocator is gone all the same). */
LARDER_API larder_result larder_destroy(larder_allocator *a);

/* Change settings while running.  As in PyTorch each call first sets
 * max_split_size_mb, roundup_power2_divisions and
 * garbage_collection_threshold back to their defaults; other keys keep their
 * value.  On failure nothing changes: LARDER_ERR_CONF, or
 * LARDER_ERR_NO_HOST_MEMORY and LARDER_ERR_SYSTEM for a history or a thread
 * that a key asks for. */
LARDER_API larder_result larder_configure(larder_allocator *a,
                                          const char *conf);

/* Whether `conf` is well formed: LARDER_OK, or LARDER_ERR_CONF with the words
 * in larder_last_error(). */
LARDER_API larder_result larder_conf_check(const char *conf);

/* The releases of PyTorch that the setting `pytorch` names, oldest first; NULL
 * beyond the last.  Static. */
LARDER_API const char *larder_pytorch_release(size_t index);

/* What a release does otherwise than the one before it, in words, and the setting
 * that has it as before, "" if there is none.  ERR_INVALID beyond the last
 * change.  The strings are static. */
LARDER_API larder_result larder_pytorch_change(size_t index, size_t number,
                                               const char **words,
                                               const char **restored);

/* ---- memory ------------------------------------------------------------ */

/* Allocate `bytes` for use on `stream`.  0 bytes gives address 0 and touches
 * nothing.  The block is at least `bytes` long and aligned to 512, under the
 * policy `larder` to 256.
 *
 * ERR_OUT_OF_MEMORY after everything that may be released was; its
 * explanation is in larder_last_error().  ERR_UNKNOWN_STREAM,
 * ERR_NO_HOST_MEMORY and ERR_DEVICE leave every live allocation as it was.
 * Cost of a hit: tens of nanoseconds, no system call, no driver call. */
LARDER_API larder_result larder_alloc(larder_allocator *a, uint64_t bytes,
                                      larder_stream stream, larder_addr *out);

/* Free an allocation.  Address 0 is a no-op.  The block may be reused on
 * its own stream at once; if other streams were recorded, when they have
 * passed this point.
 *
 * ERR_DOUBLE_FREE and ERR_UNKNOWN_ADDRESS name the address and change
 * nothing.  A double free is told apart from a foreign address as long as the
 * memory behind it was not handed out again or released to the device.
 *
 * Under debug:2 the memory around it is looked at, once its stream has passed:
 * ERR_OVERWRITTEN says that something was written there, or to memory that was
 * freed before, and where; ERR_UNRECORDED, where the device knows what is queued
 * (the simulated one: docs/DEBUG.md), that work on another stream, which was
 * not recorded and which no stream that was waits for, still uses it.  The
 * allocation is freed all the same. */
LARDER_API larder_result larder_free(larder_allocator *a, larder_addr addr);

/* Say that work queued so far on `stream` uses this allocation.  When it is
 * freed it stays out of reuse until that work is done.  Its own stream is
 * ignored.  (PyTorch: Tensor.record_stream.) */
LARDER_API larder_result larder_record_stream(larder_allocator *a,
                                              larder_addr addr,
                                              larder_stream stream);

/* Release to the device every segment, and every whole page of an
 * expandable segment, that nothing uses, after waiting for recorded streams.
 * Memory of private pools that are held, and reserved pieces, stay.
 * ERR_CAPTURING while allocations go to a private pool: nothing happens. */
LARDER_API larder_result larder_empty_cache(larder_allocator *a);

/* Release cached memory until at most `target_bytes` are reserved, or none
 * is left that may go: 0 for all.  No more goes than that takes, but for the
 * rest of a segment or page.  Memory that a recorded stream may still use
 * stays; where pages are taken, their streams are waited for.  What private
 * pools hold, and reserved pieces, stay.  `released`, if not NULL, gets the
 * bytes that went.  The setting `trim_age` releases in the background.
 * ERR_CAPTURING while allocations go to a private pool: nothing happens.
 * Any thread.  O(free blocks), and what the driver takes. */
LARDER_API larder_result larder_trim(larder_allocator *a, uint64_t target_bytes,
                                     uint64_t *released);

/* Take one piece of `bytes` (rounded up to 2 MiB) from the device now, and
 * serve segments from it before asking the device for more.  The piece counts
 * as reserved, and stays until larder_destroy(): larder_empty_cache() does
 * not release it.  The setting `preallocate:SIZE` does this at the first
 * allocation. */
LARDER_API larder_result larder_reserve(larder_allocator *a, uint64_t bytes);

/* Hold at most this part of the device's memory; 0 <= fraction <= 1.
 * Counts reserved bytes; what the driver's context takes is not in it. */
LARDER_API larder_result larder_set_memory_fraction(larder_allocator *a,
                                                    double fraction);

/* What was set, 1 if nothing was. */
LARDER_API larder_result larder_memory_fraction(larder_allocator *a,
                                                double *out);

/* Size of the largest cached block of any pool, 0 if nothing is cached.
 * O(pools).  (PyTorch: cacheInfo.) */
LARDER_API larder_result larder_largest_cached(larder_allocator *a,
                                               uint64_t *out);

/* The segment a live allocation lies in: where it begins and how long it is.
 * ERR_UNSUPPORTED for expandable segments, whose parts were never one
 * allocation of the driver.  (PyTorch: getBaseAllocation.) */
LARDER_API larder_result larder_base_allocation(larder_allocator *a,
                                                larder_addr addr,
                                                larder_addr *base,
                                                uint64_t *bytes);

/* Called when no cached block fits, before the device is asked.  Return
 * nonzero if it freed something: the cache is then searched again.  Runs
 * without locks held and may call the allocator, except to allocate or to
 * destroy it.  LARDER_POLICY_DIRECT, which caches nothing, never asks. */
typedef int larder_reclaim_fn(void *ctx);
LARDER_API larder_result larder_add_reclaim(larder_allocator *a,
                                            larder_reclaim_fn *fn, void *ctx);

/* Called when an allocation fails for lack of memory, before the call
 * returns, without locks held.  Not for requests of 2^60 bytes or more, which
 * are refused at sight. */
typedef struct larder_oom_info {
    uint64_t requested_bytes; /* as the caller asked */
    uint64_t segment_bytes;   /* what the device would have been asked for */
    larder_stream stream;
    uint64_t device_total_bytes; /* or the limit that is set, if lower */
    uint64_t device_free_bytes;
    const char *message; /* the whole explanation; valid during the call */
} larder_oom_info;
typedef void larder_oom_fn(void *ctx, const larder_oom_info *info);
LARDER_API larder_result larder_add_oom_observer(larder_allocator *a,
                                                 larder_oom_fn *fn, void *ctx);

/* ---- private pools ------------------------------------------------------ */

/* Names a private pool: a pair, as in PyTorch's MempoolId_t; {0, 0} is the
 * default pool and cannot be begun. */
typedef struct larder_pool_id {
    uint64_t first;
    uint64_t second;
} larder_pool_id;

/* Whether allocations on `stream` go to the pool.  Called with the
 * allocator's lock held: it must not call the allocator. */
typedef int larder_pool_filter(void *ctx, larder_stream stream);

/* From now until larder_pool_end(), allocations on streams the filter accepts
 * (all, if NULL) come from this pool.  The first begin makes the pool, each
 * later one counts as one more user.  While any pool is begun, recorded
 * streams are not polled and cached memory is not released, as a stream
 * capture demands; but with the setting `pytorch:2.13` and later releases only
 * between larder_capture_begin() and larder_capture_end().  What
 * larder_record_stream() says meanwhile holds, but for a stream that is being
 * captured, which the end of its capture orders; under the policy `pytorch` for
 * none, as in PyTorch.
 * ERR_INVALID if the pool is already begun, or is no longer held. */
LARDER_API larder_result larder_pool_begin(larder_allocator *a,
                                           larder_pool_id id,
                                           larder_pool_filter *filter,
                                           void *ctx);
/* ERR_UNKNOWN_POOL unless the pool is begun. */
LARDER_API larder_result larder_pool_end(larder_allocator *a,
                                         larder_pool_id id);

/* One user less.  With none left the pool's free memory may be released
 * (larder_empty_cache() and the out-of-memory ladder do) and the pool
 * vanishes with its last segment.  ERR_UNKNOWN_POOL for a pool that is not
 * held. */
LARDER_API larder_result larder_pool_release(larder_allocator *a,
                                             larder_pool_id id);

/* Hold at most `bytes` in segments of the pool; 0: no limit, as at first.
 * What would exceed it fails as out of memory, before the device is asked;
 * what is held already stays.  Any thread.  ERR_UNKNOWN_POOL for a pool that
 * was never begun, or is gone. */
LARDER_API larder_result larder_pool_set_limit(larder_allocator *a,
                                               larder_pool_id id,
                                               uint64_t bytes);

/* Whether what the pool holds free may serve requests of the default pools when
 * memory runs out.  (PyTorch: MemPool(use_on_oom=True).)  Any thread.
 * ERR_UNKNOWN_POOL.
 *
 * Under the policy `pytorch`: its free blocks, from the release on in which they
 * do (the setting `pytorch`).
 *
 * Under the policy `larder`: its handles and segments that are free as a whole,
 * beyond its minimum (account.h), go where they are needed, and the pool has
 * others when it grows again.  It says as well that the pool is not for graphs:
 * while it is begun, streams are polled and memory is given back as ever, but
 * between larder_capture_begin() and larder_capture_end().  Once requests of the
 * pool were made while their stream was captured, it lends no more without
 * larder_pool_lend().  With expandable_segments:True a pool's memory is in pages
 * and goes by the page, else by the segment. */
LARDER_API larder_result larder_pool_set_lending(larder_allocator *a,
                                                 larder_pool_id id, int on);

/* Pools that do not lend so are taken to be for graphs, which write to what
 * looks free.  larder_pool_lend() says that between this call and
 * larder_pool_recall() no graph of the pool is launched, and that what was
 * launched is queued on `stream`.  Meanwhile, under the policy `larder`, when
 * memory runs out, what the pool has free serves requests on that stream, at
 * the pool's own addresses, which keep their memory.  larder_pool_begin()
 * recalls.
 *
 * larder_pool_recall(): ERR_BUSY, and the pool stays lent, while an allocation
 * lies in it so; the words name it.  No effect for a pool that is not lent.
 * Both: any thread; O(1), recall O(the pool's blocks); no driver call but the
 * events of recorded streams.  ERR_UNKNOWN_POOL, ERR_UNKNOWN_STREAM; lend
 * ERR_INVALID while the pool is begun. */
LARDER_API larder_result larder_pool_lend(larder_allocator *a,
                                          larder_pool_id id,
                                          larder_stream stream);
LARDER_API larder_result larder_pool_recall(larder_allocator *a,
                                            larder_pool_id id);

/* Whether requests get the pool's blocks whole, however much larger they are,
 * under the policy `pytorch`.  (PyTorch: MemPool(no_split=True).)  Any thread.
 * ERR_UNKNOWN_POOL. */
LARDER_API larder_result larder_pool_set_whole(larder_allocator *a,
                                               larder_pool_id id, int on);

/* Say that a stream's capture begins, and that it ends: until as many have ended
 * as have begun, recorded streams are not polled and cached memory is not given
 * back.  Needed where a pool that is begun does not do that already, which is
 * with the setting `pytorch:2.13` and later releases.
 * ERR_INVALID for an end without a beginning.  Any thread. */
LARDER_API larder_result larder_capture_begin(larder_allocator *a);
LARDER_API larder_result larder_capture_end(larder_allocator *a);

/* What a private pool holds now. */
typedef struct larder_pool_info {
    size_t size;          /* set by larder_pool_info_init() */
    uint64_t limit_bytes; /* 0: none */
    uint64_t reserved_bytes;
    uint64_t allocated_bytes;
    uint64_t active_bytes;
    uint64_t requested_bytes; /* of active blocks */
    uint64_t segments;
    uint64_t allocations; /* blocks handed out */
    int users;            /* 0: released, but not empty yet */
    int is_begun;         /* allocations are routed to it */
} larder_pool_info;

LARDER_API void larder_pool_info_init_sized(larder_pool_info *info,
                                            size_t size);
#define larder_pool_info_init(info)                                            \
    larder_pool_info_init_sized((info), sizeof *(info))

/* ERR_UNKNOWN_POOL if there is no such pool.  Any thread.  O(its blocks, and
 * all segments). */
LARDER_API larder_result larder_pool_info_get(larder_allocator *a,
                                              larder_pool_id id,
                                              larder_pool_info *info);

/* A remembered state of a private pool: which blocks were live, where. */
typedef struct larder_checkpoint larder_checkpoint;
LARDER_API larder_result larder_checkpoint_take(larder_allocator *a,
                                                larder_pool_id id,
                                                larder_checkpoint **out);

/* Bring the pool back to that state: what is live now is freed, the blocks
 * that were live then are live again at the same addresses.  `freed` gets the
 * addresses of the first, `created` of the second, up to their capacities;
 * the counts are always whole.  larder_walk() tells how many can come.
 * Either array may be NULL.
 * ERR_INVALID, with nothing changed, if a segment of then is no longer
 * there or a recorded stream may still use a block of the pool. */
LARDER_API larder_result larder_checkpoint_restore(
    larder_allocator *a, const larder_checkpoint *cp, larder_addr *freed,
    size_t freed_capacity, size_t *freed_count, larder_addr *created,
    size_t created_capacity, size_t *created_count);
LARDER_API void larder_checkpoint_destroy(larder_checkpoint *cp);

/* Whether the addresses live in the pool are these `count`, in any order, each
 * counted once: sets *same to 1 or 0.  (PyTorch: checkPoolLiveAllocations.) */
LARDER_API larder_result larder_pool_live_is(larder_allocator *a,
                                             larder_pool_id id,
                                             const larder_addr *addrs,
                                             size_t count, int *same);

/* ---- statistics ---------------------------------------------------------- */

/* The names are PyTorch's.  One list makes the struct, the text, the JSON and
 * the bindings. */
#define LARDER_METRIC_MAP(X)                                                   \
    X(allocation, "allocations handed out")                                    \
    X(segment, "segments held, not counting expandable ones")                  \
    X(active, "blocks handed out or waiting for a recorded stream")            \
    X(inactive_split, "free blocks of segments partly in use")                 \
    X(allocated_bytes, "bytes handed out, after rounding")                     \
    X(reserved_bytes, "bytes held from the device")                            \
    X(active_bytes, "bytes handed out or waiting for a recorded stream")       \
    X(inactive_split_bytes, "bytes in free blocks of segments partly in use")  \
    X(requested_bytes, "bytes asked for, of active blocks")

#define LARDER_COUNTER_MAP(X)                                                  \
    X(num_alloc_retries, "device asked again after the cache was released")    \
    X(num_ooms, "allocations that failed for lack of memory")                  \
    X(num_sync_all_streams, "times all recorded streams were waited for")      \
    X(num_device_alloc, "pieces got from the device, or ranges mapped")        \
    X(num_device_free, "pieces released, or ranges unmapped")                  \
    X(num_oom_rejections, "failures by a limit with throw_on_cudamalloc_oom")

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

/* The same for both pools together and each alone. */
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
    int64_t max_split_size; /* bytes; -1: unlimited */
#define X(name, text) int64_t name;
    LARDER_OWN_COUNTER_MAP(X)
#undef X
} larder_stats;

LARDER_API void larder_stats_init_sized(larder_stats *st, size_t size);
#define larder_stats_init(st) larder_stats_init_sized((st), sizeof *(st))

/* Copy out the statistics, all from one moment: O(streams).  Current values and
 * sums are exact.  Peaks are, but under the policy `larder` once a second thread
 * has allocated or freed: then those of allocation, active, allocated_bytes,
 * active_bytes and requested_bytes may be off by what every stream may count
 * for itself, 1/1024 of the device's memory, 2 MiB at least. */
LARDER_API larder_result larder_stats_get(larder_allocator *a,
                                          larder_stats *st);
/* Peaks become the current values. */
LARDER_API larder_result larder_stats_reset_peak(larder_allocator *a);
/* Sums and counters become 0. */
LARDER_API larder_result larder_stats_reset_accumulated(larder_allocator *a);

/* Write the table that torch.cuda.memory_summary() prints, with our name in
 * it, NUL-terminated, at most `capacity` bytes.  `needed`, if not NULL, gets
 * the length without the NUL: a capacity of needed + 1 holds all.
 * `abbreviated` nonzero leaves out the rows of the two pools. */
LARDER_API larder_result larder_memory_summary(larder_allocator *a,
                                               int abbreviated, char *out,
                                               size_t capacity, size_t *needed);

/* ---- looking in ------------------------------------------------------------ */

/* In quotes: the names in PyTorch's snapshots. */
typedef enum larder_block_state {
    LARDER_BLOCK_FREE = 0,      /* "inactive" */
    LARDER_BLOCK_ALLOCATED = 1, /* "active_allocated" */
    LARDER_BLOCK_PENDING = 2    /* "active_pending_free": freed, but a
                                   recorded stream may still use it */
} larder_block_state;

/* A segment: for an expandable one, a contiguous mapped range of it. */
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
    int is_reserved; /* served from a piece of larder_reserve() */
    size_t block_count;
    int is_paused; /* its memory was released (larder/tag.h); not in `reserved` */
} larder_segment_info;

typedef struct larder_block_info {
    larder_addr addr;
    uint64_t bytes;
    uint64_t requested_bytes; /* 0 if it is free */
    larder_block_state state;
} larder_block_info;

/* Visit every segment in the order of addresses, and in each every block.
 * Memory that the policy larder holds and has mapped nowhere comes first, as
 * one expandable segment at address 0 with one free block, so that the bytes
 * of segments that are not paused are `reserved_bytes`.
 * Either function may be NULL; a nonzero return ends the walk.  Called with
 * the allocator's lock held: they must not call it.  O(blocks). */
typedef int larder_segment_fn(void *ctx, const larder_segment_info *segment);
typedef int larder_block_fn(void *ctx, const larder_segment_info *segment,
                            const larder_block_info *block);
LARDER_API larder_result larder_walk(larder_allocator *a,
                                     larder_segment_fn *segment_fn,
                                     larder_block_fn *block_fn, void *ctx);

/* Walk every structure and verify it against every rule: O(blocks).
 * ERR_CORRUPT at the first broken one, named in larder_last_error().  Under
 * debug:2 what surrounds every allocation is looked at, and what was freed:
 * ERR_OVERWRITTEN, as for larder_free(). */
LARDER_API larder_result larder_check(larder_allocator *a);

#ifdef __cplusplus
}
#endif
#endif
