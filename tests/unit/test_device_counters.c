/* test_device_counters.c - calls of a device are counted, priced, and made to
 * fail. */
#include "device_rig.h"
#include "idle_device.h"

#include <pthread.h>

/* ---- counters and prices -------------------------------------------------- */

static void calls_are_counted_by_how_they_ended(void **state)
{
    larder_device *dev = open_one("sim:4MiB,backing=none");
    larder_device_counters n;
    larder_addr a;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &a));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, MIB(4), &a));
    assert_ok(larder__device_mem_free(dev, a));
    n = counters_of(dev);
    assert_int_equal(n.calls[LARDER_CALL_mem_alloc], 1);
    assert_int_equal(n.failed[LARDER_CALL_mem_alloc], 1);
    assert_int_equal(n.calls[LARDER_CALL_mem_free], 1);
    assert_int_equal(n.failed[LARDER_CALL_mem_free], 0);
    assert_ok(larder_device_reset_counters(dev));
    n = counters_of(dev);
    assert_int_equal(n.calls[LARDER_CALL_mem_alloc], 0);
    assert_int_equal(n.failed[LARDER_CALL_mem_alloc], 0);
    assert_int_equal(n.time_ns, 0);
    assert_ok(larder_device_close(dev));
}

static void an_event_that_is_not_ready_is_an_answer(void **state)
{
    larder_device *dev = open_one("sim:4MiB,backing=none,events=manual");
    uint64_t event;

    (void)state;
    assert_result(LARDER_ERR_UNKNOWN_STREAM,
                  larder_device_stream_sync(dev, LARDER_SIM_STREAMS));
    assert_ok(larder_device_event_create(dev, &event));
    assert_ok(larder_device_event_record(dev, event, 3));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, event));
    assert_words("65536");
    assert_int_equal(counters_of(dev).calls[LARDER_CALL_event_query], 1);
    assert_int_equal(counters_of(dev).failed[LARDER_CALL_event_query], 0);
    assert_ok(larder_device_close(dev));
}

static uint64_t time_of(larder_device *dev)
{
    uint64_t ns = counters_of(dev).time_ns;

    assert_ok(larder_device_reset_counters(dev));
    return ns;
}

static void memory_calls_cost_what_the_table_says(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");
    uint64_t free_bytes, total_bytes;
    larder_addr a, b;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_int_equal(time_of(dev), 60000);
    assert_ok(larder__device_mem_free(dev, a));
    assert_int_equal(time_of(dev), 60000);
    assert_ok(larder__device_mem_alloc(dev, MIB(20), &a));
    assert_int_equal(time_of(dev), 60000 + 18 * 100);
    assert_ok(larder__device_mem_alloc(dev, MIB(2) + MIB(1) / 2, &b));
    assert_int_equal(time_of(dev), 60000 + 50);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, GIB(1), &b));
    assert_int_equal(time_of(dev), 60000);
    assert_ok(larder_device_mem_info(dev, &free_bytes, &total_bytes));
    assert_ok(larder_device_fill(dev, a, 1, 512, 0));
    assert_int_equal(time_of(dev), 0);
    assert_ok(larder_device_close(dev));
}

