/* test_reserve.c - memory reserved in one piece beforehand: all allocations are
 * cut from it, and it stays until the allocator is destroyed.  And the
 * opposite, the direct policy: one driver call per request. */
#include "support/rig.h"

#define SPEC "sim:2GiB,backing=none"

static void assert_driver_calls(struct rig *rig, uint64_t allocs,
                                uint64_t frees)
{
    assert_int_equal(rig_calls(rig, LARDER_CALL_mem_alloc), allocs);
    assert_int_equal(rig_calls(rig, LARDER_CALL_mem_free), frees);
}

/* ---- preallocate --------------------------------------------------------- */

static void the_first_allocation_takes_one_piece(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:512MiB");
    larder_addr small, tensor;

    (void)state;
    assert_int_equal(rig_reserved(&rig), 0);
    assert_driver_calls(&rig, 0, 0);
    small = rig_alloc(&rig, 1000);
    assert_int_equal(rig_reserved(&rig), MIB(512));
    assert_driver_calls(&rig, 1, 0);

    tensor = rig_alloc(&rig, 400000000);
    assert_int_equal(rig_reserved(&rig), MIB(512));
    rig_free(&rig, tensor);
    assert_int_equal(rig_reserved(&rig), MIB(512));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(512));
    rig_free(&rig, small);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), MIB(512));
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_usage(rig.dev).allocations, 1);
    assert_int_equal(rig_usage(rig.dev).self_bytes, MIB(512));
    rig_down(&rig);
}

static void zero_bytes_take_no_piece(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:512MiB");
    larder_addr p = 77;

    (void)state;
    assert_ok(larder_alloc(rig.a, 0, 0, &p));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

static void small_and_large_requests_are_served_from_the_piece(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:512MiB");
    larder_addr p[64];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 64; i++)
            p[i] = rig_alloc_on(&rig, i % 2 == 0 ? 3000 : MIB(4),
                                (larder_stream)i % 3);
        for (int i = 0; i < 64; i++)
            rig_free(&rig, p[i]);
        assert_ok(larder_empty_cache(rig.a));
    }
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_stats(&rig).num_device_alloc, 1);
    rig_alloc(&rig, MIB(510)); /* all freed and merged again */
    assert_driver_calls(&rig, 1, 0);
    rig_down(&rig);
}

/* Whatever streams and pools had cut off goes back to the piece. */
static void unused_parts_are_one_again_under_every_policy(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_PYTORCH,
                                             LARDER_POLICY_LARDER};
    static const char *const specs[] = {"sim:100MiB,backing=none",
                                        "sim:100MiB,backing=none,vmm=off"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig rig =
            rig_up_policy(specs[i / 2], policies[i % 2], "preallocate:90MiB");
        larder_addr p[8];

        for (int k = 0; k < 8; k++)
            p[k] = rig_alloc_on(&rig, k % 2 == 0 ? 3000 : MIB(12),
                                (larder_stream)k / 2);
        for (int k = 0; k < 8; k++)
            rig_free(&rig, p[k]);
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_reserved(&rig), MIB(90));
        p[0] = rig_alloc_on(&rig, MIB(88), 5);
        assert_int_equal(rig_reserved(&rig), MIB(90));
        assert_driver_calls(&rig, 1, 0);
        rig_free(&rig, p[0]);
        rig_down(&rig);
    }
}

static void private_pools_are_served_from_the_piece(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:100MiB");
    larder_pool_id id = {1, 0};
    larder_addr p;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    p = rig_alloc(&rig, MIB(50));
    assert_ok(larder_pool_end(rig.a, id));
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_reserved(&rig), MIB(100));
    rig_free(&rig, p);
    assert_ok(larder_pool_release(rig.a, id));
    assert_ok(larder_empty_cache(rig.a));
    rig_alloc(&rig, MIB(100));
    assert_driver_calls(&rig, 1, 0);
    rig_down(&rig);
}

static void the_piece_is_used_before_expandable_segments(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:64MiB,"
                                  "expandable_segments:True");

    (void)state;
    rig_alloc(&rig, MIB(40));
    rig_alloc(&rig, 512);
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_usage(rig.dev).pages, 0);
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_alloc(&rig, MIB(40));
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_usage(rig.dev).pages, 2);
    rig_down(&rig);
}

static void requests_beyond_the_piece_come_from_the_driver(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:64MiB");
    larder_addr p = rig_alloc(&rig, MIB(60));
    larder_addr q = rig_alloc(&rig, MIB(60));

    (void)state;
    assert_driver_calls(&rig, 2, 0);
    assert_int_equal(rig_reserved(&rig), MIB(124));
    rig_free(&rig, p);
    rig_free(&rig, q);
    assert_ok(larder_empty_cache(rig.a));
    assert_driver_calls(&rig, 2, 1);
    assert_int_equal(rig_reserved(&rig), MIB(64));
    assert_int_equal(rig_alloc(&rig, MIB(64)), p);
    rig_down(&rig);
}

