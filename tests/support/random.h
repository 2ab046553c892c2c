/* random.h - pseudo-random numbers, the same for a seed in every run.
 *
 * Header only. */
#pragma once

#include <stdint.h>

/* A seed for random_next(), of any number. */
static inline uint64_t random_begin(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* Replaces the seed by the next one; it is never 0. */
static inline uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A number below `end`.  What is recorded of random programs depends on how either
 * is drawn. */
static inline uint64_t random_u64(uint64_t *seed, uint64_t end)
{
    return (random_next(seed) * UINT64_C(0x2545f4914f6cdd1d) >> 16) % end;
}

static inline unsigned random_u32(uint64_t *seed, unsigned end)
{
    return (unsigned)(random_next(seed) >> 20) % end;
}
