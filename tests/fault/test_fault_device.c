/* test_fault_device.c - any one driver call may fail, or all calls of its kind
 * from one on.  The allocator reports the failure or does without the call,
 * loses nothing, and continues once the driver works again. */
#include "scenario.h"

/* The device calls of the allocator, with the minimum number of each in the
 * scenario, over all configurations. */
static const struct kind {
    larder_call call;
    unsigned long least;
} kinds[] = {
    {LARDER_CALL_mem_alloc, 40},   {LARDER_CALL_mem_free, 20},
    {LARDER_CALL_mem_info, 2},     {LARDER_CALL_address_reserve, 2},
    {LARDER_CALL_address_free, 2}, {LARDER_CALL_page_create, 8},
    {LARDER_CALL_page_release, 8}, {LARDER_CALL_map, 8},
    {LARDER_CALL_unmap, 8},        {LARDER_CALL_set_access, 4},
    {LARDER_CALL_event_create, 4}, {LARDER_CALL_event_record, 12},
    {LARDER_CALL_event_query, 12}, {LARDER_CALL_event_sync, 4},
    {LARDER_CALL_stream_sync, 4},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Sweep one kind over every setup. */
static void sweep_kind(const struct kind *kind, larder_result with)
{
    struct fault f = {.call = kind->call, .with = with};
    unsigned long points = 0;
    unsigned long failures = 0;

    for (int i = 0; i < SETUPS; i++) {
        struct sweep sweep =
            scenario_sweep(f, &scenario_setups[i], sweep_stride(1));

        points += sweep.points;
        failures += sweep.failures;
    }
    print_message("%-16s %lu places, %lu failures\n",
                  larder_call_name(kind->call), points, failures);
    assert_true(points >= kind->least);
}

static void every_driver_call_may_be_refused(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++)
        sweep_kind(&kinds[i], LARDER_ERR_DEVICE);
}

/* Calls that allocate memory or addresses: there may be none left. */
static void every_driver_call_may_run_out_of_memory(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        larder_call call = kinds[i].call;

        if (call == LARDER_CALL_mem_alloc || call == LARDER_CALL_page_create ||
            call == LARDER_CALL_address_reserve || call == LARDER_CALL_map)
            sweep_kind(&kinds[i], LARDER_ERR_OUT_OF_MEMORY);
    }
}

/* ---- single guarantees --------------------------------------------------- */

/* The device refuses its next call of this kind, or all of them. */
static void refuse(struct rig *rig, larder_call call, uint64_t times)
{
    assert_ok(larder_device_fail(rig->dev, call, 1, times, LARDER_ERR_DEVICE));
}

static void allow(struct rig *rig, larder_call call)
{
    assert_ok(larder_device_fail(rig->dev, call, 0, 0, LARDER_OK));
}

static void one_refusal_for_lack_of_memory_is_tried_again(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(30)));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 1, 1,
                                 LARDER_ERR_OUT_OF_MEMORY));
    rig_alloc(&rig, 512);
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 1);
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_int_equal(rig_reserved(&rig), MIB(2)); /* the cache was released */
    rig_down(&rig);
}

static void the_last_error_names_the_refused_call(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_addr p;

    (void)state;
    refuse(&rig, LARDER_CALL_mem_alloc, 1);
    assert_refused(LARDER_ERR_DEVICE, larder_alloc(rig.a, 512, 0, &p),
                   "mem_alloc");
    assert_ok(larder_configure(rig.a, "expandable_segments:True"));
    refuse(&rig, LARDER_CALL_map, 1);
    assert_refused(LARDER_ERR_DEVICE, larder_alloc(rig.a, 512, 0, &p), "map");
    rig_down(&rig);
}

static void pages_the_device_does_not_take_back_are_not_forgotten(void **state)
{
    struct rig rig =
        rig_up("sim:64MiB,backing=none", "expandable_segments:True");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(60)));
    refuse(&rig, LARDER_CALL_page_release, 0);
    larder_empty_cache(rig.a);
    assert_ok(larder_check(rig.a));
    assert_int_equal(rig_usage(rig.dev).pages, 3);
    allow(&rig, LARDER_CALL_page_release);
    rig_alloc(&rig, MIB(60));
    assert_int_equal(rig_usage(rig.dev).pages, 3);
    rig_down(&rig);
}

static void a_free_without_an_event_is_not_lost(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none,events=manual", "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 1));
    refuse(&rig, LARDER_CALL_event_record, 1);
    /* No event can be recorded, so it waits for a synchronization. */
    rig_free(&rig, p);
    assert_int_not_equal(rig_alloc(&rig, 4096), p);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_int_equal(rig_alloc(&rig, 4096), p);
    rig_down(&rig);
}

static void one_block_without_an_event_does_not_hold_up_the_next(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none,events=manual", "");
    larder_addr first = rig_alloc(&rig, 4096);
    larder_addr second = rig_alloc(&rig, 4096);

    (void)state;
    assert_ok(larder_record_stream(rig.a, first, 1));
    assert_ok(larder_record_stream(rig.a, second, 2));
    refuse(&rig, LARDER_CALL_event_record, 0);
    rig_free(&rig, first);
    rig_free(&rig, second);
    refuse(&rig, LARDER_CALL_event_record, 1); /* the first one's again */
    rig_alloc(&rig, 4096);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_sim_complete(rig.dev, 2));
    assert_int_equal(rig_alloc(&rig, 4096), second);
    rig_down(&rig);
}

