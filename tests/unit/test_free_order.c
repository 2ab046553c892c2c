/* test_free_order.c - which of several free blocks of one size is taken: PyTorch
 * 2.12 takes the one whose header is oldest, releases before it the one with the
 * lowest address. */
#include "support/rig.h"

enum { PIECES = 3 };

/* One expandable segment with pages of 20 MiB, in MiB:
 *
 *   0     10        20        40       50     60        70     80
 *   | live | before | unmapped | after | live | late     | live |
 *
 * `late` is older than the two that were cut when the page between them was
 * released.  `before` comes last in any case: it counts with the addresses that
 * it can grow by. */
static struct rig pieces_up(const char *release, larder_addr *base)
{
    char conf[64];
    struct rig rig;
    larder_addr middle;
    larder_addr late;

    (void)snprintf(conf, sizeof conf, "pytorch:%s,expandable_segments:True",
                   release);
    rig = rig_up("sim:512MiB,backing=none", conf);
    *base = rig_alloc(&rig, MIB(10));
    middle = rig_alloc(&rig, MIB(40));
    (void)rig_alloc(&rig, MIB(10));
    late = rig_alloc(&rig, MIB(10));
    (void)rig_alloc(&rig, MIB(10));
    assert_int_equal(middle, *base + MIB(10));
    assert_int_equal(late, *base + MIB(60));
    rig_free(&rig, middle);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(60));
    rig_free(&rig, late);
    return rig;
}

static void assert_order(const char *release, const uint64_t *order)
{
    larder_addr base;
    struct rig rig = pieces_up(release, &base);

    for (int i = 0; i < PIECES; i++)
        assert_int_equal(rig_alloc(&rig, MIB(10)), base + MIB(order[i]));
    assert_int_equal(rig_reserved(&rig), MIB(60));
    assert_ok(larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
}

static void the_block_whose_header_is_oldest_is_taken(void **state)
{
    static const uint64_t order[PIECES] = {60, 40, 10};

    (void)state;
    assert_order("2.12", order);
}

static void releases_before_2_12_take_the_lowest_address(void **state)
{
    static const char *const releases[] = {"2.4", "2.10", "2.11"};
    static const uint64_t order[PIECES] = {40, 60, 10};

    (void)state;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        assert_order(releases[i], order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_whose_header_is_oldest_is_taken),
        cmocka_unit_test(releases_before_2_12_take_the_lowest_address),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
