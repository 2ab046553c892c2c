/* region.h - reserved address ranges whose parts are committed and decommitted:
 * for key-value caches, and anything else that grows and shrinks in place.
 *
 *   larder_region_options opt;
 *   larder_region_options_init(&opt);
 *   opt.name = "kv";
 *   larder_region_create(a, 64ull << 30, &opt, &kv);   // addresses only
 *   larder_region_commit(kv, slot * SLOT, 3 * LARDER_REGION_PAGE);
 *   ...
 *   larder_region_decommit(kv, slot * SLOT, SLOT);
 *
 * A commit uses, in this order: pages of the region that are at hand, cached
 * pages that are not mapped, new memory of the device, and unused memory of
 * other owners (account.h).  Decommitted pages stay mapped in place, `at hand`:
 * to commit them again takes no driver call.  Until then they may serve the
 * default pools and other regions that run out of memory, down to the region's
 * minimum.
 *
 * A run of pages that one commit adds gets one physical handle: one call maps a
 * handle, one call makes a run accessible.  A handle can serve other owners
 * only when none of it is committed.
 *
 * Offsets and sizes are multiples of LARDER_REGION_PAGE.  Regions need a device
 * with virtual memory and the policy `larder`.
 *
 * Threads  Any thread may use a region at any time, except that no call may
 *          overlap larder_region_destroy().
 * Errors   A call that fails changes nothing.  ERR_DESTROYED after the
 *          allocator was destroyed, and the region's memory and addresses with
 *          it. */
#ifndef LARDER_REGION_H
#define LARDER_REGION_H

#include <larder/tag.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LARDER_REGION_PAGE = 2 << 20, LARDER_REGION_NAME_MAX = 63 };

typedef struct larder_region larder_region; /* opaque */

/* Initialise with larder_region_options_init(); zero means the default. */
typedef struct larder_region_options {
    size_t size;            /* set by larder_region_options_init() */
    const char *name;       /* up to LARDER_REGION_NAME_MAX bytes; NULL: "" */
    larder_stream stream;   /* that uses the memory */
    uint64_t handle_bytes;  /* max size of a handle; 0: that of its run */
    uint64_t minimum_bytes; /* kept for the region; 0: none */
    uint64_t limit_bytes;   /* 0: none */
} larder_region_options;

LARDER_API void larder_region_options_init_sized(larder_region_options *opt,
                                                 size_t size);
#define larder_region_options_init(opt)                                        \
    larder_region_options_init_sized((opt), sizeof *(opt))

/* Reserve `bytes` of addresses without memory.  `opt` may be NULL.
 * ERR_UNSUPPORTED for other policies and devices; ERR_OUT_OF_MEMORY if the
 * minimum cannot be kept; ERR_INVALID, ERR_UNKNOWN_STREAM, ERR_DEVICE,
 * ERR_NO_HOST_MEMORY (100 bytes for each page of addresses). */
LARDER_API larder_result larder_region_create(larder_allocator *a,
                                              uint64_t bytes,
                                              const larder_region_options *opt,
                                              larder_region **out);

/* Wait for the region's work, move its memory to the allocator's cache and
 * release its addresses.  NULL is a no-op.  On failure the region remains, with
 * all that is committed in it, unless the device fails to undo it, as in
 * larder_region_pause(): ERR_DEVICE, ERR_PAUSED, ERR_CAPTURING, ERR_BUSY if part
 * of it is exported.  After larder_destroy() this frees the handle only. */
LARDER_API larder_result larder_region_destroy(larder_region *region);

/* Commit memory for every page of [offset, offset + bytes): all or none.  Pages
 * that are committed already keep their contents; those of the others are
 * undefined.  The region's stream may use the memory at once, other streams
 * after waiting for the work queued there so far.
 *
 * ERR_OUT_OF_MEMORY if unused memory of other owners is not enough, including
 * freed memory that streams finish using within reclaim_budget_ms; ERR_PAUSED;
 * ERR_INVALID; ERR_BUSY if a decommitted page is still used by a recorded
 * stream during a capture or past that budget.
 * Cost: no driver calls for pages at hand; otherwise, for each run of missing
 * pages, one call to create memory that is not cached, one to map it and one to
 * set access. */
