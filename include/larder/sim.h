/* sim.h - the simulated GPU: what it promises, and how to steer it.
 *
 * Memory.  mem_alloc() takes the lowest free address that fits, rounded up
 * and aligned to 2 MiB (below 1 MiB: to 512 bytes); address_reserve() does
 * the same in a second region, 16 TiB above the first where the machine has
 * room for that.  Capacity counts rounded bytes and the contexts; what would
 * exceed it fails with out-of-memory.  With backing=memory (the default)
 * addresses are real: memory comes with its first touch, and what was freed
 * or unmapped faults when touched.  With backing=none they are numbers, and
 * an 80 GiB job replays on a laptop.
 *
 * Order.  A stream is a number below LARDER_SIM_STREAMS; each is a queue
 * whose work runs in order.  With events=immediate (and auto, outside of
 * `larder replay`) work runs as it is queued; with events=manual nothing runs
 * until larder_sim_complete(), or a wait for an event, says so: freeing,
 * unmapping and waiting for a stream complete nothing.  events=driver is the
 * same, but true to a driver where that is not: freeing memory, pinned memory
 * too, runs all that is queued first, and waiting for a stream runs that
 * stream.  Unmapping waits for nothing, as a driver need not.  A copy or a fill
 * that comes to memory which is gone by then, or has been mapped to other pages
 * since it was queued, is left out, and reported by what ran it.
 *
 * Capture.  While a stream is captured, freeing memory, asking or waiting for
 * events and streams fail with LARDER_ERR_CAPTURING, as a driver's do.
 *
 * Sharing.  With shared=NAME the capacity is counted over all processes of
 * the machine that use this name, contexts included; what a process held is
 * released when it dies or becomes another program (execve), by a lock that
 * the kernel takes from it.  Processes count by their number: all of them must
 * see the same ones, as those of one container do.  The object in shared memory
 * is refused with LARDER_ERR_SYSTEM unless it is the user's own, closed to
 * others and whole; its memory is reserved as it is made.  A child process
 * opens the device itself: one opened before a fork is its parent's, and its
 * pages are not mapped in the child: a stale pointer faults there too.
 *
 * With export=fd or export=fabric pages can be handed to another process that
 * has a simulated GPU with real memory: both then see the same bytes.  A page
 * lives until the last of them lets go of it or dies, and counts as held by
 * the one that made it; what only others still use, after its maker has died,
 * counts no more.  A fabric handle is good while its maker lives, and between
 * processes that may open each other's files.
 *
 * Functions here return LARDER_ERR_UNSUPPORTED for a device that is not a
 * simulated one.
 */
#ifndef LARDER_SIM_H
#define LARDER_SIM_H

#include <larder/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams are the numbers below this. */
#define LARDER_SIM_STREAMS 65536

/* Run everything queued on the stream so far, and what it waits for on other
 * streams. */
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

/* Begin and end the capture of a stream.  ERR_INVALID if it is already, or is
 * not, captured.  Work is queued as ever: there is no graph to replay. */
LARDER_API larder_result larder_sim_capture_begin(larder_device *dev,
                                                  larder_stream stream);
LARDER_API larder_result larder_sim_capture_end(larder_device *dev,
                                                larder_stream stream);

/* Where the first region begins: placements are printed relative to it.  The
 * second begins at *second. */
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

/* What is in use now. */
LARDER_API larder_result larder_sim_get_usage(larder_device *dev,
                                              larder_sim_usage *out);

#ifdef __cplusplus
}
#endif
#endif
