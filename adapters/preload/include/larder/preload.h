/* preload.h - functions of liblarder_preload.so for the program that runs on
 * it: statistics, snapshots, and releasing memory for a while.
 *
 *   LD_PRELOAD=liblarder_preload.so ./program
 *
 * Do not link with the library.  A program that also has to run without it
 * looks the functions up (dlsym(RTLD_DEFAULT, "larder_preload_pause")) or
 * declares them weak.  larder-preload(7) describes the settings.
 *
 * Devices    have the driver's numbers; LARDER_PRELOAD_ALL means every device
 *            from which the program took memory.
 * Errors     Results are those of larder.h; larder_preload_last_error() returns
 *            the message.
 * Threads    Every call may come from any thread.
 */
#ifndef LARDER_PRELOAD_H
#define LARDER_PRELOAD_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LARDER_PRELOAD_ALL = -1 };

/* Flags of larder_preload_pause(). */
enum { LARDER_PRELOAD_DROP = 1 /* contents are not kept */ };

/* The message of this thread's last failed call; "" before the first. */
LARDER_API const char *larder_preload_last_error(void);

typedef struct larder_preload_stats {
    size_t size;          /* set by the caller: sizeof(larder_preload_stats) */
    uint64_t allocations; /* served from Larder's memory */
    uint64_t frees;       /* of those allocations */
    uint64_t passed;      /* passed to the driver, but counted */
    uint64_t refused;     /* for lack of memory, or by the limit */
    uint64_t driver_allocs;   /* Larder's own, of driver memory */
    uint64_t driver_frees;    /* the corresponding frees */
    uint64_t waits;           /* for the device, before memory was reused */
    uint64_t live_bytes;      /* that the program holds from Larder */
    uint64_t live_bytes_peak; /* their maximum */
    uint64_t held_bytes;      /* that Larder holds from the driver */
    uint64_t held_bytes_peak;
    uint64_t outside_bytes; /* counted, but the driver's own */
    uint64_t limit_bytes;   /* UINT64_MAX: none */
    uint64_t paused_bytes;  /* released by larder_preload_pause() */
    uint64_t moves;         /* requests for which live memory was moved */
} larder_preload_stats;

/* O(1).  ERR_INVALID for a device from which the program took no memory. */
LARDER_API larder_result larder_preload_stats_get(int device,
                                                  larder_preload_stats *out);

/* Wait for the device, then release cached memory to the driver. */
LARDER_API larder_result larder_preload_empty_cache(int device);

/* Write a snapshot, as larder_snapshot_write() does (history.h). */
LARDER_API larder_result larder_preload_snapshot(int device, const char *path);

/* Wait for the device, keep a copy of its memory on the host (unless flags has
 * LARDER_PRELOAD_DROP), and release the physical memory.  The addresses stay
 * reserved; nothing may use them until larder_preload_resume().  Allocations in
 * the meantime come straight from the driver.  The copy needs as much host
 * memory as the program's allocations, rounded up to whole segments.
 *
 * ERR_UNSUPPORTED unless the settings have `pause`; ERR_CAPTURING while a
 * stream is captured; ERR_NO_HOST_MEMORY with nothing changed.  ERR_DEVICE if
 * the driver refuses a part: that part stays as it was.  Does nothing if the
 * device is paused already. */
LARDER_API larder_result larder_preload_pause(int device, unsigned flags);

/* Restore the memory at the same addresses with its contents, or with undefined
 * contents if they were dropped.  ERR_OUT_OF_MEMORY if not all of it fits now;
 * call again for the rest. */
LARDER_API larder_result larder_preload_resume(int device);

/* For an allocator in the program that moves memory in use (migrate.h), with
 * LARDER_PRELOAD=gate: wait until no thread is in a call that queues work, hold
 * such calls back from then on, and wait for the work of all devices.  Each
 * success is followed by larder_preload_release() in the same thread; others
 * that hold wait for it.
 *
 * ERR_UNSUPPORTED in other modes, in a forked child, and once memory may be
 * accessed past the hooks; ERR_CAPTURING while a stream is captured; ERR_DEVICE.
 * Costs the work that is queued. */
LARDER_API larder_result larder_preload_hold(void);
LARDER_API void larder_preload_release(void);

/* The driver's own function, for the allocator's calls, which must not be held
 * back by itself.  NULL: the driver has none of this name, or the mode is not
 * gate. */
LARDER_API void *larder_preload_below(const char *symbol);

#ifdef __cplusplus
}
#endif
#endif
