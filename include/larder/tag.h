/* tag.h - named sets of allocations: what they take, how much they may, and
 * releasing their memory for a while.
 *
 *   larder_tag_begin(a, "weights");
 *   larder_alloc(a, ...);              // this thread's go to the tag
 *   larder_tag_end(a);
 *   ...
 *   larder_pause(a, "weights", LARDER_PAUSE_KEEP);
 *   ...                                // their memory is free for others
 *   larder_resume(a, "weights");       // same addresses, same contents
 *
 * A tag's allocations have memory of their own, which nothing else shares: in
 * pages, where the device has virtual memory and the policy is not `direct`,
 * whatever expandable_segments says.  What a tag has cached is released like
 * any cached memory.  A tag lives as long as its allocator.
 *
 * While any thread has begun a tag of an allocator, requests of all threads
 * take the slow path, with all locks; otherwise tags cost a request nothing. */
#ifndef LARDER_TAG_H
#define LARDER_TAG_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Longest name of a tag, without its NUL; not empty. */
enum { LARDER_TAG_MAX = 63 };

/* From now until larder_tag_end(), allocations of this thread belong to the
 * tag, which is made if it is new.  Up to 16 nest in a thread, over all
 * allocators: the one begun last counts.  While a private pool is begun,
 * requests it accepts go there all the same.
 * ERR_INVALID: the name is empty or too long, or 16 are begun. */
LARDER_API larder_result larder_tag_begin(larder_allocator *a, const char *tag);

/* The tag this thread began last on this allocator ends.  ERR_INVALID if it
 * has begun none. */
LARDER_API larder_result larder_tag_end(larder_allocator *a);

/* ---- statistics and limits ------------------------------------------------ */

/* What a tag takes. */
typedef struct larder_tag_usage {
    size_t size; /* set by the caller */
    uint64_t allocation_count;
    uint64_t allocated_bytes; /* handed out, after rounding */
    uint64_t peak_allocated_bytes;
    uint64_t requested_bytes; /* as asked for, of these */
    uint64_t reserved_bytes;  /* held from the device, but not of pieces of
                                 larder_reserve() */
    uint64_t peak_reserved_bytes;
    uint64_t limit_bytes;   /* 0: none */
    uint64_t refused_count; /* allocations that failed for the limit */
    int is_paused;
    uint64_t paused_bytes; /* released by larder_pause() */
    uint64_t kept_bytes;   /* of host memory with their contents */
} larder_tag_usage;

/* O(1), all from one moment.  ERR_INVALID for a tag that was never begun. */
LARDER_API larder_result larder_tag_stats(larder_allocator *a, const char *tag,
                                          larder_tag_usage *out);

/* Let the tag hold at most so many bytes from the device; 0: no limit.  A
 * request that would need more releases what the tag has cached, then fails
 * with ERR_OUT_OF_MEMORY, without asking the device.  What is held already
 * stays.  Memory grows by whole pages or segments: 2 MiB for small requests,
 * 20 MiB, or as large_segment_size_mb says, for others.  The tag is made if it
 * is new. */
LARDER_API larder_result larder_tag_limit(larder_allocator *a, const char *tag,
                                          uint64_t bytes);

/* ---- pause and resume ------------------------------------------------------ */

typedef enum larder_pause_mode {
    LARDER_PAUSE_KEEP = 1, /* contents are kept in host memory */
    LARDER_PAUSE_DROP = 2  /* and are undefined afterwards */
} larder_pause_mode;

/* Give the device back the memory of a tag's allocations; their addresses
 * stay theirs.  Waits first for all work queued on their streams and on the
 * streams recorded for them.  KEEP takes as much host memory as is released,
 * pinned if the device has that to give.  Reserved bytes fall, allocated bytes
 * do not.
 *
 * While paused: the allocations may be freed; using them is a mistake, and
 * faults; allocating for the tag fails with ERR_PAUSED.
 *
 * It happens whole or not at all: if the device refuses half way, what was
 * unmapped is mapped again; if it refuses that too, the tag is paused, with
 * every byte still there, and larder_resume() may be tried again.
 *
 * ERR_UNSUPPORTED: the memory is not in pages.  ERR_BUSY: some of it is
 * exported.  ERR_CAPTURING: a private pool is begun, or a stream captured.
 * ERR_PAUSED: it is already.  ERR_INVALID: no such tag, or mode.
 * ERR_NO_HOST_MEMORY, ERR_DEVICE.
 * Cost: a copy of everything, and a driver call for each run of pages and each
 * page; the allocator's lock is held. */
LARDER_API larder_result larder_pause(larder_allocator *a, const char *tag,
                                      larder_pause_mode mode);

/* Map memory for what is still allocated, and copy its contents back.  Cached
 * memory is released if that makes the room; nobody is told of a failure but
 * the caller.  A failure leaves the tag paused, its contents kept.
 * ERR_OUT_OF_MEMORY, ERR_INVALID: it is not paused; else as above. */
LARDER_API larder_result larder_resume(larder_allocator *a, const char *tag);

#ifdef __cplusplus
}
#endif
#endif
