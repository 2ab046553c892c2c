/* region.h - reserved addresses whose parts have memory while they need it: for
 * key-value caches, and whatever else grows and shrinks at addresses that stay.
 *
 *   larder_region_options opt;
 *   larder_region_options_init(&opt);
 *   opt.name = "kv";
 *   larder_region_create(a, 64ull << 30, &opt, &kv);   // addresses alone
 *   larder_region_commit(kv, slot * SLOT, 3 * LARDER_REGION_PAGE);
 *   ...
 *   larder_region_decommit(kv, slot * SLOT, SLOT);
 *
 * What is committed is drawn from the allocator's account (account.h): from
 * pages that are at hand, then from what is cached and mapped nowhere, from the
 * device, and at last from what others cache.  What is decommitted stays mapped
 * where it is, at hand: committed again it costs no call of the driver, and
 * until then it serves the default pools and other regions when they run out of
 * memory, down to the region's minimum.
 *
 * Memory comes in handles as long as the runs of pages that are committed at
 * once, mapped by one call each, made usable by one call for a run.  A handle
 * goes elsewhere whole: when nothing of it is committed.
 *
 * Offsets and sizes are multiples of LARDER_REGION_PAGE.  Regions need a device
 * with virtual memory and the policy `larder`.
 *
 * Threads  any, at any time, on the same region, but for larder_region_destroy().
 * Errors   a call that fails changes nothing.  ERR_DESTROYED once the allocator
 *          is gone: its memory and addresses went with it. */
#ifndef LARDER_REGION_H
#define LARDER_REGION_H

#include <larder/tag.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LARDER_REGION_PAGE = 2 << 20, LARDER_REGION_NAME_MAX = 63 };

typedef struct larder_region larder_region; /* opaque */

/* Make with larder_region_options_init(); what stays zero is the default. */
typedef struct larder_region_options {
    size_t size;            /* set by larder_region_options_init() */
    const char *name;       /* up to LARDER_REGION_NAME_MAX bytes; NULL: "" */
    larder_stream stream;   /* whose work uses the memory */
    uint64_t handle_bytes;  /* no handle is longer; 0: as a commit's runs are */
    uint64_t minimum_bytes; /* kept for the region; 0: nothing */
    uint64_t limit_bytes;   /* it may hold; 0: as much as there is */
} larder_region_options;

LARDER_API void larder_region_options_init_sized(larder_region_options *opt,
                                                 size_t size);
#define larder_region_options_init(opt)                                        \
    larder_region_options_init_sized((opt), sizeof *(opt))

/* Reserve `bytes` of addresses, without memory.  `opt` may be NULL.
 * ERR_UNSUPPORTED for other policies and devices; ERR_OUT_OF_MEMORY if the
 * minimum cannot be kept; ERR_INVALID, ERR_UNKNOWN_STREAM, ERR_DEVICE,
 * ERR_NO_HOST_MEMORY (100 bytes for each page of addresses). */
LARDER_API larder_result larder_region_create(larder_allocator *a,
                                              uint64_t bytes,
                                              const larder_region_options *opt,
                                              larder_region **out);

/* Wait for the region's work, and give its memory to the allocator's cache and
 * its addresses to the device.  NULL is a no-op.  ERR_DEVICE if the device
 * refuses, and ERR_PAUSED while it is paused: the region is still there.
 * After larder_destroy() only the handle is left to go. */
LARDER_API larder_result larder_region_destroy(larder_region *region);

/* Give every page of [offset, offset + bytes) memory: all or none.  Pages that
 * have been committed stay as they are; the contents of others are undefined.
 * May be used at once by the region's stream, and by whoever waits for what was
 * queued there so far.
 *
 * ERR_OUT_OF_MEMORY after everything that others cache was asked for, and the
 * streams waited for that use what was freed, as long as reclaim_budget_ms
 * allows; ERR_PAUSED; ERR_INVALID.
 * Cost: nothing of the driver where the pages are at hand; else for each run of
 * missing pages a call that makes the memory, unless it is cached, one that
 * maps it, one that gives access. */
LARDER_API larder_result larder_region_commit(larder_region *region,
                                              uint64_t offset, uint64_t bytes);

/* Nobody uses [offset, offset + bytes) any more but work that is queued: on the
 * region's stream, or on one that was recorded.  Its pages stay at hand.  Parts
 * that are not committed are passed over.  ERR_BUSY: part of it is exported
 * (share.h).  ERR_NO_HOST_MEMORY.  No call of the driver but for an event on
 * each recorded stream. */
LARDER_API larder_result larder_region_decommit(larder_region *region,
                                                uint64_t offset,
                                                uint64_t bytes);

/* Work queued on `stream` uses what is committed of [offset, offset + bytes):
 * as larder_record_stream(). */
LARDER_API larder_result larder_region_record_stream(larder_region *region,
                                                     uint64_t offset,
                                                     uint64_t bytes,
                                                     larder_stream stream);

/* How much of [offset, offset + bytes) is committed or could be without a call
 * of the driver: which slot of a cache to use next. */
LARDER_API larder_result larder_region_at_hand(larder_region *region,
                                               uint64_t offset, uint64_t bytes,
                                               uint64_t *out);

/* Give the device what is at hand and not committed, after waiting for the
 * region's stream.  `released`, if not NULL, gets how much that was. */
LARDER_API larder_result larder_region_trim(larder_region *region,
                                            uint64_t *released);

LARDER_API larder_result larder_region_set_minimum(larder_region *region,
                                                   uint64_t bytes);
LARDER_API larder_result larder_region_set_limit(larder_region *region,
                                                 uint64_t bytes);

/* Release the memory of all that is committed; its addresses stay, and what is
 * committed stays so.  Waits first for all work queued on the region's stream and
 * on recorded ones.  KEEP: contents stay in host memory, pinned if the device has
 * that to give; DROP: they are undefined afterwards.  While paused, the other
 * calls on the region fail with ERR_PAUSED, but those that ask and the account's,
 * and its memory faults.
 *
 * It happens whole or not at all: if the device refuses midway, what was unmapped
 * is mapped again; if it refuses that too, the region is paused, contents and all,
 * and larder_region_resume() may be tried.
 * ERR_PAUSED, ERR_BUSY, ERR_CAPTURING, ERR_NO_HOST_MEMORY, ERR_DEVICE.
 * Cost: a copy (KEEP), a call to unmap each run of pages and one to release each
 * handle. */
LARDER_API larder_result larder_region_pause(larder_region *region,
                                             larder_pause_mode mode);

/* Give what is committed memory again, from wherever larder_region_commit() has
 * it, and its contents.  A failure leaves the region paused, whole.
 * ERR_INVALID: it is not paused; else as for committing. */
LARDER_API larder_result larder_region_resume(larder_region *region);

typedef struct larder_region_info {
    size_t size; /* set by the caller */
    larder_addr addr;
    uint64_t bytes; /* of addresses */
    uint64_t committed_bytes;
    uint64_t pending_bytes; /* decommitted, but recorded streams may use it */
    uint64_t idle_bytes;    /* at hand */
    uint64_t held_bytes;    /* of the device: the sum of these three, unless
                               the region is paused */
    uint64_t minimum_bytes;
    uint64_t limit_bytes;
    int is_paused;
    uint64_t kept_bytes; /* of host memory, with its contents */
} larder_region_info;

/* O(1) but for pending_bytes: O(runs of the region). */
LARDER_API larder_result larder_region_get_info(larder_region *region,
                                                larder_region_info *out);

#ifdef __cplusplus
}
#endif
#endif