static void virtual_memory_calls_cost_what_the_table_says(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");
    larder_addr range;
    uint64_t page;

    (void)state;
    assert_ok(larder__device_address_reserve(dev, MIB(64), &range));
    assert_int_equal(time_of(dev), 20000);
    assert_ok(larder__device_page_create(dev, MIB(20), &page));
    assert_int_equal(time_of(dev), 190000 + 18 * 1000);
    assert_ok(larder__device_map(dev, range, MIB(20), page));
    assert_int_equal(counters_of(dev).pages_mapped, 1);
    assert_int_equal(time_of(dev), 1500);
    assert_ok(larder__device_set_access(dev, range, MIB(20)));
    assert_int_equal(time_of(dev), 36000);
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_map(dev, range, MIB(20), page));
    assert_int_equal(counters_of(dev).pages_mapped, 0);
    assert_int_equal(time_of(dev), 1500);
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_unmap(dev, range, MIB(2), 1));
    assert_int_equal(counters_of(dev).pages_unmapped, 0);
    assert_int_equal(time_of(dev), 26000);
    assert_ok(larder__device_unmap(dev, range, MIB(20), 1));
    assert_int_equal(counters_of(dev).pages_unmapped, 1);
    assert_int_equal(time_of(dev), 26000);
    assert_ok(larder__device_page_release(dev, page));
    assert_int_equal(time_of(dev), 50000);
    assert_ok(larder__device_address_free(dev, range, MIB(64)));
    assert_int_equal(time_of(dev), 0);
    assert_ok(larder_device_close(dev));
}

static void waits_and_events_cost_what_the_table_says(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none,events=manual");
    uint64_t event;

    (void)state;
    assert_ok(larder_device_event_create(dev, &event));
    assert_int_equal(time_of(dev), 0);
    assert_ok(larder_device_event_record(dev, event, 0));
    assert_int_equal(time_of(dev), 1000);
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, event));
    assert_int_equal(time_of(dev), 500);
    assert_ok(larder_device_event_sync(dev, event));
    assert_int_equal(time_of(dev), 10000);
    assert_ok(larder_device_stream_sync(dev, 0));
    assert_int_equal(time_of(dev), 10000);
    assert_ok(larder_device_event_destroy(dev, event));
    assert_int_equal(time_of(dev), 0);
    assert_ok(larder_device_close(dev));
}

static void copies_cost_by_the_mib_and_by_the_way_they_take(void **state)
{
    larder_device *dev = open_one("sim:64MiB");
    larder_addr a, b;
    void *host = calloc(1, MIB(1));

    (void)state;
    assert_non_null(host);
    assert_ok(larder__device_mem_alloc(dev, MIB(4), &a));
    assert_ok(larder__device_mem_alloc(dev, MIB(4), &b));
    (void)time_of(dev);
    assert_ok(larder_device_copy(dev, b, a, MIB(4), LARDER_COPY_ON_DEVICE, 0));
    assert_int_equal(time_of(dev), 2000 + 4 * 1750);
    assert_ok(larder_device_copy(dev, a, (uintptr_t)host, MIB(1),
                                 LARDER_COPY_TO_DEVICE, 0));
    assert_int_equal(time_of(dev), 2000 + 87000);
    assert_ok(larder_device_copy(dev, (uintptr_t)host, a, MIB(1) / 2,
                                 LARDER_COPY_TO_HOST, 0));
    assert_int_equal(time_of(dev), 2000 + 87000 / 2);
    assert_result(
        LARDER_ERR_DEVICE,
        larder_device_copy(dev, b, a, UINT64_MAX, LARDER_COPY_ON_DEVICE, 0));
    assert_int_equal(time_of(dev), 2000);
    assert_ok(larder_device_close(dev));
    free(host);
}

static void other_prices_are_charged_from_then_on(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");
    larder_prices p;
    larder_addr a;

    (void)state;
    larder_prices_init(&p);
    p.mem_alloc = 7;
    p.mem_alloc_per_mib = 3;
    assert_ok(larder_device_set_prices(dev, &p));
    assert_ok(larder__device_mem_alloc(dev, MIB(4), &a));
    assert_int_equal(counters_of(dev).time_ns, 7 + 2 * 3);
    /* A shorter table keeps the bundled prices beyond its end. */
    p.size = offsetof(larder_prices, mem_alloc_per_mib);
    assert_ok(larder_device_set_prices(dev, &p));
    assert_ok(larder_device_reset_counters(dev));
    assert_ok(larder__device_mem_alloc(dev, MIB(4), &a));
    assert_int_equal(counters_of(dev).time_ns, 7 + 2 * 100);
    assert_ok(larder_device_close(dev));
}

