#include "base/lock.h"

#include <sched.h>
#include <time.h>

/* Who waits looks less and less often: a look takes the lock's line away from
 * its holder, and left alone a holder gets many sections done meanwhile.  A
 * holder may be in the driver for milliseconds: who waits longer than sections
 * should take gives up its turn, then sleeps between looks. */
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
