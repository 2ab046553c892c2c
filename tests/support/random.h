/* random.h - pseudo-random numbers, the same for a seed in every run.
 *
 * Header only. */
#ifndef LARDER_TESTS_SUPPORT_RANDOM_H
#define LARDER_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

/* Replaces the seed by the next one; it is never 0. */
static inline uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#endif
