/* rng.h - random numbers.
 *
 * They come in blocks of LAB__RANDOM_BLOCK, each from a generator of its own
 * seeded with (seed, block number): the numbers do not depend on the number of
 * threads, and a copy of this struct is enough to repeat them. */
#pragma once

#include "tensor/parallel.h"

#define LAB__RANDOM_BLOCK 4096

struct lab__rng {
    uint64_t seed;
    uint64_t next; /* number of the next unused block */
};

/* Fill with floats, on all threads: uniform in [0, 1), multiples of 2^-24; or
 * normal with mean 0 and variance 1. */
void lab__random_uniform(lab *l, float *to, int64_t count);
void lab__random_normal(lab *l, float *to, int64_t count);

/* Single numbers in sequence: begin, then draw; no end is needed. */
#define LAB__DRAW_WORDS 512

struct lab__draw {
    struct lab__rng *rng;
    int used, have;
    uint32_t words[LAB__DRAW_WORDS];
};

void lab__draw_begin(struct lab__draw *draw, struct lab__rng *rng);
/* 0 <= n < range; all 64 bits if range is 0. */
uint64_t lab__draw_below(struct lab__draw *draw, uint64_t range);
