/* preload.h - what a program can ask of liblarder_preload.so when it runs on
 * it: statistics, snapshots, and releasing memory for a while.
 *
 *   LD_PRELOAD=liblarder_preload.so ./program
 *
 * The library is not linked with: a program that is to run without it too
 * looks the functions up (dlsym(RTLD_DEFAULT, "larder_preload_pause")) or
 * declares them weak.  larder-preload(7) has the settings.
 *
 * Devices    are numbered as the driver does; LARDER_PRELOAD_ALL is every one
 *            the program took memory of.
 * Errors     larder.h has the results; larder_preload_last_error() the words.
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

/* What this thread's last failed call had to say; "" before the first. */
LARDER_API const char *larder_preload_last_error(void);

typedef struct larder_preload_stats {
    size_t size;          /* set by the caller: sizeof(larder_preload_stats) */
    uint64_t allocations; /* served from Larder's memory */
    uint64_t frees;       /* of those */
    uint64_t passed;      /* left to the driver, but counted */
    uint64_t refused;     /* for lack of memory, or by the limit */
    uint64_t driver_allocs;   /* Larder's own of the driver */
    uint64_t driver_frees;    /* and back */
    uint64_t waits;           /* for the device, before memory was reused */
    uint64_t live_bytes;      /* the program holds of Larder */
    uint64_t live_bytes_peak; /* the highest that was */
    uint64_t held_bytes;      /* Larder holds of the driver */
    uint64_t held_bytes_peak;
    uint64_t outside_bytes; /* counted, the driver's own */
    uint64_t limit_bytes;   /* UINT64_MAX: none */
    uint64_t paused_bytes;  /* released by larder_preload_pause() */
    uint64_t moves;         /* requests that memory in use moved for */
} larder_preload_stats;

/* O(1).  ERR_INVALID for a device the program took no memory of. */
LARDER_API larder_result larder_preload_stats_get(int device,
                                                  larder_preload_stats *out);

/* Wait for the device, then release to the driver what is cached. */
LARDER_API larder_result larder_preload_empty_cache(int device);

/* Write a snapshot, as larder_snapshot_write() does (history.h). */
LARDER_API larder_result larder_preload_snapshot(int device, const char *path);

/* Wait for the device, keep a copy of its memory on the host (unless flags
 * has LARDER_PRELOAD_DROP), and release the physical memory; addresses stay
 * the program's.  Until larder_preload_resume() nothing may use them; what is
 * allocated meanwhile comes straight from the driver.  Takes as much host
 * memory as the program's allocations, in whole segments.
 *
 * ERR_UNSUPPORTED unless the settings have `pause`; ERR_CAPTURING while a
 * stream is captured; ERR_NO_HOST_MEMORY with nothing changed.  ERR_DEVICE if
 * the driver refuses part: that part stays as it was.  Nothing happens if it
 * is paused. */
LARDER_API larder_result larder_preload_pause(int device, unsigned flags);

/* Bring the memory back where it was, with its contents, or with none if they
 * were dropped.  ERR_OUT_OF_MEMORY if it does not all fit now: what is
 * missing can be asked for again. */
LARDER_API larder_result larder_preload_resume(int device);

#ifdef __cplusplus
}
#endif
#endif
