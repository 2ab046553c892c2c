/* lock.h - a lock that takes one exchange to acquire and one store to release.
 * Private to the library.
 *
 * It is for sections of tens of nanoseconds.  A waiting thread spins for a
 * while, then yields the CPU so that a preempted holder can run, and finally
 * sleeps.  Not fair, not recursive. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/witness.h"

struct lock {
    atomic_int taken;
#if LARDER_ASSERT_LEVEL > 0
    int rank;
#endif
};

/* Its rank in the order of all locks (witness.h). */
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

/* Wait until it looks free. */
void larder__lock_wait(const struct lock *lock);

/* Take it if it is free. */
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
