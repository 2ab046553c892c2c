/* bell.c - waits for and wakes other processes by a word that they share. */
#include "ledger/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

void larder__bell_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void larder__bell_wait(const _Atomic uint32_t *word, uint64_t ns)
{
    const struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S),
                               .tv_nsec = (long)(ns % NS_PER_S)};

    (void)syscall(SYS_futex, word, FUTEX_WAIT, 0, &t, NULL, 0);
}
