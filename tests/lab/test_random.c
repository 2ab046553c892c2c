/* test_random.c - random numbers have the right distribution, depend only on
 * the seed and not on the number of threads, and differ between seeds. */
#include <math.h>

#include "lab_rig.h"
#include "tensor/rng.h"

enum { COUNT = 4000000 };

static lab *session(uint64_t seed, unsigned threads)
{
    lab_options opt;
    lab *l = NULL;

    lab_options_init(&opt);
    opt.seed = seed;
    opt.threads = threads;
    lab_assert_ok(lab_open(&opt, &l));
    return l;
}

static lab_tensor *normal(lab *l, int64_t n)
{
    lab_tensor *t = NULL;

    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_HOST, 1, &n, &t));
    return t;
}

/* The mean of x to the k, and its tolerance for `n` numbers. */
static double moment(const float *x, int64_t n, int k)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += pow((double)x[i], k);
    return sum / (double)n;
}

static void near(const char *what, double got, double want, double allowed)
{
    if (!(fabs(got - want) <= allowed))
        fail_msg("%s is %g, not %g", what, got, want);
}

static double between(const float *x, int64_t n, double low, double high)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        count += (double)x[i] >= low && (double)x[i] < high;
    return (double)count;
}

/* ---- distributions ------------------------------------------------------ */

/* A count with expectation `want` stays within 5 standard deviations. */
static void counted(const char *what, double got, double want)
{
    near(what, got, want, 5 * sqrt(want));
}

static void normal_numbers_are_normal(void **state)
{
    lab *l = session(3, 0);
    lab_tensor *t = normal(l, COUNT);
    const float *x = (const float *)(uintptr_t)lab_address(t);
    double root = sqrt(COUNT), both = 0;

    (void)state;
    near("mean", moment(x, COUNT, 1), 0, 5 / root);
    near("variance", moment(x, COUNT, 2), 1, 5 * sqrt(2) / root);
    near("skewness", moment(x, COUNT, 3), 0, 5 * sqrt(15) / root);
    near("kurtosis", moment(x, COUNT, 4), 3, 5 * sqrt(96) / root);
    for (double at = -4.5; at < 4.5; at += 0.5) {
        double share =
            0.5 * (erfc(at * sqrt(0.5)) - erfc((at + 0.5) * sqrt(0.5)));

        counted("a step of the bell", between(x, COUNT, at, at + 0.5),
                share * COUNT);
    }
    counted("tail", between(x, COUNT, 4.5, 9) + between(x, COUNT, -9, -4.5),
            COUNT * erfc(4.5 * sqrt(0.5)));
    for (int lag = 1; lag <= 2048; lag *= 2) {
        both = 0;
        for (int64_t i = 0; i + lag < COUNT; i++)
            both += (double)x[i] * (double)x[i + lag];
        near("correlation", both / COUNT, 0, 5 / root);
    }
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void uniform_numbers_are_uniform(void **state)
{
    const int64_t n = COUNT;
    lab *l = session(4, 0);
    lab_tensor *t;
    const float *x;

    (void)state;
    lab_assert_ok(lab_rand(l, LAB_FLOAT32, LAB_HOST, 1, &n, &t));
    x = (const float *)(uintptr_t)lab_address(t);
    for (int i = 0; i < 64; i++)
        counted("a 64th", between(x, n, i / 64.0, (i + 1) / 64.0), COUNT / 64);
    assert_true(between(x, n, 0, 1) == COUNT);
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void whole_numbers_fall_in_their_range(void **state)
{
    enum { N = 70000 };
    const int64_t n = N;
    lab *l = session(5, 0);
    lab_tensor *t;
    static int64_t x[N];
    int counts[7] = {0};

    (void)state;
    lab_assert_ok(lab_randint(l, LAB_INT64, LAB_DEVICE, 1, &n, -3, 4, &t));
    lab_assert_ok(lab_read(t, x, sizeof x));
    for (int i = 0; i < N; i++) {
        assert_in_range(x[i] + 3, 0, 6);
        counts[x[i] + 3]++;
    }
    for (int i = 0; i < 7; i++)
        counted("a value", counts[i], N / 7);
    lab_unref(t);
    lab_assert_ok(
        lab_randint(l, LAB_INT64, LAB_DEVICE, 1, &n, INT64_MIN, INT64_MAX, &t));
    lab_assert_ok(lab_read(t, x, sizeof x));
    counts[0] = 0;
    for (int i = 0; i < N; i++)
        counts[0] += x[i] < 0;
    counted("negative ones", counts[0], N / 2);
    lab_unref(t);
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_randint(l, LAB_INT64, LAB_HOST, 1, &n, 4, 4, &t),
                       "low < high");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_randn(l, LAB_INT64, LAB_HOST, 1, &n, &t), "int64");
    lab_assert_ok(lab_close(l));
}

