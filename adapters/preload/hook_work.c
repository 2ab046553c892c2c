/* hook_work.c - hooks of calls that queue work on memory: each makes the
 * driver's own call, but only while no memory is being moved. */
#include "work.h"

#define X(symbol, name, since, per_thread, types, params, args)                \
    cud_result symbol params                                                   \
    {                                                                          \
        const struct preload_calls *real = preload_driver();                   \
        cud_result answer = CUD_NOT_SUPPORTED;                                 \
        bool is_entered;                                                       \
                                                                               \
        if (real == NULL)                                                      \
            return CUD_NOT_INITIALIZED;                                        \
        is_entered = preload_work_enter();                                     \
        if (real->symbol != NULL)                                              \
            answer = real->symbol args;                                        \
        preload_work_leave(is_entered);                                        \
        return answer;                                                         \
    }
PRELOAD_WORK_MAP(X)
#undef X

/* Before the call, because what it shares may be used at once. */
#define X(symbol, name, since, per_thread, types, params, args)                \
    cud_result symbol params                                                   \
    {                                                                          \
        const struct preload_calls *real = preload_driver();                   \
        cud_result answer = CUD_NOT_SUPPORTED;                                 \
        bool is_entered;                                                       \
                                                                               \
        if (real == NULL)                                                      \
            return CUD_NOT_INITIALIZED;                                        \
        is_entered = preload_work_enter();                                     \
        preload_work_shared(#symbol);                                          \
        if (real->symbol != NULL)                                              \
            answer = real->symbol args;                                        \
        preload_work_leave(is_entered);                                        \
        return answer;                                                         \
    }
PRELOAD_SHARE_MAP(X)
#undef X
