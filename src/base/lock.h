/* lock.h - a lock that costs one exchange to take and one store to leave.
 * Private to the library.
 *
 * For sections of tens of nanoseconds.  Who waits spins for a while, then
 * gives up its turn on the processor, so that a holder that was preempted
 * gets to run, and at last sleeps.  Not fair, not recursive. */
#ifndef LARDER_BASE_LOCK_H
#define LARDER_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/witness.h"

struct lock {
    atomic_int taken;
#if LARDER_ASSERT_LEVEL > 0
    int rank;
#endif
};

/* Its place in the order of all locks (witness.h). */
static inline int lock_rank(const struct lock *lock)
{
#if LARDER_ASSERT_LEVEL > 0
    return lock->rank;
#else
    (void)lock;
    return 0;
#endif
}

static inline void lock_init(struct lock *lock, int rank)
{
    atomic_init(&lock->taken, 0);
#if LARDER_ASSERT_LEVEL > 0
    lock->rank = rank;
#else
    (void)rank;
#endif
}

/* Until it looks free. */
void larder__lock_wait(const struct lock *lock);

/* Take it if nobody has it. */
static inline bool lock_try(struct lock *lock)
{
    bool taken = __builtin_expect(
        atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire) == 0,
        1);

    if (taken)
        larder__witness_take(lock, lock_rank(lock));
    return taken;
}

static inline void lock_take(struct lock *lock)
{
    larder__witness_order(lock, lock_rank(lock));
    while (!lock_try(lock))
        larder__lock_wait(lock);
}

static inline void lock_leave(struct lock *lock)
{
    larder__witness_leave(lock);
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

#endif
