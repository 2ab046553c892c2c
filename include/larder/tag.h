/* tag.h - named sets of allocations: their usage and limits, and how to release
 * their memory temporarily.
 *
 *   larder_tag_begin(a, "weights");
 *   larder_alloc(a, ...);              // belongs to the tag
 *   larder_tag_end(a);
 *   ...
 *   larder_pause(a, "weights", LARDER_PAUSE_KEEP);
 *   ...                                // the memory is free for others
 *   larder_resume(a, "weights");       // same addresses, same contents
 *
 * A tag's allocations have segments of their own, which nothing else shares.
 * These consist of pages if the device has virtual memory and the policy is not
 * `direct`, whatever expandable_segments is.  Memory that a tag caches is
 * released like any cached memory.  A tag lives as long as its allocator.
 *
 * While any thread is between begin and end of a tag of an allocator, requests
 * of that thread take all locks of the allocator, and those of others under the
 * policy `larder` take a few nanoseconds longer; otherwise tags cost a request
 * nothing. */
#ifndef LARDER_TAG_H
#define LARDER_TAG_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Max length of a tag's name, without its NUL.  A name is not empty. */
enum { LARDER_TAG_MAX = 63 };

/* Until larder_tag_end(), allocations of this thread belong to the tag, which
 * is created if there is none.  Up to 16 tags nest per thread, over all
 * allocators; the last one begun applies.  Requests that a begun private pool
 * accepts still go to the pool.
 * ERR_INVALID: the name is empty or too long, or 16 tags are begun. */
LARDER_API larder_result larder_tag_begin(larder_allocator *a, const char *tag);

/* End the tag that this thread began last on this allocator.  ERR_INVALID if
 * there is none. */
LARDER_API larder_result larder_tag_end(larder_allocator *a);

/* ---- statistics and limits ----------------------------------------------- */

/* The memory of a tag. */
typedef struct larder_tag_usage {
    size_t size; /* set by the caller */
    uint64_t allocation_count;
    uint64_t allocated_bytes; /* after rounding */
    uint64_t peak_allocated_bytes;
    uint64_t requested_bytes; /* of the same allocations, before rounding */
    uint64_t reserved_bytes;  /* held from the device, without pieces of
                                 larder_reserve() */
    uint64_t peak_reserved_bytes;
    uint64_t limit_bytes;   /* 0: none */
    uint64_t refused_count; /* allocations that failed because of the limit */
    int is_paused;
    uint64_t paused_bytes; /* released by larder_pause() */
    uint64_t kept_bytes;   /* of host memory that holds their contents */
} larder_tag_usage;
#define LARDER_TAG_USAGE_INIT LARDER_SIZED_INIT(larder_tag_usage)

/* A consistent snapshot; O(1).  ERR_INVALID for a tag that does not exist. */
LARDER_API larder_result larder_tag_stats(larder_allocator *a, const char *tag,
                                          larder_tag_usage *out);

/* Limit the memory that the tag holds from the device; 0: no limit.  A request
 * that would exceed it releases the tag's cached memory and, if that does not
 * help, fails with ERR_OUT_OF_MEMORY without asking the device.  Memory already
 * held stays, but once it is paused it cannot be resumed above the limit.  A tag
 * grows by whole pages or segments: 2 MiB for small requests, 20 MiB
 * (large_segment_size_mb) for others.  Creates the tag if there is none. */
LARDER_API larder_result larder_tag_limit(larder_allocator *a, const char *tag,
                                          uint64_t bytes);

/* ---- pause and resume ---------------------------------------------------- */

typedef enum larder_pause_mode {
    LARDER_PAUSE_KEEP = 1, /* keep contents in host memory */
    LARDER_PAUSE_DROP = 2  /* contents are undefined afterwards */
} larder_pause_mode;

/* Release the memory of a tag's allocations to the device; they keep their
 * addresses.  Waits first for all work queued on their streams and on the
 * streams recorded for them.  KEEP needs as much host memory as is released,
 * pinned if the device provides it.  Reserved bytes fall, allocated bytes do
 * not.
 *
 * While the tag is paused, its allocations may be freed; using them is an error
 * and faults; allocating for the tag fails with ERR_PAUSED.
 *
 * All or nothing: if the device fails midway, unmapped pages are mapped again;
 * if that fails too, the tag is paused with all its contents and
 * larder_resume() may be tried.
 *
 * ERR_UNSUPPORTED: the memory does not lie in pages.  ERR_BUSY: some of it is
 * exported.  ERR_CAPTURING: a capture may be in progress (larder_pool_begin()).
 * ERR_PAUSED: paused already.  ERR_INVALID: no such tag or mode.
 * ERR_NO_HOST_MEMORY, ERR_DEVICE.
 * Cost: a copy of everything (KEEP), and a driver call for each run of pages
 * and each page; the allocator's lock is held. */
LARDER_API larder_result larder_pause(larder_allocator *a, const char *tag,
                                      larder_pause_mode mode);

/* Map memory for the allocations that are still live and restore their
 * contents.  Releases cached memory if it must.  On failure the tag stays
 * paused and keeps its contents; out-of-memory observers are not called.
 * A tag that would exceed its limit (larder_tag_limit()), lowered below what the
 * tag held, stays paused until the limit is raised or enough of its allocations
 * are freed.
 * ERR_OUT_OF_MEMORY, also for that; ERR_INVALID: not paused; other errors as
 * above. */
LARDER_API larder_result larder_resume(larder_allocator *a, const char *tag);

#ifdef __cplusplus
}
#endif
#endif
