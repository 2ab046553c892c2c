/* The larder policy on devices of 6 to 16 GiB, where handles are large also
 * when memory is tight: how large, who has them, and how they are filled. */
#include "device/device.h"
#include "support/rig.h"

#define SPEC "sim:8GiB,backing=none,events=immediate"

static struct rig up(const char *spec)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, "");
}

/* ---- sizes ---------------------------------------------------------------- */

static uint64_t created_for(struct rig *rig, uint64_t bytes,
                            larder_stream stream)
{
    uint64_t before = rig_calls(rig, LARDER_CALL_page_create);

    (void)rig_alloc_on(rig, bytes, stream);
    assert_ok(larder_check(rig->a));
    return rig_calls(rig, LARDER_CALL_page_create) - before;
}

static void assert_created(const char *spec, uint64_t want)
{
    struct rig rig = up(spec);

    assert_int_equal(created_for(&rig, GIB(1), 0), want);
    rig_down(&rig);
}

static void handles_are_large_on_middle_devices(void **state)
{
    (void)state;
    assert_created("sim:6142MiB,backing=none", 512); /* a page each */
    assert_created("sim:6144MiB,backing=none", 35);  /* 15 pages */
    assert_created("sim:16384MiB,backing=none", 35);
    assert_created("sim:16386MiB,backing=none", 128); /* 4 pages */
}

static void handles_are_larger_on_vast_devices(void **state)
{
    (void)state;
    assert_created("sim:65534MiB,backing=none", 43); /* 12 pages */
    assert_created("sim:65536MiB,backing=none", 16); /* 32 */
}

/* On a device where they are of one page, all of it is had and given back. */
static void handles_grow_where_all_is_given_back_again(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    uint64_t created[14];

    (void)state;
    for (int i = 0; i < 14; i++) {
        uint64_t before = rig_calls(&rig, LARDER_CALL_page_create);
        larder_addr addr = rig_alloc(&rig, GIB(1));

        created[i] = rig_calls(&rig, LARDER_CALL_page_create) - before;
        rig_free(&rig, addr);
        assert_ok(larder_empty_cache(rig.a));
    }
    assert_int_equal(created[0], 512);
    assert_int_equal(created[3], 512);
    assert_int_equal(created[4], 256);
    assert_int_equal(created[13], (512 + 5) / 6);
    rig_down(&rig);
}

/* What is mapped ahead of need follows the use of all heaps, but not here. */
static void they_are_small_at_the_beginning(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    (void)rig_alloc_on(&rig, GIB(1), 0);
    (void)rig_alloc_on(&rig, 256, 0);
    assert_int_equal(rig_reserved(&rig), GIB(1) + MIB(2));
    rig_down(&rig);
}

static void they_get_smaller_with_the_room(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    (void)rig_alloc_on(&rig, GIB(8) - MIB(256), 0);
    assert_int_equal(created_for(&rig, MIB(128), 0), 10); /* of 7 */
    assert_int_equal(created_for(&rig, MIB(64), 0), 11);  /* of 3 */
    assert_int_equal(created_for(&rig, MIB(64), 0), 32);
    rig_down(&rig);
}

/* Where streams share memory it moves between them. */
static void they_are_small_where_heaps_share(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    assert_int_equal(created_for(&rig, GIB(1), 0), 35);
    assert_int_equal(created_for(&rig, GIB(1), 1), 256);
    assert_int_equal(created_for(&rig, GIB(1), 0), 256);
    rig_down(&rig);
}

static uint64_t small_bytes(const char *spec, uint64_t bytes)
{
    struct rig rig = up(spec);
    uint64_t held;

    (void)rig_alloc_on(&rig, bytes, 0);
    held = (uint64_t)rig_stats(&rig).allocated_bytes.small_pool.current;
    rig_down(&rig);
    return held;
}

static void the_small_pool_takes_larger_blocks(void **state)
{
    (void)state;
    assert_int_equal(small_bytes(SPEC, KIB(512)), KIB(512));
    assert_int_equal(small_bytes(SPEC, KIB(512) + 1), 0);
    assert_int_equal(small_bytes("sim:5GiB,backing=none", KIB(128)), KIB(128));
    assert_int_equal(small_bytes("sim:5GiB,backing=none", KIB(128) + 1), 0);
}

/* A block is counted where it was, whatever the limit has become. */
static void a_limit_leaves_the_pools_as_they_are(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr addr = rig_alloc_on(&rig, KIB(300), 0);

    (void)state;
    assert_ok(larder_configure(rig.a, "limit:2GiB"));
    (void)rig_alloc_on(&rig, KIB(400), 0);
    rig_free(&rig, addr);
    assert_ok(larder_check(rig.a));
    assert_int_equal(rig_stats(&rig).allocated_bytes.small_pool.current,
                     KIB(400));
    rig_down(&rig);
}

/* Blocks are packed from the low end of the smallest hole, also where the high
 * end would begin no other handle. */
static void holes_are_filled_from_below(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr hole;

    (void)state;
    (void)rig_alloc_on(&rig, GIB(3), 0);
    hole = rig_alloc_on(&rig, MIB(127), 0);
    (void)rig_alloc_on(&rig, MIB(64), 0);
    rig_free(&rig, hole);
    assert_int_equal(rig_alloc_on(&rig, MIB(7), 0), hole);
    rig_down(&rig);
}

/* They are not so many that keeping them is worth more than the pages. */
static void its_larger_blocks_are_merged_before_it_grows(void **state)
{
    enum { COUNT = 1000 };
    struct rig rig = up("sim:8GiB,backing=none,events=immediate");
    static larder_addr live[COUNT];
    larder_stats st;

    (void)state;
    for (int round = 0; round < 12; round++) {
        uint64_t bytes = KIB(256 + 10 * (round % 4));

        for (int i = 0; i < COUNT; i++)
            live[i] = rig_alloc_on(&rig, bytes, 0);
        for (int i = 0; i < COUNT; i++)
            rig_free(&rig, live[i]);
    }
    st = rig_stats(&rig);
    assert_true(st.reserved_bytes.all.peak * 10 <=
                st.active_bytes.all.peak * 11);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap), 0);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_are_large_on_middle_devices),
        cmocka_unit_test(handles_are_larger_on_vast_devices),
        cmocka_unit_test(handles_grow_where_all_is_given_back_again),
        cmocka_unit_test(they_are_small_at_the_beginning),
        cmocka_unit_test(they_get_smaller_with_the_room),
        cmocka_unit_test(they_are_small_where_heaps_share),
        cmocka_unit_test(the_small_pool_takes_larger_blocks),
        cmocka_unit_test(its_larger_blocks_are_merged_before_it_grows),
        cmocka_unit_test(a_limit_leaves_the_pools_as_they_are),
        cmocka_unit_test(holes_are_filled_from_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
