/* ticks.h - a clock cheap enough to read for every event, and the conversion of
 * its ticks to the time of day.  Private to the library.
 *
 * If the CPU has a counter that runs at a constant rate through sleep and
 * across cores, it is read directly: no call, and half the cost of the system's
 * clock. The length of a tick follows from reading both clocks twice: when
 * counting began, and when it is asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Both clocks at the same moment. */
struct ticks_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

struct ticks_clock {
    bool has_counter; /* else ticks are nanoseconds */
    bool counted;     /* no clock: ticks are events, a microsecond each */
    struct ticks_pair begin;
};

uint64_t larder__ticks_system_ns(void);

/* A moment of that clock, for calls that wait until one. */
static inline struct timespec ticks_timespec(uint64_t ns)
{
    const uint64_t second = 1000000000;

    return (struct timespec){.tv_sec = (time_t)(ns / second),
                             .tv_nsec = (long)(ns % second)};
}

static inline uint64_t ticks_now(const struct ticks_clock *c)
{
#if defined(__x86_64__)
    if (c->has_counter)
        return __rdtsc();
#endif
    (void)c;
    return larder__ticks_system_ns();
}

void larder__ticks_begin(struct ticks_clock *c);

/* The conversion from ticks to the time of day. */
struct ticks_scale {
    struct ticks_pair begin;
    double ns_per_tick;
    int64_t wall_offset_ns; /* time of day - monotonic time */
};

/* From the clocks' current values. */
void larder__ticks_scale(const struct ticks_clock *c, struct ticks_scale *out);

/* Microseconds since 1970. */
uint64_t larder__ticks_wall_us(const struct ticks_scale *s, uint64_t ticks);
