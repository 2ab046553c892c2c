/* test_pools_live.c - larder_pool_live_is(): whether these are the allocations of
 * a private pool. */
#include "support/rig.h"

#define SPEC "sim:1GiB,backing=none,events=manual"

static const larder_pool_id pool = {1, 0};

static larder_addr alloc(struct rig *rig, uint64_t bytes)
{
    return rig_alloc_in(rig, pool, bytes, 0);
}

static int live_is(struct rig *rig, const larder_addr *addrs, size_t count)
{
    int same = 7;

    assert_ok(larder_pool_live_is(rig->a, pool, addrs, count, &same));
    return same;
}

static void know_what_is_live(const char *conf)
{
    struct rig rig = rig_up(SPEC, conf);
    larder_addr outside = rig_alloc(&rig, 4096);
    larder_addr p = alloc(&rig, 4096);
    larder_addr q = alloc(&rig, MIB(4));
    larder_addr freed = alloc(&rig, 4096);
    larder_addr both[] = {q, p};
    larder_addr inside[] = {p, q + 512};
    larder_addr stranger[] = {p, outside};
    larder_addr with_freed[] = {p, q, freed};

    rig_free(&rig, freed);
    assert_int_equal(live_is(&rig, both, 2), 1);
    assert_int_equal(live_is(&rig, both, 1), 0);
    assert_int_equal(live_is(&rig, both, 0), 0);
    assert_int_equal(live_is(&rig, inside, 2), 0);
    assert_int_equal(live_is(&rig, stranger, 2), 0);
    assert_int_equal(live_is(&rig, with_freed, 3), 0);
    rig_free(&rig, p);
    assert_int_equal(live_is(&rig, &q, 1), 1);
    rig_free(&rig, q);
    assert_int_equal(live_is(&rig, NULL, 0), 1);
    rig_free(&rig, outside);
    rig_down(&rig);
}

static void live_is_knows_exactly_what_is_live(void **state)
{
    (void)state;
    know_what_is_live("");
}

static void live_is_knows_allocations_with_red_zones(void **state)
{
    (void)state;
    know_what_is_live("debug:2");
}

static void live_is_does_not_count_an_address_twice(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc(&rig, 4096);
    larder_addr twice[] = {p, p};

    (void)state;
    alloc(&rig, 4096);
    assert_int_equal(live_is(&rig, twice, 2), 0);
    rig_down(&rig);
}

static void live_is_counts_no_block_that_waits_for_a_stream(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc(&rig, 4096);

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 1));
    assert_int_equal(live_is(&rig, &p, 1), 1);
    rig_free(&rig, p);
    assert_int_equal(live_is(&rig, &p, 1), 0);
    assert_int_equal(live_is(&rig, NULL, 0), 1);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_is_knows_exactly_what_is_live),
        cmocka_unit_test(live_is_knows_allocations_with_red_zones),
        cmocka_unit_test(live_is_does_not_count_an_address_twice),
        cmocka_unit_test(live_is_counts_no_block_that_waits_for_a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
