/* test_fault_pinned.c - pinned memory, trimming and the trim thread, while any
 * request for host memory or driver call fails: the result names the failure,
 * bytes stay untouched, and everything is released. */
#include <larder/pinned.h>

#include "support/host_faults.h"
#include "support/rig.h"

enum { SLOTS = 12 };

struct run {
    larder_device *dev;
    larder_allocator *a;
    unsigned char *slots[SLOTS];
    uint64_t bytes[SLOTS];
    int failures;
};

static int is_expected(larder_result r)
{
    return r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY ||
           r == LARDER_ERR_NO_HOST_MEMORY || r == LARDER_ERR_DEVICE ||
           r == LARDER_ERR_SYSTEM;
}

/* Count a failure that a fault explains. */
static larder_result judge(struct run *run, larder_result r)
{
    if (!is_expected(r))
        print_error("%s: %s\n", larder_result_name(r), larder_last_error());
    assert_true(is_expected(r));
    run->failures += r != LARDER_OK;
    return r;
}

static void verify(const struct run *run)
{
    for (int i = 0; i < SLOTS; i++) {
        if (run->slots[i] == NULL)
            continue;
        assert_int_equal(run->slots[i][0], i + 1);
        assert_int_equal(run->slots[i][run->bytes[i] - 1], i + 1);
    }
}

static void allocate(struct run *run, int i)
{
    static const uint64_t sizes[] = {300,        KIB(5),  KIB(700),
                                     MIB(1) + 1, MIB(12), 64};
    void *ptr;

    run->bytes[i] = sizes[i % 6] + (uint64_t)i * 1000;
    if (judge(run, larder_pinned_alloc(run->a, run->bytes[i], &ptr)) !=
        LARDER_OK)
        return;
    run->slots[i] = ptr;
    run->slots[i][0] = run->slots[i][run->bytes[i] - 1] =
        (unsigned char)(i + 1);
}

static void put(struct run *run, int i)
{
    if (run->slots[i] == NULL)
        return;
    if (i % 2 == 0)
        (void)judge(run, larder_pinned_record_stream(run->a, run->slots[i],
                                                     (larder_stream)(i % 3)));
    assert_ok(larder_pinned_free(run->a, run->slots[i]));
    run->slots[i] = NULL;
}

/* A failure does not stop the rest. */
static void use(struct run *run)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SLOTS; i++)
            allocate(run, i);
        verify(run);
        for (int i = round; i < SLOTS; i += 2)
            put(run, i);
        (void)judge(run, larder_trim(run->a, MIB(8), NULL));
        (void)judge(run, larder_configure(run->a, round % 2 ? "trim_age:0"
                                                            : "trim_age:900"));
        verify(run);
        assert_ok(larder_check(run->a));
        for (int i = 0; i < SLOTS; i++)
            put(run, i);
        (void)judge(run, larder_empty_cache(run->a));
    }
}

static larder_result make(struct run *run)
{
    larder_options opt;

    larder_options_init(&opt);
    opt.conf = "pinned_limit:60MiB,pinned_reserve_segment_size_mb:4";
    return judge(run, larder_pinned_create(run->dev, &opt, &run->a));
}

static uint64_t balance(larder_device *dev)
{
    larder_device_counters c = {.size = sizeof c};

    assert_ok(larder_device_get_counters(dev, &c));
    return c.calls[LARDER_CALL_host_alloc] - c.calls[LARDER_CALL_host_free];
}

static void finish(struct run *run)
{
    if (run->a != NULL) {
        allocate(run, 0); /* still usable */
        assert_non_null(run->slots[0]);
        verify(run);
        assert_ok(larder_check(run->a));
        assert_ok(larder_destroy(run->a));
    }
    assert_int_equal(balance(run->dev), 0);
    assert_device_empty(run->dev);
    assert_ok(larder_device_close(run->dev));
}

