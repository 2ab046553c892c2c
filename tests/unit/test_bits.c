/* test_bits.c - arithmetic on sizes and bit words, at its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bits.h"

static void roots_are_those_of_the_square_below(void **state)
{
    static const uint64_t roots[] = {1, 2, 3, 10, 71, 65535, 65536, UINT32_MAX};

    (void)state;
    assert_int_equal(bits_sqrt(0), 0);
    assert_int_equal(bits_sqrt(UINT64_MAX), UINT32_MAX);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        uint64_t square = roots[i] * roots[i];

        assert_int_equal(bits_sqrt(square - 1), roots[i] - 1);
        assert_int_equal(bits_sqrt(square), roots[i]);
        assert_int_equal(bits_sqrt(square + 2 * roots[i]), roots[i]);
    }
}

static void the_ends_of_a_word_are_found(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(bits_log2(UINT64_C(1) << i), i);
        assert_int_equal(bits_log2(UINT64_MAX >> (63 - i)), i);
        assert_int_equal(bits_lowest(UINT64_MAX << i), i);
        assert_true(bits_is_pow2(UINT64_C(1) << i));
    }
    assert_false(bits_is_pow2(0));
    assert_false(bits_is_pow2(3));
}

static void sizes_are_rounded_to_multiples(void **state)
{
    (void)state;
    assert_int_equal(bits_down(511, 512), 0);
    assert_int_equal(bits_down(512, 512), 512);
    assert_int_equal(bits_up(0, 512), 0);
    assert_int_equal(bits_up(1, 512), 512);
    assert_int_equal(bits_up(512, 512), 512);
    assert_int_equal(bits_lesser(3, 4), 3);
    assert_int_equal(bits_lesser(4, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_those_of_the_square_below),
        cmocka_unit_test(the_ends_of_a_word_are_found),
        cmocka_unit_test(sizes_are_rounded_to_multiples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
