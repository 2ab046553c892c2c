/* bell.c - waits for and wakes other processes by a word that they share.  Its own
 * file, as a build without an operating system replaces it (web/no_system.c). */
#include "ledger/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ticks.h"

void larder__bell_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void larder__bell_wait(const _Atomic uint32_t *word, uint64_t ns)
{
    const struct timespec t = ticks_timespec(ns);

    (void)syscall(SYS_futex, word, FUTEX_WAIT, 0, &t, NULL, 0);
}
