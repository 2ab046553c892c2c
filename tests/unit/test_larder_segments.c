/* The larder policy on devices without virtual memory: which segments there
 * are, which go back, and who may have what is in them. */
#include "support/rig.h"

#define SPEC "sim:64MiB,backing=none,vmm=off,events="

static struct rig up(const char *spec, const char *conf)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, conf);
}

/* Have `count` blocks at once, then none: the segments are empty. */
static void get_and_give(struct rig *rig, int count, uint64_t bytes)
{
    larder_addr addrs[64];

    for (int i = 0; i < count; i++)
        addrs[i] = rig_alloc_on(rig, bytes, 0);
    for (int i = 0; i < count; i++)
        rig_free(rig, addrs[i]);
    assert_ok(larder_check(rig->a));
}

/* ---- sizes ---------------------------------------------------------------- */

static void the_first_segment_is_for_several_requests(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none,vmm=off", "");

    (void)state;
    rig_alloc_on(&rig, MIB(3), 0);
    assert_int_equal(rig_reserved(&rig), MIB(16));
    rig_alloc_on(&rig, MIB(9), 0);
    assert_int_equal(rig_reserved(&rig), MIB(16));
    rig_alloc_on(&rig, MIB(65), 0); /* from 10 MiB on one of its own */
    assert_int_equal(rig_reserved(&rig), MIB(16) + MIB(66));
    rig_alloc_on(&rig, MIB(5), 0); /* 8 % are held */
    assert_int_equal(rig_reserved(&rig), MIB(16) + MIB(66) + MIB(6));
    rig_alloc_on(&rig, 1000, 0);
    assert_int_equal(rig_reserved(&rig), MIB(16) + MIB(66) + MIB(6) + MIB(2));
    rig_down(&rig);
}

static void sizes_are_multiples_of_256(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_addr first = rig_alloc_on(&rig, 516, 0);

    (void)state;
    assert_int_equal(rig_alloc_on(&rig, 1, 0), first + 768);
    assert_int_equal(rig_alloc_on(&rig, 1, 0), first + 1024);
    rig_down(&rig);
}

/* Nothing of a block is wasted, however little remains. */
static void all_that_exceeds_a_request_is_cut_off(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    larder_stats st;

    (void)state;
    rig_alloc_on(&rig, MIB(12) - 300, 0);
    st = rig_stats(&rig);
    assert_int_equal(st.allocated_bytes.all.current, MIB(12) - 256);
    assert_int_equal(st.inactive_split_bytes.all.current, 256);
    rig_down(&rig);
}

/* ---- giving back just enough ---------------------------------------------- */

static void the_smallest_segment_that_suffices_goes(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    larder_addr a = rig_alloc_on(&rig, MIB(24), 0);
    larder_addr b = rig_alloc_on(&rig, MIB(16), 0);
    larder_addr c = rig_alloc_on(&rig, MIB(12), 0);

    (void)state;
    rig_free(&rig, a);
    rig_free(&rig, b);
    rig_free(&rig, c);
    rig_alloc_on(&rig, MIB(26), 0); /* 14 MiB are missing: b */
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 1);
    assert_int_equal(rig_reserved(&rig), MIB(24) + MIB(12) + MIB(26));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void the_largest_go_when_one_does_not_suffice(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    larder_addr addrs[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        addrs[i] = rig_alloc_on(&rig, MIB(10) + MIB(4) * (uint64_t)i, 0);
    for (int i = 0; i < 4; i++)
        rig_free(&rig, addrs[i]);
    rig_alloc_on(&rig, MIB(38), 0); /* 38 missing: 22, then 16 or more: 18 */
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 2);
    assert_int_equal(rig_reserved(&rig), MIB(10) + MIB(14) + MIB(38));
    rig_down(&rig);
}

/* What is in use stays, and so does what would not help. */
static void nothing_goes_when_all_is_too_little(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    larder_addr a = rig_alloc_on(&rig, MIB(24), 0);
    larder_addr none;

    (void)state;
    rig_alloc_on(&rig, MIB(30), 0);
    rig_free(&rig, a);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(36), 0, &none));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_int_equal(rig_reserved(&rig), MIB(54));
    rig_down(&rig);
}

/* ---- one of all ----------------------------------------------------------- */

