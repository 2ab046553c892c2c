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

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
#include <sys/single_threaded.h>
#define LOCK_KNOWS_THREADS 1
#endif

/* A holder may be in the driver for milliseconds: who waits longer than a
 * section should take sleeps between looks. */
enum { LOCK_SPINS = 200, LOCK_YIELDS = 16, LOCK_NAP_NS = 50000 };

struct lock {
    atomic_int taken;
};

static inline void lock_init(struct lock *lock)
{
    atomic_init(&lock->taken, 0);
}

static inline void lock_wait(struct lock *lock)
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    int looks = 0;

    while (atomic_load_explicit(&lock->taken, memory_order_relaxed) != 0) {
        if (looks < LOCK_SPINS + LOCK_YIELDS)
            looks++;
        if (looks < LOCK_SPINS) {
#if defined __x86_64__ || defined __i386__
            __builtin_ia32_pause();
#endif
        } else if (looks < LOCK_SPINS + LOCK_YIELDS) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
        }
    }
}

static inline void lock_take(struct lock *lock)
{
#ifdef LOCK_KNOWS_THREADS
    /* No other thread can want it: the C library clears its flag before it
     * makes a second one. */
    if (__libc_single_threaded &&
        atomic_load_explicit(&lock->taken, memory_order_relaxed) == 0) {
        atomic_store_explicit(&lock->taken, 1, memory_order_relaxed);
        return;
    }
#endif
    while (__builtin_expect(
        atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire) != 0,
        0))
        lock_wait(lock);
}

static inline void lock_leave(struct lock *lock)
{
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

#endif
