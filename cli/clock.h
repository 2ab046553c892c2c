/* clock.h - a monotonic clock, for durations. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Never goes backwards, nor jumps when the time of day is set. */
static inline uint64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
