/* rng.c - random numbers. */
#include "tensor/rng.h"

#include "tensor/float_math.h"
#include "tensor/wide.h"

enum {
    BLOCK = LAB__RANDOM_BLOCK,
    LANES = 16,
    /* Minimum number of blocks worth a thread. */
    BLOCK_GRAIN = LAB__GRAIN / BLOCK / 4
};

/* ---- random words ------------------------------------------------------- */

/* 16 generators side by side, each xoshiro128++ (Blackman and Vigna): a state
 * of 128 bits, with 32-bit additions and shifts, which every vector unit
 * has. */
struct lanes {
    uint32_t s[4][LANES];
};

/* splitmix64 by Steele et al., which is commonly used to seed other
 * generators. */
static uint64_t rng_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void lanes_seed(struct lanes *g, uint64_t seed, uint64_t block)
{
    uint64_t x = rng_mix(rng_mix(seed) ^ block);

    for (int i = 0; i < LANES; i++) {
        for (int j = 0; j < 4; j += 2) {
            uint64_t word = rng_mix(x);

            x += UINT64_C(0x9e3779b97f4a7c15);
            g->s[j][i] = (uint32_t)word;
            g->s[j + 1][i] = (uint32_t)(word >> 32);
        }
        g->s[0][i] |= 1; /* an all-zero state would never change */
    }
}

LAB__INLINE uint32_t turned(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

/* n is a multiple of LANES. */
LAB__BODY words_make_body(struct lanes *g, uint32_t *to, int n)
{
    for (int at = 0; at < n; at += LANES) {
        for (int i = 0; i < LANES; i++) {
            uint32_t a = g->s[0][i], b = g->s[1][i];
            uint32_t c = g->s[2][i] ^ a, d = g->s[3][i] ^ b;

            to[at + i] = turned(a + g->s[3][i], 7) + a;
            g->s[1][i] = b ^ c;
            g->s[0][i] = a ^ d;
            g->s[2][i] = c ^ b << 9;
            g->s[3][i] = turned(d, 11);
        }
    }
}
LAB__TWICE(words_make, (struct lanes * g, uint32_t *to, int n), (g, to, n))

static int rounded_up(int n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* The first n words of a block; there is room for rounded_up(n). */
static void block_words(uint64_t seed, uint64_t block, uint32_t *to, int n)
{
    struct lanes g;

    lanes_seed(&g, seed, block);
    words_make(&g, to, rounded_up(n));
}

/* ---- floats ------------------------------------------------------------- */

LAB__BODY uniform_body(const uint32_t *words, float *to, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (float)(int32_t)(words[i] >> 8) * 0x1p-24f;
}
LAB__TWICE(uniform, (const uint32_t *words, float *to, int n), (words, to, n))

/* Box-Muller: a point of the plane by angle and distance.  The distance uses a
 * number in (0, 1] with 31 bits, so the tails reach 6.5. */
LAB__BODY normal_body(const uint32_t *words, float *to, int half)
{
    for (int i = 0; i < half; i++) {
        float u = (float)(int32_t)(words[i] >> 1) * 0x1p-31f + 0x1p-32f;
        float v = (float)(int32_t)(words[half + i] >> 8) * 0x1p-24f;
        float far = -2.0f * lab__log_normal(u);
        float sine, cosine;

        far = __builtin_sqrtf(far > 0.0f ? far : 0.0f);
        lab__sincos_turn(v, &sine, &cosine);
        to[i] = far * cosine;
        to[half + i] = far * sine;
    }
}
LAB__TWICE(normal, (const uint32_t *words, float *to, int half),
           (words, to, half))

/* ---- on many cores ------------------------------------------------------ */

struct fill {
    void *to;
    int64_t count;
    uint64_t seed, first; /* first: block of the first number */
    void (*one)(const struct fill *fill, int64_t block, int n);
};

static void one_uniform(const struct fill *f, int64_t block, int n)
{
    uint32_t words[BLOCK];

    block_words(f->seed, f->first + (uint64_t)block, words, n);
    uniform(words, (float *)f->to + block * BLOCK, n);
}

static void one_normal(const struct fill *f, int64_t block, int n)
{
    uint32_t words[BLOCK];
    float numbers[BLOCK];
    float *to = (float *)f->to + block * BLOCK;
    int half = (n + 1) / 2;

    block_words(f->seed, f->first + (uint64_t)block, words, 2 * half);
    if (n == 2 * half) {
        normal(words, to, half);
        return;
    }
    normal(words, numbers, half);
    memcpy(to, numbers, (size_t)n * sizeof *to);
}

static void block_fill(void *context, int64_t block)
{
    const struct fill *f = context;
    int64_t left = f->count - block * BLOCK;

    f->one(f, block, left < BLOCK ? (int)left : BLOCK);
}

static void fill_all(lab *l, void *to, int64_t count,
                     void (*one)(const struct fill *, int64_t, int))
{
    struct fill fill = {to, count, l->rng->seed, l->rng->next, one};
    int64_t blocks = (count + BLOCK - 1) / BLOCK;

    l->rng->next += (uint64_t)blocks;
    lab__parallel_each(l, blocks, BLOCK_GRAIN, block_fill, &fill);
}

void lab__random_uniform(lab *l, float *to, int64_t count)
{
    fill_all(l, to, count, one_uniform);
}

void lab__random_normal(lab *l, float *to, int64_t count)
{
    fill_all(l, to, count, one_normal);
}

/* ---- one number at a time ----------------------------------------------- */

void lab__draw_begin(struct lab__draw *draw, struct lab__rng *rng)
{
    draw->rng = rng;
    draw->used = draw->have = 0;
}

/* Generate only a few words at first: most draws are short. */
static void draw_more(struct lab__draw *draw)
{
    draw->have = draw->have == 0 ? LANES : LAB__DRAW_WORDS;
    block_words(draw->rng->seed, draw->rng->next++, draw->words, draw->have);
    draw->used = 0;
}

static uint64_t draw_word(struct lab__draw *draw)
{
    if (draw->used == draw->have)
        draw_more(draw);
    return draw->words[draw->used++];
}

/* Below range, by multiplication.  Rounding makes some values more likely by at
 * most range / 2^64 (2^-32 for ranges below 2^32). */
uint64_t lab__draw_below(struct lab__draw *draw, uint64_t range)
{
    uint64_t word = draw_word(draw);

    if (range <= UINT32_MAX && range != 0)
        return word * range >> 32;
    word = word << 32 | draw_word(draw);
    return range != 0 ? word % range : word;
}