static void the_ladder_does_not_release_the_piece(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none", "preallocate:64MiB");
    larder_addr p = rig_alloc(&rig, MIB(60));

    (void)state;
    rig_free(&rig, p);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(70), 0, &p));
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_alloc(&rig, MIB(64));
    rig_down(&rig);
}

static void the_ladder_joins_cached_segments_of_the_piece(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none", "preallocate:100MiB");
    larder_addr p = rig_alloc_on(&rig, MIB(50), 1);
    larder_addr q = rig_alloc_on(&rig, MIB(50), 2);

    (void)state;
    rig_free(&rig, p);
    rig_free(&rig, q);
    rig_alloc_on(&rig, MIB(100), 3);
    assert_driver_calls(&rig, 1, 0);
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 1);
    rig_down(&rig);
}

static void a_piece_that_does_not_fit_fails_naming_the_setting(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none", "preallocate:128MiB");
    larder_addr p = 77;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_alloc(rig.a, 512, 0, &p), "preallocate");
        assert_int_equal(p, 77);
        assert_int_equal(rig_reserved(&rig), 0);
    }
    assert_ok(larder_configure(rig.a, "preallocate:64MiB"));
    rig_alloc(&rig, 512);
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_down(&rig);
}

static void a_piece_beyond_the_limit_fails_naming_the_setting(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:128MiB,limit:100MiB");
    larder_addr p = 77;

    (void)state;
    assert_refused(LARDER_ERR_OUT_OF_MEMORY, larder_alloc(rig.a, 512, 0, &p),
                   "preallocate");
    assert_driver_calls(&rig, 0, 0);
    rig_down(&rig);
}

static void the_piece_counts_towards_the_limit_once(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:64MiB,limit:100MiB");
    larder_addr p = 77;

    (void)state;
    rig_alloc(&rig, MIB(60));
    rig_alloc(&rig, MIB(30));
    assert_int_equal(rig_reserved(&rig), MIB(94));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(12), 0, &p));
    rig_alloc(&rig, 512); /* 4 MiB of the piece are left */
    assert_int_equal(rig_reserved(&rig), MIB(94));
    rig_down(&rig);
}

static void a_pools_limit_counts_what_it_has_of_the_piece(void **state)
{
    const larder_pool_id id = {1, 0};
    struct rig rig = rig_up("sim:1GiB", "preallocate:200MiB");
    larder_addr addr[2];

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_ok(larder_pool_set_limit(rig.a, id, MIB(40)));
    addr[0] = rig_alloc(&rig, MIB(24));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(24), 0, &addr[1]), "40.00 MiB");
    addr[1] = rig_alloc(&rig, MIB(16));
    assert_ok(larder_pool_end(rig.a, id));
    rig_free(&rig, addr[0]);
    rig_free(&rig, addr[1]);
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

/* ---- larder_reserve ------------------------------------------------------ */

static void a_piece_set_while_running_takes_the_cache_s_place(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(60)));
    assert_ok(larder_configure(rig.a, "preallocate:32MiB"));
    rig_alloc(&rig, 1);
    assert_int_equal(rig_reserved(&rig), MIB(32));
    rig_down(&rig);
}

static void a_piece_can_be_reserved_while_running(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    rig_alloc(&rig, MIB(30));
    assert_ok(larder_reserve(rig.a, MIB(100)));
    assert_driver_calls(&rig, 2, 0);
    assert_int_equal(rig_reserved(&rig), MIB(130));
    rig_alloc(&rig, MIB(60));
    rig_alloc(&rig, 1);
    assert_driver_calls(&rig, 2, 0);
    assert_ok(larder_reserve(rig.a, MIB(40)));
    assert_int_equal(rig_reserved(&rig), MIB(170));
    rig_alloc(&rig, MIB(38));
    rig_alloc(&rig, MIB(38));
    assert_driver_calls(&rig, 3, 0);
    rig_down(&rig);
}

static void a_reservation_is_rounded_up_to_2_mib(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    assert_ok(larder_reserve(rig.a, 1));
    assert_int_equal(rig_reserved(&rig), MIB(2));
    assert_ok(larder_reserve(rig.a, MIB(2)));
    assert_int_equal(rig_reserved(&rig), MIB(4));
    rig_alloc(&rig, 512);
    assert_driver_calls(&rig, 2, 0);
    rig_down(&rig);
}

static void a_reservation_that_does_not_fit_changes_nothing(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct picture before;

    (void)state;
    rig_alloc(&rig, MIB(30));
    before = picture_take(&rig);
    assert_result(LARDER_ERR_OUT_OF_MEMORY, larder_reserve(rig.a, GIB(2)));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_reserve(rig.a, MIB(2)));
    assert_unchanged(&rig, before);
    rig_down(&rig);
}

struct reserved_sum {
    uint64_t all;
    uint64_t reserved;
};