LARDER_API larder_result larder_region_commit(larder_region *region,
                                              uint64_t offset, uint64_t bytes);

/* Decommit [offset, offset + bytes): only work already queued on the region's
 * stream and on recorded streams may still use it.  Its pages stay at hand.
 * Parts that are not committed are skipped.  ERR_BUSY: part of it is exported
 * (share.h).  ERR_NO_HOST_MEMORY.  No driver calls except for an event on each
 * recorded stream.  Under debug:2 ERR_UNRECORDED, as for larder_free(): the
 * pages are decommitted nevertheless; under debug:3 their memory is released to
 * the device. */
LARDER_API larder_result larder_region_decommit(larder_region *region,
                                                uint64_t offset,
                                                uint64_t bytes);

/* As larder_record_stream(), for the committed parts of
 * [offset, offset + bytes). */
LARDER_API larder_result larder_region_record_stream(larder_region *region,
                                                     uint64_t offset,
                                                     uint64_t bytes,
                                                     larder_stream stream);

/* How many bytes of [offset, offset + bytes) are committed, or could be without
 * a driver call: helps to choose the next slot of a cache. */
LARDER_API larder_result larder_region_at_hand(larder_region *region,
                                               uint64_t offset, uint64_t bytes,
                                               uint64_t *out);

/* Wait for the region's stream, then release to the device the pages that are
 * at hand but not committed.  `released`, if not NULL, receives the bytes
 * released.  ERR_PAUSED, ERR_CAPTURING, ERR_DEVICE. */
LARDER_API larder_result larder_region_trim(larder_region *region,
                                            uint64_t *released);

LARDER_API larder_result larder_region_set_minimum(larder_region *region,
                                                   uint64_t bytes);
LARDER_API larder_result larder_region_set_limit(larder_region *region,
                                                 uint64_t bytes);

/* Release all memory of the region; its addresses and what is committed are
 * remembered.  Waits first for all work queued on the region's stream and on
 * recorded streams.  KEEP saves the contents in host memory, pinned if the
 * device provides it; with DROP they are undefined afterwards.  While the
 * region is paused its memory faults, and calls that change it fail with
 * ERR_PAUSED; queries, minimums and limits still work.
 *
 * All or nothing: if the device fails midway, each unmapped page is mapped where
 * it was; only pages that were at hand may be gone.  If that fails too, the
 * region is paused with its memory and contents, whatever the mode:
 * larder_region_resume() tries to map them again, and needs no other memory.
 * ERR_PAUSED, ERR_BUSY, ERR_CAPTURING, ERR_NO_HOST_MEMORY, ERR_DEVICE.
 * Cost: a copy (KEEP), one call to unmap each run of pages and one to release
 * each handle. */
LARDER_API larder_result larder_region_pause(larder_region *region,
                                             larder_pause_mode mode);

/* Acquire memory for the committed pages again, from the same sources as
 * larder_region_commit(), and restore their contents.  On failure the region
 * stays paused and complete; above a limit that was lowered meanwhile, until
 * that is raised.  ERR_INVALID if it is not paused; other errors as for
 * larder_region_commit(). */
LARDER_API larder_result larder_region_resume(larder_region *region);

typedef struct larder_region_info {
    size_t size; /* set by the caller */
    larder_addr addr;
    uint64_t bytes; /* of addresses */
    uint64_t committed_bytes;
    uint64_t pending_bytes; /* decommitted, but recorded streams may use it */
    uint64_t idle_bytes;    /* at hand, not committed */
    uint64_t held_bytes;    /* of the device: the sum of these three, unless
                               the region is paused */
    uint64_t minimum_bytes;
    uint64_t limit_bytes;
    int is_paused;
    uint64_t kept_bytes; /* of host memory that holds its contents */
} larder_region_info;
#define LARDER_REGION_INFO_INIT LARDER_SIZED_INIT(larder_region_info)

/* O(runs of the region): all but pending_bytes are O(1). */
LARDER_API larder_result larder_region_get_info(larder_region *region,
                                                larder_region_info *out);

#ifdef __cplusplus
}
#endif
#endif
