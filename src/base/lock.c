#include "base/lock.h"

#include <sched.h>
#include <time.h>

/* A holder may be in the driver for milliseconds: who waits longer than a
 * section should take sleeps between looks. */
enum { SPINS = 200, YIELDS = 16, NAP_NS = 50000 };

void larder__lock_wait(const struct lock *lock)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    int looks = 0;

    while (atomic_load_explicit(&lock->taken, memory_order_relaxed) != 0) {
        if (looks < SPINS + YIELDS)
            looks++;
        if (looks < SPINS) {
#if defined __x86_64__ || defined __i386__
            __builtin_ia32_pause();
#endif
        } else if (looks < SPINS + YIELDS) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
        }
    }
}