/* Returns the number of failures that the caller saw. */
static int run_with_host_fault(unsigned long nth, unsigned long times)
{
    struct run run = {0};

    assert_ok(larder_device_open("sim:64MiB", 0, &run.dev));
    larder__host_fail(nth, times);
    if (make(&run) == LARDER_OK)
        use(&run);
    larder__host_fail(0, 0);
    if (run.a == NULL && nth != 0)
        assert_ok(larder_device_close(run.dev));
    else
        finish(&run);
    return run.failures;
}

static void any_request_for_host_memory_may_fail(void **state)
{
    (void)state;
    assert_int_equal(run_with_host_fault(0, 0), 0);
    for (unsigned long times = 0; times < 2; times++) {
        int failures = 0;
        int clean = 0;

        for (unsigned long nth = 1; clean < 3 && nth < 400; nth++) {
            int seen = run_with_host_fault(nth, times);

            failures += seen;
            clean = seen == 0 ? clean + 1 : 0;
        }
        print_message("%d failures\n", failures);
        assert_true(failures > 10);
    }
}

static int run_with_driver_fault(larder_call call, uint64_t nth, uint64_t times)
{
    larder_result with = call == LARDER_CALL_host_alloc
                             ? LARDER_ERR_NO_HOST_MEMORY
                             : LARDER_ERR_DEVICE;
    struct run run = {0};

    assert_ok(larder_device_open("sim:64MiB,events=manual", 0, &run.dev));
    assert_ok(make(&run));
    assert_ok(larder_device_fail(run.dev, call, nth, times, with));
    use(&run);
    assert_ok(larder_device_fail(run.dev, call, 0, 0, LARDER_OK));
    finish(&run);
    return run.failures;
}

static void sweep(larder_call call, int at_least)
{
    int failures = 0;

    for (uint64_t nth = 1; nth < 24; nth++)
        failures += run_with_driver_fault(call, nth, nth % 2);
    if (failures < at_least)
        print_error("%s: %d failures\n", larder_call_name(call), failures);
    assert_true(failures >= at_least);
}

static void any_call_of_the_driver_may_fail(void **state)
{
    (void)state;
    sweep(LARDER_CALL_host_alloc, 10);
    sweep(LARDER_CALL_host_free, 5);
    sweep(LARDER_CALL_event_create, 0); /* postponed, not failed */
    sweep(LARDER_CALL_event_record, 0);
    sweep(LARDER_CALL_event_query, 0);
    sweep(LARDER_CALL_event_sync, 1);
}

/* ---- trimming pages, with its thread --------------------------------------- */

static void trim_pages_once(larder_call call, uint64_t nth)
{
    struct rig rig =
        rig_up_policy("sim:64MiB", LARDER_POLICY_LARDER, "trim_age:0.004");
    unsigned char *live;

    for (int i = 0; i < 4; i++) {
        larder_addr p = rig_alloc(&rig, MIB(7));
        larder_addr q;

        live = (unsigned char *)(uintptr_t)p;
        memset(live, i + 1, MIB(7));
        assert_ok(larder_device_fail(rig.dev, call, nth, 1, LARDER_ERR_DEVICE));
        if (larder_alloc(rig.a, MIB(9), 0, &q) == LARDER_OK)
            rig_free(&rig, q);
        (void)larder_trim(rig.a, MIB(10) * (uint64_t)(i % 2), NULL);
        assert_int_equal(live[0], i + 1);
        assert_int_equal(live[MIB(7) - 1], i + 1);
        assert_ok(larder_check(rig.a));
        rig_free(&rig, p);
    }
    assert_ok(larder_device_fail(rig.dev, call, 0, 0, LARDER_OK));
    rig_down(&rig);
}

static void a_trim_that_fails_half_way_loses_nothing(void **state)
{
    static const larder_call calls[] = {
        LARDER_CALL_unmap,        LARDER_CALL_page_release,
        LARDER_CALL_event_create, LARDER_CALL_event_record,
        LARDER_CALL_event_query,  LARDER_CALL_event_sync};

    (void)state;
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (uint64_t nth = 1; nth < 8; nth++)
            trim_pages_once(calls[c], nth);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, end_host_faults)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_request_for_host_memory_may_fail),
        TEST(any_call_of_the_driver_may_fail),
        TEST(a_trim_that_fails_half_way_loses_nothing),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
