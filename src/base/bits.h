/* bits.h - small arithmetic on sizes and bit words.  Private to the library. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LARDER_KIB (UINT64_C(1) << 10)
#define LARDER_MIB (UINT64_C(1) << 20)

/* Round to a multiple of a power of two. */
static inline uint64_t bits_down(uint64_t x, uint64_t pow2)
{
    return x & ~(pow2 - 1);
}

/* x + pow2 - 1 must not overflow. */
static inline uint64_t bits_up(uint64_t x, uint64_t pow2)
{
    return bits_down(x + pow2 - 1, pow2);
}

static inline bool bits_is_pow2(uint64_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

static inline uint64_t bits_lesser(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

/* Floor of the square root. */
static inline uint64_t bits_sqrt(uint64_t x)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1) {
        if ((root | bit) * (root | bit) <= x)
            root |= bit;
    }
    return root;
}

/* Floor of the base-2 logarithm; x > 0. */
static inline unsigned bits_log2(uint64_t x)
{
    return 63u ^ (unsigned)__builtin_clzll(x);
}

/* Index of the lowest set bit; x > 0. */
static inline unsigned bits_lowest(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}
