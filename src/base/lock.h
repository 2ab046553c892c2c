/* lock.h - a lock that costs one exchange to take and one store to leave.
 * Private to the library.
 *
 * In a program with one thread even the exchange is left out.
 *
 * For sections of tens of nanoseconds.  Who waits spins for a while, then
 * gives up its turn on the processor, so that a holder that was preempted
 * gets to run, and at last sleeps.  Not fair, not recursive. */
#ifndef LARDER_BASE_LOCK_H
#define LARDER_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
#include <sys/single_threaded.h>
#define LOCK_KNOWS_THREADS 1
#endif

struct lock {
    atomic_int taken;
};

static inline void lock_init(struct lock *lock)
{
    atomic_init(&lock->taken, 0);
}

/* Until it looks free. */
void larder__lock_wait(const struct lock *lock);

/* Take it if nobody has it.  In a program with one thread no other can want
 * it: the C library clears its flag before it makes a second one. */
static inline bool lock_try(struct lock *lock)
{
#ifdef LOCK_KNOWS_THREADS
    if (__libc_single_threaded) {
        if (atomic_load_explicit(&lock->taken, memory_order_relaxed) != 0)
            return false;
        atomic_store_explicit(&lock->taken, 1, memory_order_relaxed);
        return true;
    }
#endif
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