/* Has no side effects: threads call it. */
static larder_result query_nothing(void *self, uint64_t event)
{
    (void)self;
    (void)event;
    return LARDER_OK;
}

enum { COUNT_THREADS = 4, COUNT_CALLS = 20000 };

static void *query_many_times(void *dev)
{
    for (int i = 0; i < COUNT_CALLS; i++)
        larder_device_event_query(dev, 12345);
    return NULL;
}

/* With a plan active, too: exactly the planned number of calls fails. */
static void threads_lose_no_count(void **state)
{
    struct idle_device f = {0};
    larder_device *dev;
    pthread_t threads[COUNT_THREADS];
    larder_device_counters n;
    larder_device_ops ops = idle_ops;

    (void)state;
    ops.event_query = query_nothing;
    assert_ok(larder_device_create(&ops, &f, &dev));
    assert_ok(larder_device_fail(dev, LARDER_CALL_event_query, 100, 5000,
                                 LARDER_ERR_DEVICE));
    for (int i = 0; i < COUNT_THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, query_many_times, dev), 0);
    for (int i = 0; i < COUNT_THREADS; i++)
        pthread_join(threads[i], NULL);
    n = counters_of(dev);
    assert_int_equal(n.failed[LARDER_CALL_event_query], 5000);
    assert_int_equal(n.calls[LARDER_CALL_event_query],
                     COUNT_THREADS * COUNT_CALLS - 5000);
    assert_int_equal(n.time_ns, COUNT_THREADS * COUNT_CALLS * 500);
    assert_ok(larder_device_close(dev));
}

/* ---- injected faults ------------------------------------------------------ */

static void the_nth_call_of_a_kind_fails_once(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");
    larder_addr a;

    (void)state;
    assert_ok(larder_device_fail(dev, LARDER_CALL_mem_alloc, 2, 1,
                                 LARDER_ERR_SYSTEM));
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_refused(LARDER_ERR_SYSTEM, larder__device_mem_alloc(dev, 512, &a),
                   "mem_alloc of 512 bytes failed: larder_device_fail()");
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_int_equal(rig_usage(dev).allocations, 2);
    assert_int_equal(counters_of(dev).failed[LARDER_CALL_mem_alloc], 1);
    assert_int_equal(counters_of(dev).time_ns, 3 * 60000);
    assert_ok(larder_device_close(dev));
}

static void calls_fail_from_the_nth_on_until_the_plan_ends(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");
    larder_addr a, range;

    (void)state;
    assert_ok(larder_device_fail(dev, LARDER_CALL_mem_alloc, 1, 0,
                                 LARDER_ERR_OUT_OF_MEMORY));
    for (int i = 0; i < 3; i++)
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder__device_mem_alloc(dev, 512, &a));
    assert_ok(larder__device_address_reserve(dev, MIB(2), &range));
    assert_ok(larder_device_fail(dev, LARDER_CALL_mem_alloc, 0, 0, LARDER_OK));
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_ok(larder_device_close(dev));
}

