/* clock.h - time that passes, for tests that wait.  Header only. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Less than a second. */
static inline void nap_ms(long ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000};

    nanosleep(&t, NULL);
}
