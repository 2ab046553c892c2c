/* sim_budget.h - the bytes of a simulated GPU: how many there are, and who has
 * them.  Private to the simulated GPU.
 *
 * The processes of this machine that use its name share a GPU.  A POSIX shared
 * memory object has a slot for each device that a process has open, with the
 * bytes it holds.  The memory in use is the sum over the slots, and each change
 * is a single store, so a process that dies at any moment leaves a consistent
 * state.  Slots of dead processes are swept when room is short and when someone
 * asks; the last process to leave removes the object. */
#pragma once

#include <stdbool.h>

#include <larder/device.h>

enum { SIM_BUDGET_SLOTS = 256 };

struct sim_budget {
    uint64_t capacity_bytes;
    uint64_t context_bytes; /* charged at first use */
    bool is_used;
    uint64_t held_bytes;     /* by this device, without the context */
    struct sim_share *share; /* NULL: not shared with other processes */
};

/* Join the GPU of this name and number, or create it; "": it is not shared.
 * ERR_INVALID if it exists with another capacity; ERR_SYSTEM if it has no room,
 * or cannot be trusted: it belongs to another user, is accessible to others, or
 * has another size or kind.  The last error is set. */
larder_result larder__sim_budget_open(struct sim_budget *b, const char *name,
                                      int ordinal);

/* What this device held is released; the context is too if the process has no
 * other device open on the GPU. */
void larder__sim_budget_close(struct sim_budget *b);

/* Charge the context at first use.  It counts once for each process, however
 * many devices it opens. */
larder_result larder__sim_budget_begin(struct sim_budget *b);

/* ERR_OUT_OF_MEMORY if it does not fit. */
larder_result larder__sim_budget_take(struct sim_budget *b, uint64_t bytes);
void larder__sim_budget_release(struct sim_budget *b, uint64_t bytes);

struct sim_budget_use {
    uint64_t all_bytes;
    uint64_t self_bytes; /* of this process, including its context */
    uint64_t context_bytes;
};
struct sim_budget_use larder__sim_budget_use(const struct sim_budget *b);

/* List the processes that hold memory.  Returns their number. */
int larder__sim_budget_processes(const struct sim_budget *b,
                                 larder_device_process out[SIM_BUDGET_SLOTS]);