static void one_page_that_stays_does_not_keep_the_others(void **state)
{
    struct rig rig =
        rig_up("sim:64MiB,backing=none", "expandable_segments:True");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(60)));
    refuse(&rig, LARDER_CALL_page_release, 4); /* three, and a retry of one */
    assert_result(LARDER_ERR_DEVICE, larder_empty_cache(rig.a));
    assert_int_equal(rig_usage(rig.dev).pages, 1);
    assert_ok(larder_empty_cache(rig.a));
    rig_down(&rig);
}

static void addresses_go_back_though_a_page_was_refused(void **state)
{
    struct rig rig =
        rig_up("sim:64MiB,backing=none", "expandable_segments:True");

    (void)state;
    rig_alloc(&rig, MIB(20));
    refuse(&rig, LARDER_CALL_page_release, 2); /* twice for the same page */
    larder_destroy(rig.a);
    assert_device_empty(rig.dev);
    assert_ok(larder_device_close(rig.dev));
}

/* The segment was allocated, the host has no memory to record it, and the
 * device does not take it back at once. */
static void a_segment_that_could_not_be_noted_is_not_lost(void **state)
{
    unsigned long stranded = 0;

    (void)state;
    for (unsigned long nth = 1;; nth++) {
        struct rig rig = rig_up("sim:64MiB,backing=none", "");
        larder_addr p;
        larder_result r;

        refuse(&rig, LARDER_CALL_mem_free, 1);
        larder__host_fail(nth, 1);
        r = larder_alloc(rig.a, 1, 0, &p);
        larder__host_fail(0, 0);
        if (r == LARDER_OK) {
            allow(&rig, LARDER_CALL_mem_free);
            rig_down(&rig);
            break;
        }
        assert_result(LARDER_ERR_NO_HOST_MEMORY, r);
        stranded += rig_usage(rig.dev).allocations;
        allow(&rig, LARDER_CALL_mem_free);
        assert_ok(larder_empty_cache(rig.a));
        assert_device_empty(rig.dev);
        rig_down(&rig);
    }
    assert_true(stranded > 0);
}

/* The direct policy caches nothing except what the device did not take back. */
static void direct_gives_what_was_refused_with_the_next_request(void **state)
{
    struct rig rig =
        rig_up_policy("sim:64MiB,backing=none", LARDER_POLICY_DIRECT, "");
    larder_addr p = rig_alloc(&rig, MIB(4));

    (void)state;
    refuse(&rig, LARDER_CALL_mem_free, 1);
    rig_free(&rig, p);
    assert_int_equal(rig_reserved(&rig), MIB(4));
    allow(&rig, LARDER_CALL_mem_free);
    p = rig_alloc(&rig, MIB(2));
    assert_int_equal(rig_reserved(&rig), MIB(2));
    rig_free(&rig, p);
    rig_down(&rig);
}

static void destroying_continues_after_refusals(void **state)
{
    static const larder_call calls[] = {
        LARDER_CALL_mem_free,   LARDER_CALL_page_release,
        LARDER_CALL_unmap,      LARDER_CALL_address_free,
        LARDER_CALL_event_sync, LARDER_CALL_event_destroy,
        LARDER_CALL_stream_sync};

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (uint64_t times = 0; times < 2; times++) {
            struct rig rig =
                rig_up("sim:192MiB,backing=none,events=manual", "");
            larder_addr p = rig_alloc(&rig, 4096);
            larder_addr q = rig_alloc(&rig, MIB(30));

            assert_ok(larder_record_stream(rig.a, p, 1));
            assert_ok(larder_record_stream(rig.a, q, 2));
            rig_free(&rig, q);
            assert_ok(larder_configure(rig.a, "expandable_segments:True"));
            rig_alloc(&rig, MIB(50));
            refuse(&rig, calls[i], times);
            larder_result r = larder_destroy(rig.a);
            if (r != LARDER_OK)
                assert_result(LARDER_ERR_DEVICE, r);
            allow(&rig, calls[i]);
            assert_result(LARDER_ERR_DESTROYED, larder_free(rig.a, p));
            if (r == LARDER_OK)
                assert_device_empty(rig.dev);
            assert_ok(larder_device_close(rig.dev));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_driver_call_may_be_refused),
        cmocka_unit_test(every_driver_call_may_run_out_of_memory),
        cmocka_unit_test(one_refusal_for_lack_of_memory_is_tried_again),
        cmocka_unit_test(the_last_error_names_the_refused_call),
        cmocka_unit_test(pages_the_device_does_not_take_back_are_not_forgotten),
        cmocka_unit_test(a_free_without_an_event_is_not_lost),
        cmocka_unit_test(one_block_without_an_event_does_not_hold_up_the_next),
        cmocka_unit_test(one_page_that_stays_does_not_keep_the_others),
        cmocka_unit_test(addresses_go_back_though_a_page_was_refused),
        cmocka_unit_test(a_segment_that_could_not_be_noted_is_not_lost),
        cmocka_unit_test(direct_gives_what_was_refused_with_the_next_request),
        cmocka_unit_test(destroying_continues_after_refusals),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
