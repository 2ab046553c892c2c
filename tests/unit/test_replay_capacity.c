/* test_replay_capacity.c - the search for the smallest device on which a trace
 * runs. */
#include "unit/replay_rig.h"
#include "support/read_file.h"

static uint64_t min_capacity(const char *text, const char *device,
                             const char *conf)
{
    struct replay_options o = pytorch_on(device);
    struct replay_result r;
    uint64_t bytes;

    o.min_capacity = true;
    o.conf = conf;
    r = run(text, &o);
    bytes = r.min_capacity_bytes;
    replay_result_free(&r);
    return bytes;
}

static void the_smallest_capacity_is_found(void **state)
{
    (void)state;
    assert_int_equal(min_capacity("a 0 1\n", NULL, NULL), MIB(2));
    assert_int_equal(min_capacity("a 0 2097152\n", NULL, NULL), MIB(20));
    assert_int_equal(min_capacity("a 0 12582912\na 1 12582912\nf 0\n"
                                  "a 2 14680064\n",
                                  NULL, NULL),
                     MIB(26));
    assert_int_equal(min_capacity("", NULL, NULL), MIB(2));
}

static void the_smallest_capacity_does_not_depend_on_the_device(void **state)
{
    (void)state;
    assert_int_equal(min_capacity("a 0 52428800\n", "sim:4MiB", NULL), MIB(50));
}

static void the_smallest_capacity_holds_the_context(void **state)
{
    (void)state;
    assert_int_equal(
        min_capacity("a 0 52428800\n", "sim:1GiB,context=100MiB", NULL),
        MIB(150));
}

static void a_fraction_needs_a_larger_device(void **state)
{
    (void)state;
    assert_int_equal(
        min_capacity("a 0 52428800\n", NULL, "per_process_memory_fraction:0.5"),
        MIB(100));
}

static void no_capacity_suffices_above_a_limit(void **state)
{
    (void)state;
    assert_int_equal(min_capacity("a 0 52428800\n", NULL, "limit:10MiB"), 0);
    assert_int_equal(min_capacity("a 0 9223372036854775807\n", NULL, NULL), 0);
}

/* 16 TiB, the most that can be simulated. */
static void the_largest_device_may_be_the_smallest(void **state)
{
    (void)state;
    assert_int_equal(min_capacity("a 0 17592186044416\n", NULL, NULL),
                     UINT64_C(16) << 40);
}

static void sizes_below_the_boundary_are_tried_one_by_one(void **state)
{
    static const char path[] =
        LARDER_SOURCE_DIR "/tests/data/traces/churn_streams_b.trace.zst";
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r;
    struct tool_error error;
    struct trace t;

    (void)state;
    o.min_capacity = true;
    assert_true(trace_read(path, &t, &error));
    assert_true(replay_run(&t, &o, &r, &error));
    /* Bisection ends at 929 steps; 922 do as well, though not all between. */
    assert_int_equal(r.min_capacity_bytes, MIB(2 * 922));
    replay_result_free(&r);
    trace_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_capacity_is_found),
        cmocka_unit_test(the_smallest_capacity_does_not_depend_on_the_device),
        cmocka_unit_test(the_smallest_capacity_holds_the_context),
        cmocka_unit_test(a_fraction_needs_a_larger_device),
        cmocka_unit_test(no_capacity_suffices_above_a_limit),
        cmocka_unit_test(the_largest_device_may_be_the_smallest),
        cmocka_unit_test(sizes_below_the_boundary_are_tried_one_by_one),
    };

    return cmocka_run_group_tests_name("replay_capacity", tests, NULL, NULL);
}
