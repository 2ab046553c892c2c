/* rng.h - random numbers.
 *
 * They come in blocks of LAB__RANDOM_BLOCK, each with a generator of its own
 * that starts from (seed, number of the block): the numbers do not depend on
 * how many threads make them, and a copy of this struct is all there is to
 * remember to have the same ones again. */
#ifndef LAB_TENSOR_RNG_H
#define LAB_TENSOR_RNG_H

#include "tensor/parallel.h"

#define LAB__RANDOM_BLOCK 4096

struct lab__rng {
    uint64_t seed;
    uint64_t next; /* the next block not used */
};

/* Contiguous floats on all threads: in [0, 1), multiples of 2^-24; or normal,
 * mean 0 and variance 1. */
void lab__random_uniform(lab *l, float *to, int64_t count);
void lab__random_normal(lab *l, float *to, int64_t count);
/* The same in 32 bits, each value alike. */
void lab__random_words(lab *l, uint32_t *to, int64_t count);

/* Numbers one after the other: begin, then draw; nothing to end. */
#define LAB__DRAW_WORDS 512

struct lab__draw {
    struct lab__rng *rng;
    int used, have;
    uint32_t words[LAB__DRAW_WORDS];
};

void lab__draw_begin(struct lab__draw *draw, struct lab__rng *rng);
/* 0 <= n < range; of all 64 bits for a range of 0. */
uint64_t lab__draw_below(struct lab__draw *draw, uint64_t range);

#endif
