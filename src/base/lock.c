/* lock.c - a lock that takes one exchange to acquire and one store to
 * release. */
#include "base/lock.h"

#include <sched.h>
#include <time.h>

/* A waiting thread checks less and less often: each check takes the lock's
 * cache line away from the holder, which could otherwise complete many
 * sections.  The holder may be in the driver for milliseconds, so a thread that
 * waits longer than a section should take yields, and then sleeps between
 * checks. */
enum { PAUSES_MAX = 32, LOOKS = 12, YIELDS = 16, NAP_NS = 50000 };

static void pause_for(int pauses)
{
    for (int i = 0; i < pauses; i++) {
#if defined __x86_64__ || defined __i386__
        __builtin_ia32_pause();
#elif defined __aarch64__
        __asm__ volatile("isb");
#endif
    }
}

void larder__lock_wait(const struct lock *lock)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    int pauses = 1;
    int looks = 0;

    while (atomic_load_explicit(&lock->taken, memory_order_relaxed) != 0) {
        if (looks < LOOKS) {
            pause_for(pauses);
            if (pauses < PAUSES_MAX)
                pauses *= 2;
        } else if (looks < LOOKS + YIELDS) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
            continue;
        }
        looks++;
    }
}
