/* work.h - holds back the work that a program queues while memory in use
 * moves. */
#ifndef LARDER_ADAPTERS_PRELOAD_WORK_H
#define LARDER_ADAPTERS_PRELOAD_WORK_H

#include "preload_state.h"

/* Whether LARDER_PRELOAD allows memory to move, so that work is held back
 * meanwhile. */
bool preload_work_is_held(void);

/* Call these around a call that queues or does work.  Without effect unless it
 * is held back. */
bool preload_work_enter(void);
void preload_work_leave(bool is_entered);

/* From now on the program's memory can be accessed by what the library neither
 * holds back nor can wait for: others, past the hooks, or work in another context
 * than a device's primary one.  Memory in use does not move any more.  The name
 * of the call that did this stays valid. */
void preload_work_shared(const char *call);
/* The first such call.  NULL: none so far. */
const char *preload_work_shared_by(void);

/* Live memory of the slot's allocator may move, with all of the program's work
 * complete and new work held back. */
larder_result preload_work_guard(struct preload_slot *slot);
/* Whether that was tried in this thread since it was asked last. */
bool preload_work_was_held(void);

#endif
