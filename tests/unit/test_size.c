/* test_size.c - sizes as people write them, with and without decimals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <larder/larder.h>

struct reading {
    const char *text;
    uint64_t bytes;
};

static void decimals_are_parts_of_the_unit(void **state)
{
    static const struct reading readings[] = {
        {"0.5k", 512},
        {"1.5GiB", UINT64_C(3) << 29},
        {"23.99GiB", UINT64_C(25759066357)},
        {"0.000000000001TiB", 1},
        {"0.0000000000009TiB", 0},
        {"1.0000000000000000000000MiB", UINT64_C(1) << 20},
        {"8388607.5TiB", (UINT64_C(1) << 63) - (UINT64_C(1) << 39)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        uint64_t bytes = 7;

        assert_int_equal(larder_parse_size(readings[i].text, &bytes),
                         LARDER_OK);
        assert_int_equal(bytes, readings[i].bytes);
    }
}

static void a_point_needs_digits_and_a_unit(void **state)
{
    static const char *const texts[] = {
        "1.5", "1.GiB", ".5GiB", "1.5.5k", "1.-5k", "1,5k", "8388608.1TiB"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t bytes = 7;

        assert_int_equal(larder_parse_size(texts[i], &bytes),
                         LARDER_ERR_INVALID);
        assert_int_equal(bytes, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_parts_of_the_unit),
        cmocka_unit_test(a_point_needs_digits_and_a_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
