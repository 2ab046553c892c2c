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

struct lock {
    atomic_int taken;
};

static inline void lock_init(struct lock *lock)
{
    atomic_init(&lock->taken, 0);
}

/* Until it looks free. */
void larder__lock_wait(const struct lock *lock);

/* Take it if nobody has it. */
static inline bool lock_try(struct lock *lock)
{
    return __builtin_expect(
        atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire) == 0,
        1);
}

static inline void lock_take(struct lock *lock)
{
    while (!lock_try(lock))
        larder__lock_wait(lock);
}

static inline void lock_leave(struct lock *lock)
{
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

#endif
