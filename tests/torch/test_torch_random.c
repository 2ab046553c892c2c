/* test_torch_random.c - skipping random numbers leaves a generator in the same
 * state as drawing them. */
#include "torch/torch_host.h"

enum { WORDS = 624 };

/* The layout of torch.get_rng_state(), as far as it is used. */
struct state {
    uint64_t seed;
    int32_t left;
    int32_t seeded;
    uint64_t next;
    uint64_t words[WORDS];
    char rest[LARDER_TORCH_RANDOM_BYTES - 24 - 8 * WORDS];
};

static struct state seeded(uint32_t seed)
{
    struct state s = {.seed = seed, .left = 1, .seeded = 1};
    uint32_t word = seed;
    uint32_t i;

    for (i = 0; i < WORDS; i++) {
        s.words[i] = word;
        word = UINT32_C(1812433253) * (word ^ (word >> 30)) + i + 1;
    }
    return s;
}

static void pass_over(struct state *s, uint64_t count)
{
    assert_int_equal(LIB(larder_torch_random_skip)(s, sizeof *s, count),
                     LARDER_OK);
}

/* The number skipped last. */
static uint32_t last(const struct state *s)
{
    uint32_t y = (uint32_t)s->words[s->next - 1];

    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

static void numbers_are_the_published_ones(void **state)
{
    struct state s = seeded(5489);

    (void)state;
    pass_over(&s, 1);
    assert_int_equal(last(&s), UINT32_C(3499211612));
    pass_over(&s, 9999);
    /* The ten thousandth number of std::mt19937 according to the C++
     * standard. */
    assert_int_equal(last(&s), UINT32_C(4123659995));
}

static void passing_over_many_is_passing_over_each(void **state)
{
    static const uint64_t counts[] = {0, 1, 622, 623, 624, 625, 1248, 100000};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct state singly = seeded(7);
        struct state at_once = seeded(7);
        uint64_t n;

        for (n = 0; n < counts[i]; n++)
            pass_over(&singly, 1);
        pass_over(&at_once, counts[i]);
        assert_memory_equal(&singly, &at_once, sizeof singly);
    }
}

static void invalid_generator_states_are_refused(void **state)
{
    struct state s = seeded(7);

    (void)state;
    assert_int_equal(LIB(larder_torch_random_skip)(&s, 16, 1),
                     LARDER_ERR_INVALID);
    host_failed("a generator's state of 16 bytes: expected 5056");
    s.left = 600;
    assert_int_equal(LIB(larder_torch_random_skip)(&s, sizeof s, 1),
                     LARDER_ERR_INVALID);
    host_failed("this is not a generator state of PyTorch");
    assert_int_equal(s.left, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_published_ones),
        cmocka_unit_test(passing_over_many_is_passing_over_each),
        cmocka_unit_test(invalid_generator_states_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