static int sum_segments(void *ctx, const larder_segment_info *s)
{
    struct reserved_sum *sum = ctx;

    sum->all += s->bytes;
    if (s->is_reserved)
        sum->reserved += s->bytes;
    return 0;
}

static void the_walk_shows_the_whole_piece(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct reserved_sum sum = {0};

    (void)state;
    assert_ok(larder_reserve(rig.a, MIB(100)));
    rig_alloc(&rig, MIB(30));
    rig_alloc(&rig, 512);
    rig_alloc(&rig, MIB(90));
    assert_ok(larder_walk(rig.a, sum_segments, NULL, &sum));
    assert_int_equal(sum.reserved, MIB(100));
    assert_int_equal(sum.all, rig_reserved(&rig));
    rig_down(&rig);
}

static void base_allocation_of_a_piece_s_memory_is_its_segment(void **state)
{
    struct rig rig = rig_up(SPEC, "preallocate:100MiB");
    larder_addr p, q, base = 0;
    uint64_t bytes = 0;

    (void)state;
    p = rig_alloc(&rig, 512);
    q = rig_alloc(&rig, 512);
    assert_ok(larder_base_allocation(rig.a, q, &base, &bytes));
    assert_int_equal(base, p);
    assert_int_equal(bytes, MIB(2));
    rig_down(&rig);
}

/* ---- the direct policy --------------------------------------------------- */

static void the_direct_policy_makes_a_driver_call_for_each_request(void **state)
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_DIRECT, "");
    larder_addr p[20];

    (void)state;
    for (int i = 0; i < 20; i++) {
        p[i] = rig_alloc_on(&rig, (uint64_t)(i + 1) * 100000,
                            (larder_stream)i % 3);
        assert_driver_calls(&rig, (uint64_t)i + 1, 0);
    }
    assert_int_equal(rig_usage(rig.dev).allocations, 20);
    for (int i = 0; i < 20; i++) {
        rig_free(&rig, p[i]);
        assert_driver_calls(&rig, 20, (uint64_t)i + 1);
    }
    assert_int_equal(rig_reserved(&rig), 0);
    assert_device_empty(rig.dev);
    rig_down(&rig);
}

static void the_direct_policy_holds_what_is_live(void **state)
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_DIRECT, "");
    larder_stats st;

    (void)state;
    rig_alloc(&rig, 1);
    rig_alloc(&rig, MIB(3) + 1);
    rig_free(&rig, rig_alloc(&rig, MIB(100)));
    st = rig_stats(&rig);
    assert_int_equal(st.allocated_bytes.all.current, MIB(3) + 1024);
    assert_int_equal(st.reserved_bytes.all.current, MIB(3) + 1024);
    assert_int_equal(st.reserved_bytes.all.peak, MIB(103) + 1024);
    assert_int_equal(st.inactive_split.all.peak, 0);
    rig_down(&rig);
}

static void the_direct_policy_serves_from_a_piece_too(void **state)
{
    struct rig rig =
        rig_up_policy(SPEC, LARDER_POLICY_DIRECT, "preallocate:64MiB");
    larder_addr p = rig_alloc(&rig, 1000);

    (void)state;
    rig_free(&rig, p);
    rig_free(&rig, rig_alloc(&rig, MIB(64)));
    assert_driver_calls(&rig, 1, 0);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_allocation_takes_one_piece),
        cmocka_unit_test(zero_bytes_take_no_piece),
        cmocka_unit_test(small_and_large_requests_are_served_from_the_piece),
        cmocka_unit_test(unused_parts_are_one_again_under_every_policy),
        cmocka_unit_test(private_pools_are_served_from_the_piece),
        cmocka_unit_test(the_piece_is_used_before_expandable_segments),
        cmocka_unit_test(requests_beyond_the_piece_come_from_the_driver),
        cmocka_unit_test(the_ladder_does_not_release_the_piece),
        cmocka_unit_test(the_ladder_joins_cached_segments_of_the_piece),
        cmocka_unit_test(a_piece_that_does_not_fit_fails_naming_the_setting),
        cmocka_unit_test(a_piece_beyond_the_limit_fails_naming_the_setting),
        cmocka_unit_test(the_piece_counts_towards_the_limit_once),
        cmocka_unit_test(a_pools_limit_counts_what_it_has_of_the_piece),
        cmocka_unit_test(a_piece_set_while_running_takes_the_cache_s_place),
        cmocka_unit_test(a_piece_can_be_reserved_while_running),
        cmocka_unit_test(a_reservation_is_rounded_up_to_2_mib),
        cmocka_unit_test(a_reservation_that_does_not_fit_changes_nothing),
        cmocka_unit_test(the_walk_shows_the_whole_piece),
        cmocka_unit_test(base_allocation_of_a_piece_s_memory_is_its_segment),
        cmocka_unit_test(
            the_direct_policy_makes_a_driver_call_for_each_request),
        cmocka_unit_test(the_direct_policy_holds_what_is_live),
        cmocka_unit_test(the_direct_policy_serves_from_a_piece_too),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