static void empty_segments_become_one(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_addr large;

    (void)state;
    get_and_give(&rig, 56, MIB(1));
    large = rig_alloc_on(&rig, MIB(40), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc),
                     rig_calls(&rig, LARDER_CALL_mem_free) + 1);
    assert_int_equal(rig_reserved(&rig), MIB(64));
    /* Large ones at its high end, what is smaller at the low one. */
    assert_int_equal(rig_alloc_on(&rig, MIB(1), 0), large - MIB(24));
    assert_int_equal(rig_alloc_on(&rig, MIB(20), 0), large - MIB(20));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void only_with_defrag_and_only_when_it_is_tight(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");

    (void)state;
    get_and_give(&rig, 56, MIB(1));
    rig_alloc_on(&rig, MIB(42), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 10); /* 16, 2 */
    rig_down(&rig);

    rig = up("sim:1GiB,backing=none,vmm=off", "");
    get_and_give(&rig, 64, MIB(5)); /* 31 % of it are empty */
    rig_alloc_on(&rig, MIB(40), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    rig_down(&rig);
}

static void a_limit_is_not_joined_beyond(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none,vmm=off", "limit:64MiB");

    (void)state;
    get_and_give(&rig, 56, MIB(1));
    rig_alloc_on(&rig, MIB(40), 0);
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_down(&rig);
}

/* Another allocator of the device has what seemed to be there. */
static void what_others_have_is_not_counted_on(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_options opt;
    larder_allocator *other;
    larder_addr theirs;
    larder_addr none;

    (void)state;
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_DIRECT;
    assert_ok(larder_create(rig.dev, &opt, &other));
    get_and_give(&rig, 44, MIB(1)); /* 16 MiB, and 14 times 2 */
    assert_int_equal(rig_reserved(&rig), MIB(44));
    assert_ok(larder_alloc(other, MIB(20), 0, &theirs));
    rig_free(&rig, rig_alloc_on(&rig, MIB(40), 0));
    assert_int_equal(rig_reserved(&rig), MIB(44));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(60), 0, &none));
    assert_ok(larder_free(other, theirs));
    rig_alloc_on(&rig, MIB(60), 0);
    assert_int_equal(rig_reserved(&rig), MIB(60));
    assert_ok(larder_destroy(other));
    rig_down(&rig);
}

/* An empty segment that will do is taken instead. */
static void a_large_hole_is_spared(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    uint64_t calls;

    (void)state;
    get_and_give(&rig, 56, MIB(1)); /* 16 MiB, and twenty times 2 */
    calls = rig_calls(&rig, LARDER_CALL_mem_alloc);
    rig_alloc_on(&rig, MIB(8), 0);
    rig_alloc_on(&rig, MIB(2), 0);
    rig_alloc_on(&rig, MIB(8), 0); /* all of the hole */
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), calls);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void a_small_hole_is_filled(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    larder_addr addr;

    (void)state;
    get_and_give(&rig, 56, MIB(1));
    addr = rig_alloc_on(&rig, MIB(11), 0);
    assert_int_equal(rig_alloc_on(&rig, MIB(2), 0), addr + MIB(11));
    rig_down(&rig);
}

/* ---- few large blocks ----------------------------------------------------- */

static void small_requests_keep_out_of_large_segments(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none,vmm=off", "");

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(400), 0));
    rig_alloc_on(&rig, MIB(3), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 2);
    rig_alloc_on(&rig, MIB(50), 0); /* an eighth */
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 2);
    rig_alloc_on(&rig, MIB(49), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 3);
    rig_down(&rig);
}

static void unless_there_is_nothing_else(void **state)
{
    struct rig rig = up(SPEC "immediate", "");

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(62), 0));
    rig_alloc_on(&rig, MIB(8), 0); /* an eighth: the segment is in use */
    rig_alloc_on(&rig, MIB(2), 0); /* what the device has left */
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_alloc_on(&rig, MIB(2), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 2);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* 30 MiB are empty, 24 in use; then 14 are asked for after `requests` more, and
 * the device refuses that often. */
static struct rig ask_for_less(int requests, const char *conf, int refusals)
{
    struct rig rig = up(SPEC "immediate", conf);
    larder_addr addr = rig_alloc_on(&rig, MIB(30), 0);

    rig_alloc_on(&rig, MIB(24), 0);
    rig_free(&rig, addr);
    for (int i = 0; i < requests; i++)
        rig_free(&rig, rig_alloc_on(&rig, 1000, 0));
    if (refusals > 0)
        assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 1,
                                     (uint64_t)refusals,
                                     LARDER_ERR_OUT_OF_MEMORY));
    rig_alloc_on(&rig, MIB(14), 0);
    assert_ok(larder_check(rig.a));
    return rig;
}

static void what_would_leave_too_much_is_exchanged(void **state)
{
    struct rig rig = ask_for_less(3000, "", 0);

    (void)state;
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 1);
    assert_int_equal(rig_reserved(&rig), MIB(24) + MIB(14) + MIB(2));
    rig_down(&rig);
}