static void a_plan_covers_its_times_and_no_more(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");
    larder_addr a;

    (void)state;
    assert_ok(larder_device_fail(dev, LARDER_CALL_mem_alloc, 1, 2,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder__device_mem_alloc(dev, 512, &a));
    assert_result(LARDER_ERR_DEVICE, larder__device_mem_alloc(dev, 512, &a));
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_ok(larder_device_fail(dev, LARDER_CALL_mem_alloc, 2, UINT64_MAX,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder__device_mem_alloc(dev, 512, &a));
    assert_result(LARDER_ERR_DEVICE, larder__device_mem_alloc(dev, 512, &a));
    assert_result(LARDER_ERR_DEVICE, larder__device_mem_alloc(dev, 512, &a));
    assert_ok(larder_device_close(dev));
}

static larder_result call_any(larder_device *dev, larder_call call)
{
    larder_page_handle handle = {.kind = LARDER_HANDLE_NONE};
    uint64_t x, y;
    void *ptr;

    switch (call) {
    case LARDER_CALL_mem_alloc:
        return larder__device_mem_alloc(dev, 512, &x);
    case LARDER_CALL_mem_free:
        return larder__device_mem_free(dev, 0);
    case LARDER_CALL_mem_info:
        return larder_device_mem_info(dev, &x, &y);
    case LARDER_CALL_address_reserve:
        return larder__device_address_reserve(dev, MIB(2), &x);
    case LARDER_CALL_address_free:
        return larder__device_address_free(dev, 0, MIB(2));
    case LARDER_CALL_page_create:
        return larder__device_page_create(dev, MIB(2), &x);
    case LARDER_CALL_page_release:
        return larder__device_page_release(dev, 0);
    case LARDER_CALL_map:
        return larder__device_map(dev, 0, MIB(2), 0);
    case LARDER_CALL_unmap:
        return larder__device_unmap(dev, 0, MIB(2), 1);
    case LARDER_CALL_set_access:
        return larder__device_set_access(dev, 0, MIB(2));
    case LARDER_CALL_event_create:
        return larder_device_event_create(dev, &x);
    case LARDER_CALL_event_destroy:
        return larder_device_event_destroy(dev, 0);
    case LARDER_CALL_event_record:
        return larder_device_event_record(dev, 0, 0);
    case LARDER_CALL_event_query:
        return larder_device_event_query(dev, 0);
    case LARDER_CALL_event_sync:
        return larder_device_event_sync(dev, 0);
    case LARDER_CALL_stream_sync:
        return larder_device_stream_sync(dev, 0);
    case LARDER_CALL_copy:
        return larder_device_copy(dev, 0, 0, 1, LARDER_COPY_ON_DEVICE, 0);
    case LARDER_CALL_fill:
        return larder_device_fill(dev, 0, 0, 1, 0);
    case LARDER_CALL_host_alloc:
        return larder_device_host_alloc(dev, 1, &ptr);
    case LARDER_CALL_host_free:
        return larder_device_host_free(dev, &x);
    case LARDER_CALL_page_export:
        return larder__device_page_export(dev, 0, &handle);
    case LARDER_CALL_page_import:
        return larder__device_page_import(dev, &handle, MIB(2), &x);
    default:
        return LARDER_ERR_CORRUPT;
    }
}

static void every_kind_of_call_can_be_made_to_fail(void **state)
{
    larder_device *dev = open_one("sim:64MiB,backing=none");

    (void)state;
    for (int i = 0; i < LARDER_CALL_COUNT; i++) {
        larder_call call = (larder_call)i;

        assert_ok(larder_device_fail(dev, call, 1, 1, LARDER_ERR_CORRUPT));
        assert_refused(LARDER_ERR_CORRUPT, call_any(dev, call),
                       larder_call_name(call));
        assert_int_equal(counters_of(dev).failed[i], 1);
        assert_int_equal(counters_of(dev).calls[i], 0);
    }
    assert_device_empty(dev);
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_counted_by_how_they_ended),
        cmocka_unit_test(an_event_that_is_not_ready_is_an_answer),
        cmocka_unit_test(memory_calls_cost_what_the_table_says),
        cmocka_unit_test(virtual_memory_calls_cost_what_the_table_says),
        cmocka_unit_test(waits_and_events_cost_what_the_table_says),
        cmocka_unit_test(copies_cost_by_the_mib_and_by_the_way_they_take),
        cmocka_unit_test(other_prices_are_charged_from_then_on),
        cmocka_unit_test(threads_lose_no_count),
        cmocka_unit_test(the_nth_call_of_a_kind_fails_once),
        cmocka_unit_test(calls_fail_from_the_nth_on_until_the_plan_ends),
        cmocka_unit_test(a_plan_covers_its_times_and_no_more),
        cmocka_unit_test(every_kind_of_call_can_be_made_to_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
