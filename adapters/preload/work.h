/* work.h - holds back the work that a program queues while memory in use
 * moves. */
#pragma once

#include "preload_state.h"

/* Whether LARDER_PRELOAD allows memory to move, so that work is held back
 * meanwhile. */
bool preload_work_is_held(void);

/* Call these around a call that queues or does work.  Without effect unless it
 * is held back. */
bool preload_work_enter(void);
void preload_work_leave(bool is_entered);

/* From now on the program's memory can be accessed by work that the library can
 * neither hold back nor wait for: of other processes, past the hooks, or in a
 * context other than a device's primary one.  Memory in use no longer moves.
 * The name of the call that did this stays valid. */
void preload_work_shared(const char *call);
/* The first such call.  NULL: none so far. */
const char *preload_work_shared_by(void);

/* A hook that makes the driver's own call, with work held back; `before` and
 * `after`, statements, are done around it. */
#define PRELOAD_WORK_HOOK(symbol, params, args, before, after)                 \
    cud_result symbol params                                                   \
    {                                                                          \
        const struct preload_calls *real = preload_driver();                   \
        cud_result answer = CUD_NOT_SUPPORTED;                                 \
        bool is_entered;                                                       \
                                                                               \
        if (real == NULL)                                                      \
            return CUD_NOT_INITIALIZED;                                        \
        is_entered = preload_work_enter();                                     \
        before;                                                                \
        if (real->symbol != NULL)                                              \
            answer = real->symbol args;                                        \
        after;                                                                 \
        preload_work_leave(is_entered);                                        \
        return answer;                                                         \
    }

/* devices_pass.c */
enum preload_pass { PRELOAD_PASSED, PRELOAD_PASS_FAILED, PRELOAD_PASS_LATE };

/* Wait until all work of all devices is complete.  LATE: it is not, after a
 * gate's patience. */
enum preload_pass preload_devices_pass(const struct preload_calls *real);

/* Live memory of the slot's allocator may move, with all of the program's work
 * complete and new work held back. */
larder_result preload_work_guard(struct preload_slot *slot);
/* Whether that was tried in this thread since it was asked last. */
bool preload_work_was_held(void);
