/* work.h - holding back what a program queues, while memory in use moves. */
#ifndef LARDER_ADAPTERS_PRELOAD_WORK_H
#define LARDER_ADAPTERS_PRELOAD_WORK_H

#include "preload_state.h"

/* Around a call that queues work, or does it.  Nothing is taken unless memory
 * may move by LARDER_PRELOAD. */
bool preload_work_enter(const struct preload_calls *real);
void preload_work_leave(bool is_entered);

/* Others may reach the program's memory past the driver's calls from now on:
 * none of it moves any more. */
void preload_work_shared(void);

/* Allocate of Larder once more, with all of the program's work done and none
 * let in: what lives may move for it.  ERR_OUT_OF_MEMORY, as before: memory may
 * not move, or does not help.  The slot's gate is held. */
larder_result preload_work_move(struct preload_slot *slot, uint64_t bytes,
                                larder_addr *out);

#endif