/* Each exchange has its price. */
static void once_for_many_requests(void **state)
{
    struct rig rig = ask_for_less(2990, "", 0);

    (void)state;
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    rig_down(&rig);

    rig = ask_for_less(3000, "defrag:off", 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    rig_down(&rig);
}

/* It has less than it seemed to, and then more: the request is served. */
static void an_exchange_that_is_refused_is_no_failure(void **state)
{
    struct rig rig = ask_for_less(3000, "", 1);

    (void)state;
    assert_int_equal(rig_reserved(&rig), MIB(24) + MIB(14) + MIB(2));
    rig_down(&rig);
}

/* ---- from elsewhere ------------------------------------------------------- */

static void small_ones_lie_among_large_ones_at_last(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_addr addrs[64];

    (void)state;
    rig_alloc_on(&rig, MIB(64) - KIB(64), 0);
    for (int i = 0; i < 64; i++)
        addrs[i] = rig_alloc_on(&rig, 1000, 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 1);
    assert_ok(larder_check(rig.a));
    for (int i = 0; i < 64; i += 2)
        rig_free(&rig, addrs[i]);
    assert_ok(larder_check(rig.a));
    for (int i = 1; i < 64; i += 2)
        rig_free(&rig, addrs[i]);
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, addrs[7]));
    rig_alloc_on(&rig, KIB(64), 0);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* Its own stream has it back only when the borrower's has passed. */
static void a_stream_borrows_from_another(void **state)
{
    struct rig rig = up(SPEC "manual", "");
    larder_addr keep = rig_alloc_on(&rig, MIB(40), 0);
    larder_addr free_one = rig_alloc_on(&rig, MIB(24), 0);
    larder_addr borrowed;
    larder_addr addr;

    (void)state;
    rig_free(&rig, free_one);
    rig_alloc_on(&rig, MIB(4), 0); /* so that the segment cannot go */
    borrowed = rig_alloc_on(&rig, MIB(12), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_sync), 1);
    assert_true(borrowed > free_one && borrowed < free_one + MIB(24));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 2);
    assert_ok(larder_check(rig.a));
    rig_free(&rig, borrowed);
    addr = rig_alloc_on(&rig, MIB(7), 0); /* not what stream 1 may still use */
    assert_int_equal(addr, borrowed + MIB(12));
    rig_free(&rig, addr);
    rig_alloc_on(&rig, MIB(20), 0); /* stream 1 is waited for */
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_sync), 2);
    rig_free(&rig, keep);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void one_event_is_waited_for_when_it_is_enough(void **state)
{
    struct rig rig = up(SPEC "manual", "");
    larder_addr a = rig_alloc_on(&rig, MIB(30), 0);
    larder_addr b = rig_alloc_on(&rig, MIB(30), 0);

    (void)state;
    assert_ok(larder_record_stream(rig.a, a, 1));
    assert_ok(larder_record_stream(rig.a, b, 2));
    rig_free(&rig, a);
    rig_free(&rig, b);
    rig_alloc_on(&rig, MIB(30), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_sync), 1);
    rig_down(&rig);
}

/* ---- private pools -------------------------------------------------------- */

static void a_private_pool_s_segments_stay(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_pool_id id = {1, 1};
    larder_addr addr;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_free(&rig, rig_alloc_on(&rig, MIB(40), 0));
    assert_ok(larder_pool_end(rig.a, id));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(30), 0, &addr));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_ok(larder_pool_release(rig.a, id));
    rig_alloc_on(&rig, MIB(30), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 1);
    rig_down(&rig);
}

static int no_stream(void *ctx, larder_stream stream)
{
    (void)ctx;
    (void)stream;
    return 0;
}

/* Not even for requests that do not go to it. */
static void nothing_goes_back_while_a_pool_is_begun(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_pool_id id = {1, 1};
    larder_addr addr;

    (void)state;
    get_and_give(&rig, 56, MIB(1));
    assert_ok(larder_pool_begin(rig.a, id, no_stream, NULL));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(40), 0, &addr));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_segment_is_for_several_requests),
        cmocka_unit_test(sizes_are_multiples_of_256),
        cmocka_unit_test(all_that_exceeds_a_request_is_cut_off),
        cmocka_unit_test(the_smallest_segment_that_suffices_goes),
        cmocka_unit_test(the_largest_go_when_one_does_not_suffice),
        cmocka_unit_test(nothing_goes_when_all_is_too_little),
        cmocka_unit_test(empty_segments_become_one),
        cmocka_unit_test(only_with_defrag_and_only_when_it_is_tight),
        cmocka_unit_test(a_limit_is_not_joined_beyond),
        cmocka_unit_test(what_others_have_is_not_counted_on),
        cmocka_unit_test(a_large_hole_is_spared),
        cmocka_unit_test(a_small_hole_is_filled),
        cmocka_unit_test(small_requests_keep_out_of_large_segments),
        cmocka_unit_test(unless_there_is_nothing_else),
        cmocka_unit_test(what_would_leave_too_much_is_exchanged),
        cmocka_unit_test(once_for_many_requests),
        cmocka_unit_test(an_exchange_that_is_refused_is_no_failure),
        cmocka_unit_test(small_ones_lie_among_large_ones_at_last),
        cmocka_unit_test(a_stream_borrows_from_another),
        cmocka_unit_test(one_event_is_waited_for_when_it_is_enough),
        cmocka_unit_test(a_private_pool_s_segments_stay),
        cmocka_unit_test(nothing_goes_back_while_a_pool_is_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
