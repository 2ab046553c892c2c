/* torch_random.c - skips PyTorch's random numbers for CPUs.
 *
 * They come from the Mersenne Twister 19937 (Matsumoto and Nishimura, 1998):
 * 624 words, each of which yields one number, after which all words are
 * regenerated.  Skipping regenerates the words but computes no numbers from
 * them. */
#include <stdbool.h>
#include <string.h>

#include "torch_failure.h"

enum { WORDS = 624, DISTANCE = 397 };

static const uint32_t UPPER = UINT32_C(0x80000000);
static const uint32_t LOWER = UINT32_C(0x7fffffff);
static const uint32_t MATRIX = UINT32_C(0x9908b0df);

/* The state that torch.get_rng_state() returns: at::CPUGeneratorImplState. */
struct generator_state {
    uint64_t seed;
    int32_t left; /* numbers until regeneration, plus one */
    int32_t seeded;
    uint64_t next; /* index of the next number's word */
    uint64_t words[WORDS];
    double normal[3];
    int32_t has_normal;
    float normal_float;
    int32_t has_normal_float;
    int32_t unused;
};
_Static_assert(sizeof(struct generator_state) == LARDER_TORCH_RANDOM_BYTES,
               "as PyTorch has it");

static uint32_t mixed(uint32_t first, uint32_t second)
{
    uint32_t word = (first & UPPER) | (second & LOWER);

    return (word >> 1) ^ ((0U - (second & 1U)) & MATRIX);
}

static void make_anew(uint32_t *words)
{
    int i;

    for (i = 0; i < WORDS - DISTANCE; i++)
        words[i] = words[i + DISTANCE] ^ mixed(words[i], words[i + 1]);
    for (; i < WORDS - 1; i++)
        words[i] = words[i + DISTANCE - WORDS] ^ mixed(words[i], words[i + 1]);
    words[i] = words[DISTANCE - 1] ^ mixed(words[i], words[0]);
}

static bool is_known(const struct generator_state *s)
{
    return s->left >= 1 && s->left <= WORDS && s->next <= WORDS &&
           (s->left == 1 || s->next + (uint64_t)s->left == WORDS + 1);
}

/* Skip the numbers that the current words still have, at most `count`. */
static uint64_t pass_within(struct generator_state *s, uint64_t count)
{
    uint64_t there = (uint64_t)s->left - 1;
    uint64_t passed = count < there ? count : there;

    s->left -= (int32_t)passed;
    s->next += passed;
    return passed;
}

static void pass_beyond(struct generator_state *s, uint64_t count)
{
    uint32_t words[WORDS];
    uint64_t rounds = 1 + (count - 1) / WORDS;
    uint64_t rest = (count - 1) % WORDS;
    int i;

    for (i = 0; i < WORDS; i++)
        words[i] = (uint32_t)s->words[i];
    for (; rounds > 0; rounds--)
        make_anew(words);
    for (i = 0; i < WORDS; i++)
        s->words[i] = words[i];
    /* The first number of new words was skipped when they were generated. */
    s->left = WORDS - (int32_t)rest;
    s->next = rest + 1;
}

larder_result larder_torch_random_skip(void *state, size_t bytes,
                                       uint64_t count)
{
    struct generator_state s;

    if (state == NULL || bytes != sizeof s) {
        larder__torch_remember_words(
            "a generator's state of %zu bytes: expected %zu", bytes, sizeof s);
        return LARDER_ERR_INVALID;
    }
    memcpy(&s, state, sizeof s);
    if (!is_known(&s)) {
        larder__torch_remember_words(
            "this is not a generator state of PyTorch");
        return LARDER_ERR_INVALID;
    }
    count -= pass_within(&s, count);
    if (count > 0)
        pass_beyond(&s, count);
    memcpy(state, &s, sizeof s);
    return LARDER_OK;
}
