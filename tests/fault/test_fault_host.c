/* test_fault_host.c - any one request for host memory may fail, or all from one
 * on: the call that needed it reports that, and nothing else happens. */
#include "scenario.h"

static const struct fault no_fault = {.is_host = 1, .times = 1};

static void the_scenario_runs_through_without_a_fault(void **state)
{
    (void)state;
    for (int i = 0; i < SETUPS; i++)
        assert_int_equal(scenario_run(&no_fault, &scenario_setups[i]).failures,
                         0);
}

static void sweep_setup(int i)
{
    struct fault f = {.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY};
    struct sweep sweep =
        scenario_sweep(f, &scenario_setups[i], sweep_stride(1));

    print_message("%lu places, %lu failures\n", sweep.points, sweep.failures);
    assert_true(sweep.points > 40);
    assert_true(sweep.failures > 40);
}

static void every_request_may_fail(void **state)
{
    (void)state;
    sweep_setup(0);
}

static void every_request_may_fail_with_expandable_segments(void **state)
{
    (void)state;
    sweep_setup(1);
}

static void every_request_may_fail_with_a_reserved_piece(void **state)
{
    (void)state;
    sweep_setup(2);
}

static void every_request_may_fail_under_the_direct_policy(void **state)
{
    (void)state;
    sweep_setup(3);
}

static void every_request_may_fail_while_history_is_recorded(void **state)
{
    (void)state;
    sweep_setup(4);
}

/* ---- making and destroying ----------------------------------------------- */

/* Create a device and an allocator, use both and destroy both; the first
 * failure ends it.  Releasing needs no memory. */
static larder_result make_and_destroy(void)
{
    larder_device *dev = NULL;
    larder_allocator *a = NULL;
    larder_addr p = 0;
    larder_options opt;
    larder_result r;

    larder_options_init(&opt);
    opt.conf = "expandable_segments:True,max_split_size_mb:30,history:100,"
               "history_stacks:unwind";
    r = larder_device_open("sim:64MiB,events=manual,count=2", 1, &dev);
    if (r != LARDER_OK) {
        assert_null(dev);
        return r;
    }
    r = larder_create(dev, &opt, &a);
    if (r == LARDER_OK) {
        r = larder_alloc(a, MIB(3), 1, &p);
        if (r == LARDER_OK)
            r = larder_record_stream(a, p, 2);
        assert_ok(larder_destroy(a));
        larder__host_fail(0, 0);
        assert_device_empty(dev);
    } else {
        assert_null(a);
    }
    assert_ok(larder_device_close(dev));
    return r;
}

static void creating_may_fail_and_destroying_never_does(void **state)
{
    unsigned long n;

    (void)state;
    for (unsigned long times = 0; times < 2; times++) {
        larder_result r = LARDER_ERR_NO_HOST_MEMORY;

        for (n = 1; r != LARDER_OK; n++) {
            larder__host_fail(n, times);
            r = make_and_destroy();
            larder__host_fail(0, 0);
            if (r != LARDER_OK)
                assert_result(LARDER_ERR_NO_HOST_MEMORY, r);
        }
        assert_true(n > 8);
    }
}

/* With live objects of every kind, and no host memory left. */
static void destroying_needs_no_host_memory(void **state)
{
    (void)state;
    for (int i = 0; i < SETUPS; i++) {
        struct rig rig =
            rig_up_policy("sim:192MiB,events=manual", scenario_setups[i].policy,
                          scenario_setups[i].conf);
        larder_pool_id id = {1, 2};
        larder_addr p;

        for (int k = 0; k < 50; k++) {
            p = rig_alloc_on(&rig, 1000 + (uint64_t)k * 20000,
                             (larder_stream)k % 3);
            assert_ok(larder_record_stream(rig.a, p, 3));
            if (k % 2 == 0)
                rig_free(&rig, p);
        }
        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        rig_alloc(&rig, MIB(5));
        larder__host_fail(1, 0);
        assert_ok(larder_destroy(rig.a));
        larder__host_fail(0, 0);
        assert_device_empty(rig.dev);
        assert_ok(larder_device_close(rig.dev));
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, end_host_faults)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_scenario_runs_through_without_a_fault),
        TEST(every_request_may_fail),
        TEST(every_request_may_fail_with_expandable_segments),
        TEST(every_request_may_fail_with_a_reserved_piece),
        TEST(every_request_may_fail_under_the_direct_policy),
        TEST(every_request_may_fail_while_history_is_recorded),
        TEST(creating_may_fail_and_destroying_never_does),
        TEST(destroying_needs_no_host_memory),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
