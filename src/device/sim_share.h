/* sim_share.h - the capacity of one simulated GPU, shared by all processes of
 * this machine that use its name.  Private to the simulated GPU.
 *
 * A POSIX shared memory object has a slot for each device that a process has
 * open, with the bytes it holds.  The memory in use is the sum over the slots,
 * and each change is a single store, so a process that dies at any moment
 * leaves a consistent state.  Slots of dead processes are swept when room is
 * short and when someone asks; the last process to leave removes the object. */
#pragma once

#include <stdbool.h>

#include <larder/device.h>

struct sim_share;

/* Join the object, or create it.  ERR_INVALID if it exists with another
 * capacity; ERR_SYSTEM if it has no room, or cannot be trusted: it belongs to
 * another user, is accessible to others, or has another size or kind.  The last
 * error is set. */
larder_result larder__sim_share_open(const char *name, int ordinal,
                                     uint64_t capacity_bytes,
                                     struct sim_share **out);

/* Leave.  What this device held is released; the context is too if the process
 * has no other device open on the object. */
void larder__sim_share_close(struct sim_share *share);

/* False: there is no room for it. */
bool larder__sim_share_take(struct sim_share *share, uint64_t bytes);
void larder__sim_share_release(struct sim_share *share, uint64_t bytes);

/* The context counts once for each process, however many devices it opens. */
bool larder__sim_share_take_context(struct sim_share *share, uint64_t bytes);

struct sim_share_use {
    uint64_t all_bytes;
    uint64_t self_bytes; /* of this process, including its context */
    uint64_t context_bytes;
};
struct sim_share_use larder__sim_share_use(struct sim_share *share);

/* Calls fn without holding a lock. */
larder_result larder__sim_share_each(struct sim_share *share,
                                     larder_process_fn *fn, void *ctx);