static void a_permutation_has_each_number_once(void **state)
{
    enum { N = 1000, TIMES = 400 };
    lab *l = session(6, 0);
    int64_t x[N];
    double first = 0;

    (void)state;
    for (int round = 0; round < TIMES; round++) {
        unsigned char seen[N] = {0};
        lab_tensor *t;

        lab_assert_ok(lab_randperm(l, N, &t));
        lab_assert_ok(lab_read(t, x, sizeof x));
        for (int i = 0; i < N; i++) {
            assert_in_range(x[i], 0, N - 1);
            assert_int_equal(seen[x[i]]++, 0);
        }
        first += (double)x[0] / TIMES;
        lab_unref(t);
    }
    near("mean of the first", first, 499.5, 5 * 289 / sqrt(TIMES));
    lab_assert_ok(lab_close(l));
}

/* ---- seeds -------------------------------------------------------------- */

static bool same(lab *a, lab *b, int64_t n)
{
    lab_tensor *x = normal(a, n), *y = normal(b, n);
    bool is_same = memcmp((const void *)(uintptr_t)lab_address(x),
                          (const void *)(uintptr_t)lab_address(y),
                          (size_t)n * sizeof(float)) == 0;

    lab_unref(x);
    lab_unref(y);
    return is_same;
}

static void a_seed_gives_the_same_on_any_number_of_threads(void **state)
{
    lab *one = session(7, 1), *three = session(7, 3);

    (void)state;
    assert_true(same(one, three, 1000001));
    assert_true(same(one, three, 5));
    lab_assert_ok(lab_close(one));
    lab_assert_ok(lab_close(three));
}

/* xoshiro128++ from its definition: 16 generators, one step each. */
static uint32_t turned(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static uint64_t mixed(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint32_t next(uint32_t s[4])
{
    uint32_t result = turned(s[0] + s[3], 7) + s[0], kept = s[1] << 9;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= kept;
    s[3] = turned(s[3], 11);
    return result;
}

/* A float has the upper 24 bits of a word. */
static void the_words_are_those_of_the_generator(void **state)
{
    lab *l = session(11, 1);
    uint64_t seed = mixed(mixed(11));
    const int64_t count = 160;
    float floats[160];
    lab_tensor *t;

    (void)state;
    lab_assert_ok(lab_rand(l, LAB_FLOAT32, LAB_HOST, 1, &count, &t));
    lab_assert_ok(lab_read(t, floats, sizeof floats));
    lab_unref(t);
    for (int lane = 0; lane < 16; lane++) {
        uint64_t low =
            mixed(seed + 2 * (uint64_t)lane * UINT64_C(0x9e3779b97f4a7c15));
        uint64_t high = mixed(seed + (2 * (uint64_t)lane + 1) *
                                         UINT64_C(0x9e3779b97f4a7c15));
        uint32_t s[4] = {(uint32_t)low | 1, (uint32_t)(low >> 32),
                         (uint32_t)high, (uint32_t)(high >> 32)};

        for (int i = 0; i < 10; i++)
            assert_int_equal(floats[16 * i + lane] * 0x1p24f, next(s) >> 8);
    }
    lab_assert_ok(lab_close(l));
}

static void different_seeds_give_different_numbers(void **state)
{
    lab *a = session(1, 1), *b = session(2, 1);

    (void)state;
    assert_false(same(a, b, 2));
    lab_assert_ok(lab_close(a));
    lab_assert_ok(lab_close(b));
}

static void a_remembered_state_gives_the_same_again(void **state)
{
    lab *a = session(8, 1), *b = session(8, 1);
    struct lab__rng kept;

    (void)state;
    assert_true(same(a, b, 100));
    kept = *a->rng;
    lab_unref(normal(a, 5000));
    assert_false(same(a, b, 100));
    *a->rng = kept;
    *b->rng = kept;
    assert_true(same(a, b, 100));
    lab_seed(a, 9);
    lab_seed(b, 9);
    assert_true(same(a, b, 3));
    assert_false(memcmp(a->rng, &kept, sizeof kept) == 0);
    lab_assert_ok(lab_close(a));
    lab_assert_ok(lab_close(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_numbers_are_normal),
        cmocka_unit_test(uniform_numbers_are_uniform),
        cmocka_unit_test(whole_numbers_fall_in_their_range),
        cmocka_unit_test(a_permutation_has_each_number_once),
        cmocka_unit_test(a_seed_gives_the_same_on_any_number_of_threads),
        cmocka_unit_test(the_words_are_those_of_the_generator),
        cmocka_unit_test(different_seeds_give_different_numbers),
        cmocka_unit_test(a_remembered_state_gives_the_same_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
