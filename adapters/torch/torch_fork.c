/* torch_fork.c - detects forks. */
#include "torch_fork.h"

#include <pthread.h>
#include <stdatomic.h>

#include "torch_failure.h"

static bool is_watched;
static atomic_bool is_forked;

static void torch_fork_in_child(void)
{
    atomic_store_explicit(&is_forked, true, memory_order_relaxed);
    larder__torch_failure_unlock();
}

/* The child stores errors too, so the lock must be free in it. */
bool larder__torch_fork_watch(void)
{
    if (!is_watched)
        is_watched = pthread_atfork(larder__torch_failure_lock,
                                    larder__torch_failure_unlock,
                                    torch_fork_in_child) == 0;
    return is_watched;
}

bool larder__torch_is_forked(void)
{
    return atomic_load_explicit(&is_forked, memory_order_relaxed);
}
