/* sim.h - the simulated GPU: its guarantees, and how to control it.
 *
 * Memory.  mem_alloc() takes the lowest free address that fits; sizes are
 * rounded up and addresses aligned to 2 MiB (below 1 MiB: to 512 bytes).
 * address_reserve() does the same in a second region, 16 TiB above the first
 * where the machine has room for that.  Capacity counts rounded bytes and the
 * contexts; a call that would exceed it fails with LARDER_ERR_OUT_OF_MEMORY, as
 * does one for more addresses than the region has left.
 * With backing=memory (the default) addresses are real: memory is committed on
 * first touch, and freed or unmapped memory faults.  With backing=SIZE they are
 * too, but a copy or fill of more than SIZE writes nothing on the device: small
 * things have values, large ones take no memory of the host.  With backing=none
 * they are numbers, and an 80 GiB job replays on a laptop.
 *
 * Order.  A stream is a number below LARDER_SIM_STREAMS; its work runs in the
 * order it was queued.
 *   events=immediate  (and auto, outside of `larder replay`) Work runs when it
 *                     is queued.
 *   events=manual     Work runs only in larder_sim_complete() and when an event
 *                     is waited for.  Freeing, unmapping and waiting for a
 *                     stream complete nothing.
 *   events=driver     As manual, but like a driver, freeing memory (pinned
 *                     memory too) first runs all queued work, and waiting for
 *                     a stream runs that stream.  Unmapping waits for nothing,
 *                     which a driver may do.
 * A copy or fill whose memory was freed, or mapped to other pages, since it was
 * queued is skipped; the call that ran it returns the error.
 *
 * Capture.  While a stream is captured, calls that free memory or that query or
 * wait for events and streams fail with LARDER_ERR_CAPTURING, as a driver's do.
 *
 * Sharing.  With shared=NAME the capacity covers all processes of the machine
 * that use this name, contexts included.  When a process exits or calls
 * execve(), its memory is released: the kernel drops a lock that it held.
 * Processes are identified by pid, so all must be in one pid namespace (one
 * container).  The shared memory object is refused with LARDER_ERR_SYSTEM
 * unless it belongs to the user, is inaccessible to others and intact; its
 * memory is reserved when it is created.  A child process must open the device
 * itself: one opened before a fork belongs to the parent, and its pages are not
 * mapped in the child, so that stale pointers fault.
 *
 * With export=fd or export=fabric, pages can be sent to another process that
 * has the same simulated GPU (shared=NAME) with real memory: both see the same
 * bytes.  A page lives until the last of them releases it or exits.  It counts
 * as held by the process that created it; once that has exited it does not
 * count.  A fabric handle is valid while its creator lives, between processes
 * that may open each other's files.
 *
 * These functions return LARDER_ERR_UNSUPPORTED for other devices.
 */
#ifndef LARDER_SIM_H
#define LARDER_SIM_H

#include <larder/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams are the numbers less than this. */
#define LARDER_SIM_STREAMS 65536

/* Run all work queued on the stream so far, and the work on other streams that
 * it waits for. */
LARDER_API larder_result larder_sim_complete(larder_device *dev,
                                             larder_stream stream);

/* Queue a call of fn(ctx) on the stream: a simulated kernel.  The device's
 * lock is held while it runs: it must not call the device. */
typedef void larder_sim_kernel(void *ctx);
LARDER_API larder_result larder_sim_launch(larder_device *dev,
                                           larder_stream stream,
                                           larder_sim_kernel *fn, void *ctx);

/* Make the stream wait for the last record of the event. */
LARDER_API larder_result larder_sim_wait_event(larder_device *dev,
                                               larder_stream stream,
                                               uint64_t event);

/* Begin and end the capture of a stream.  ERR_INVALID if the stream is, or is
 * not, captured already.  Work is queued as usual: there is no graph to
 * replay. */
LARDER_API larder_result larder_sim_capture_begin(larder_device *dev,
                                                  larder_stream stream);
LARDER_API larder_result larder_sim_capture_end(larder_device *dev,
                                                larder_stream stream);

/* The base addresses of the two regions.  Printed placements are relative to
 * the first. */
LARDER_API larder_result larder_sim_regions(larder_device *dev,
                                            larder_addr *first,
                                            larder_addr *second);

typedef struct larder_sim_usage {
    size_t size; /* set by the caller */
    uint64_t capacity_bytes;
    uint64_t used_bytes;    /* by every process, contexts included */
    uint64_t self_bytes;    /* by this process, its context included */
    uint64_t context_bytes; /* of self_bytes: 0 before the first use */
    uint64_t allocations;   /* live ones of mem_alloc() */
    uint64_t pages;         /* live handles */
    uint64_t mappings;
    uint64_t reservations; /* address ranges */
    uint64_t events;
} larder_sim_usage;
#define LARDER_SIM_USAGE_INIT LARDER_SIZED_INIT(larder_sim_usage)

/* The current usage. */
LARDER_API larder_result larder_sim_get_usage(larder_device *dev,
                                              larder_sim_usage *out);

/* The cards that `sim:NAME` knows: the names of each, separated by commas, the
 * usual one first; NULL past the last.  Static. */
LARDER_API const char *larder_sim_card(size_t index);

#ifdef __cplusplus
}
#endif
#endif
