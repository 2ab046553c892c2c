/* test_ranges.c - how long the ranges of addresses are that a stream of the policy
 * larder reserves. */
#include "support/rig.h"

#include "core/entry/handle.h"

#define SPEC "sim:64MiB,backing=none,events=immediate"

/* Of the only stream's heap for large requests. */
static uint64_t reserved(const struct rig *rig)
{
    const struct allocator *a = handle_allocator(rig->a);

    assert_int_equal(a->pools[POOL_LARGE].heap_count, 1);
    return a->pools[POOL_LARGE].heaps[0]->range_bytes;
}

/* What fits no range that there is, in so far as `rest` is kept in the last. */
static larder_addr outgrow(struct rig *rig)
{
    larder_addr low = rig_alloc_on(rig, MIB(32), 0);
    larder_addr rest = rig_alloc_on(rig, MIB(2), 0);

    rig_free(rig, low);
    rig_free(rig, rig_alloc_on(rig, MIB(44), 0));
    return rest;
}

static void the_first_is_an_eighth_longer_than_the_device(void **state)
{
    struct rig rig = rig_up_pages(SPEC, LARDER_POLICY_LARDER, "");

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(2), 0));
    assert_int_equal(reserved(&rig), MIB(72));
    rig_down(&rig);
}

static void no_later_one_is_longer_than_that(void **state)
{
    struct rig rig = rig_up_pages(SPEC, LARDER_POLICY_LARDER, "");
    larder_addr rest;

    (void)state;
    rest = outgrow(&rig);
    assert_int_equal(reserved(&rig), 2 * MIB(72));
    rig_free(&rig, rest);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* A stream that is not the first begins with a part of the device. */
static void each_is_twice_as_long_as_the_request(void **state)
{
    struct rig rig = rig_up_pages(SPEC, LARDER_POLICY_LARDER, "");

    (void)state;
    for (larder_stream stream = 0; stream < 3; stream++)
        rig_free(&rig, rig_alloc_on(&rig, KIB(4), stream));
    rig_free(&rig, rig_alloc_on(&rig, MIB(30), 2));
    assert_int_equal(reserved(&rig), MIB(60));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_an_eighth_longer_than_the_device),
        cmocka_unit_test(no_later_one_is_longer_than_that),
        cmocka_unit_test(each_is_twice_as_long_as_the_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
