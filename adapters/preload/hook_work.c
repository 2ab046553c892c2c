/* hook_work.c - hooks of calls that queue work on memory: each makes the
 * driver's own call, but only while no memory is being moved. */
#include "work.h"

#define X(symbol, name, since, per_thread, types, params, args)                \
    PRELOAD_WORK_HOOK(symbol, params, args, (void)0, (void)0)
PRELOAD_WORK_MAP(X)
#undef X

/* Before the call, because what it shares may be used at once. */
#define X(symbol, name, since, per_thread, types, params, args)                \
    PRELOAD_WORK_HOOK(symbol, params, args, preload_work_shared(#symbol),      \
                      (void)0)
PRELOAD_SHARE_MAP(X)
#undef X
