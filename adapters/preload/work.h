/* work.h - holds back the work that a program queues while memory in use
 * moves. */
#ifndef LARDER_ADAPTERS_PRELOAD_WORK_H
#define LARDER_ADAPTERS_PRELOAD_WORK_H

#include "preload_state.h"

/* Call these around a call that queues or does work.  Without effect unless
 * LARDER_PRELOAD allows memory to move. */
bool preload_work_enter(const struct preload_calls *real);
void preload_work_leave(bool is_entered);

/* From now on others can access the program's memory without going through the
 * hooks: memory in use does not move any more. */
void preload_work_shared(void);

/* Retry an allocation from Larder with all of the program's work complete and
 * new work held back, so that live memory may move for it.  ERR_OUT_OF_MEMORY
 * as before: memory may not move, or that does not help.  The slot's gate is
 * held. */
larder_result preload_work_move(struct preload_slot *slot, uint64_t bytes,
                                larder_addr *out);

#endif
