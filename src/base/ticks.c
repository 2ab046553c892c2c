/* ticks.c - a clock cheap enough to read for every event, and its ticks as the
 * time of day. */
#include "base/ticks.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { INVARIANT_COUNTER = 1 << 8 }; /* CPUID 0x80000007, in EDX */

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_US 1000

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t); /* these two clocks always exist */
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

uint64_t larder__ticks_system_ns(void)
{
    return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

static bool counter_is_even(void)
{
#if defined(__x86_64__)
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) &&
           (d & INVARIANT_COUNTER) != 0;
#else
    return false;
#endif
}

static struct ticks_pair pair_now(const struct ticks_clock *c)
{
    return (struct ticks_pair){ticks_now(c), larder__ticks_system_ns()};
}

void larder__ticks_begin(struct ticks_clock *c)
{
    c->has_counter = counter_is_even();
    c->begin = pair_now(c);
}

void larder__ticks_scale(const struct ticks_clock *c, struct ticks_scale *out)
{
    struct ticks_pair now = pair_now(c);
    uint64_t ticks = now.ticks - c->begin.ticks;

    if (c->counted) {
        *out = (struct ticks_scale){.ns_per_tick = NS_PER_US};
        return;
    }
    out->begin = c->begin;
    out->ns_per_tick = 1;
    if (c->has_counter && ticks > 0)
        out->ns_per_tick =
            (double)(now.monotonic_ns - c->begin.monotonic_ns) / (double)ticks;
    out->wall_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
}

uint64_t larder__ticks_wall_us(const struct ticks_scale *s, uint64_t ticks)
{
    double since = (double)(ticks - s->begin.ticks) * s->ns_per_tick;
    int64_t ns =
        (int64_t)(s->begin.monotonic_ns + (uint64_t)since) + s->wall_offset_ns;

    return (uint64_t)(ns / 1000);
}
