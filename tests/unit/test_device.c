/* test_device.c - the device interface: tables of calls, what they answer, and
 * the messages of those that fail. */
#include "device_rig.h"
#include "idle_device.h"

/* ---- tables --------------------------------------------------------------- */

static void a_table_without_a_required_call_is_refused_by_name(void **state)
{
    struct idle_device f = {0};
    larder_device *dev;
    larder_device_ops ops;

    (void)state;
#define LACKS(member)                                                          \
    ops = idle_ops;                                                            \
    ops.member = NULL;                                                         \
    assert_refused(LARDER_ERR_INVALID, larder_device_create(&ops, &f, &dev),   \
                   "'" #member "'")
    LACKS(name);
    LACKS(close);
    LACKS(props);
    LACKS(mem_alloc);
    LACKS(mem_free);
    LACKS(mem_info);
    LACKS(event_create);
    LACKS(event_destroy);
    LACKS(event_record);
    LACKS(event_query);
    LACKS(event_sync);
    LACKS(stream_sync);
#undef LACKS
    assert_int_equal(f.closed, 0);
}

static larder_result page_create(void *self, uint64_t bytes, uint64_t *out)
{
    (void)bytes;
    *out = 1;
    return idle_answer(self);
}

static void a_table_has_all_virtual_memory_calls_or_none(void **state)
{
    struct idle_device f = {0};
    larder_device *dev;
    larder_device_ops ops = idle_ops;

    (void)state;
    ops.page_create = page_create;
    assert_refused(LARDER_ERR_INVALID, larder_device_create(&ops, &f, &dev),
                   "1 of the 7 virtual memory calls");
}

static void a_shorter_table_lacks_what_it_does_not_reach(void **state)
{
    struct idle_device f = {.answer = LARDER_ERR_DEVICE, .text = "never read"};
    larder_device *dev;
    larder_device_ops ops = idle_ops;

    (void)state;
    ops.size = offsetof(larder_device_ops, error_text);
    assert_ok(larder_device_create(&ops, &f, &dev));
    assert_refused(LARDER_ERR_DEVICE, larder__device_mem_free(dev, 1),
                   "mem_free of 0x1 failed: the device refused a call");
    assert_ok(larder_device_close(dev));
    assert_int_equal(f.closed, 1);
}

static void a_longer_table_may_hold_nothing_that_is_unknown(void **state)
{
    struct {
        larder_device_ops ops;
        void *more;
    } longer = {.ops = idle_ops};
    struct idle_device f = {0};
    larder_device *dev;

    (void)state;
    longer.ops.size = sizeof longer;
    assert_ok(larder_device_create(&longer.ops, &f, &dev));
    assert_ok(larder_device_close(dev));
    longer.more = &f;
    assert_refused(LARDER_ERR_INVALID,
                   larder_device_create(&longer.ops, &f, &dev),
                   "does not know");
}

static void a_device_without_a_call_says_so(void **state)
{
    struct idle_device f = {0};
    larder_device *dev;
    uint64_t out;
    void *host;
    int capturing = 7;

    (void)state;
    assert_ok(larder_device_create(&idle_ops, &f, &dev));
    assert_false(larder__device_has_vmm(dev));
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   larder__device_page_create(dev, 1, &out),
                   "page_create of 1 bytes failed: the device has no such "
                   "call");
    assert_result(LARDER_ERR_UNSUPPORTED, larder_device_fill(dev, 1, 2, 3, 0));
    assert_result(LARDER_ERR_UNSUPPORTED,
                  larder_device_host_alloc(dev, 1, &host));
    assert_ok(larder__device_stream_check(dev, UINT64_MAX));
    assert_ok(larder_device_stream_is_capturing(dev, 0, &capturing));
    assert_int_equal(capturing, 0);
    assert_int_equal(f.calls, 0);
    assert_int_equal(counters_of(dev).failed[LARDER_CALL_page_create], 0);
    assert_ok(larder_device_close(dev));
}

static void a_table_of_the_same_name_is_not_a_simulated_device(void **state)
{
    struct idle_device f = {0};
    larder_device *dev;
    larder_device_ops ops = idle_ops;

    (void)state;
    ops.name = "sim";
    assert_ok(larder_device_create(&ops, &f, &dev));
    assert_result(LARDER_ERR_UNSUPPORTED, larder_sim_complete(dev, 0));
    assert_ptr_equal(larder__device_self(dev, ops.name), &f);
    assert_ok(larder_device_close(dev));
}

static void a_device_that_is_held_is_not_closed(void **state)
{
    struct idle_device f = {0};
    larder_device *dev;

    (void)state;
    assert_ok(larder_device_create(&idle_ops, &f, &dev));
    larder__device_hold(dev);
    larder__device_hold(dev);
    larder__device_drop(dev);
    assert_result(LARDER_ERR_BUSY, larder_device_close(dev));
    assert_int_equal(f.closed, 0);
    larder__device_drop(dev);
    assert_ok(larder_device_close(dev));
    assert_int_equal(f.closed, 1);
    assert_ok(larder_device_close(NULL));
}

/* ---- messages and structs ------------------------------------------------- */

static void a_failure_is_reported_in_the_devices_own_words(void **state)
{
    struct idle_device f = {.answer = LARDER_ERR_DEVICE,
                            .text = "the fan is stuck"};
    larder_device *dev;
    uint64_t out;

    (void)state;
    assert_ok(larder_device_create(&idle_ops, &f, &dev));
    assert_refused(LARDER_ERR_DEVICE, larder__device_mem_alloc(dev, 512, &out),
                   "mem_alloc of 512 bytes failed: the fan is stuck");
    f.text = "";
    assert_refused(LARDER_ERR_DEVICE, larder_device_event_sync(dev, 0xab),
                   "event_sync with event 0xab failed: the device refused a "
                   "call");
    assert_ok(larder_device_close(dev));
}

static void props_fit_older_and_newer_callers(void **state)
{
    larder_device *dev = open_one("sim:4GiB,context=1MiB,backing=none");
    struct {
        larder_device_props props;
        uint64_t newer;
    } longer = {.props = {.size = sizeof longer}, .newer = 9};
    larder_device_props p = {
        .size = offsetof(larder_device_props, granularity_bytes),
        .granularity_bytes = 7,
    };

    (void)state;
    assert_ok(larder_device_get_props(dev, &p));
    assert_int_equal(p.total_bytes, GIB(4));
    assert_int_equal(p.granularity_bytes, 7);
    assert_ok(larder_device_get_props(dev, &longer.props));
    assert_int_equal(longer.props.size, sizeof longer);
    assert_int_equal(longer.props.context_bytes, MIB(1));
    assert_string_equal(longer.props.name, "simulated GPU");
    assert_int_equal(longer.newer, 0);
    p.size = 0;
    assert_refused(LARDER_ERR_INVALID, larder_device_get_props(dev, &p),
                   "size");
    assert_string_equal(larder_device_name(dev), "sim");
    assert_ok(larder_device_close(dev));
}

static void null_arguments_are_invalid(void **state)
{
    larder_device *dev = open_one("sim:4GiB,backing=none");
    uint64_t out;
    int flag;
    void *ptr;

    (void)state;
#define REFUSED(call) assert_result(LARDER_ERR_INVALID, call)
    REFUSED(larder_device_open(NULL, 0, &dev));
    REFUSED(larder_device_open("sim:1GiB", 0, NULL));
    REFUSED(larder_device_create(NULL, NULL, &dev));
    REFUSED(larder_device_create(&idle_ops, NULL, NULL));
    REFUSED(larder_device_get_props(NULL, NULL));
    REFUSED(larder_device_get_props(dev, NULL));
    REFUSED(larder_device_mem_info(dev, NULL, &out));
    REFUSED(larder_device_mem_info(NULL, &out, &out));
    REFUSED(larder_device_copy(NULL, 0, 0, 0, LARDER_COPY_TO_HOST, 0));
    REFUSED(larder_device_fill(NULL, 0, 0, 0, 0));
    REFUSED(larder_device_stream_sync(NULL, 0));
    REFUSED(larder_device_stream_is_capturing(NULL, 0, &flag));
    REFUSED(larder_device_stream_is_capturing(dev, 0, NULL));
    REFUSED(larder_device_event_create(NULL, &out));
    REFUSED(larder_device_event_create(dev, NULL));
    REFUSED(larder_device_event_destroy(NULL, 1));
    REFUSED(larder_device_event_record(NULL, 1, 0));
    REFUSED(larder_device_event_query(NULL, 1));
    REFUSED(larder_device_event_sync(NULL, 1));
    REFUSED(larder_device_host_alloc(NULL, 1, &ptr));
    REFUSED(larder_device_host_alloc(dev, 1, NULL));
    REFUSED(larder_device_host_free(NULL, NULL));
    REFUSED(larder_device_set_prices(NULL, NULL));
    REFUSED(larder_device_set_prices(dev, NULL));
    REFUSED(larder_device_get_counters(NULL, NULL));
    REFUSED(larder_device_get_counters(dev, NULL));
    REFUSED(larder_device_reset_counters(NULL));
    REFUSED(larder_device_fail(NULL, LARDER_CALL_map, 1, 1, LARDER_ERR_DEVICE));
    REFUSED(
        larder_device_fail(dev, LARDER_CALL_COUNT, 1, 1, LARDER_ERR_DEVICE));
    REFUSED(larder_device_fail(dev, LARDER_CALL_map, 1, 1, LARDER_OK));
#undef REFUSED
    assert_string_equal(larder_device_name(NULL), "");
    assert_ok(larder_device_close(dev));
}

static void calls_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(larder_call_name(LARDER_CALL_mem_alloc), "mem_alloc");
    assert_string_equal(larder_call_name(LARDER_CALL_host_free), "host_free");
    assert_null(larder_call_name(LARDER_CALL_COUNT));
    assert_null(larder_call_name((larder_call)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_without_a_required_call_is_refused_by_name),
        cmocka_unit_test(a_table_has_all_virtual_memory_calls_or_none),
        cmocka_unit_test(a_shorter_table_lacks_what_it_does_not_reach),
        cmocka_unit_test(a_longer_table_may_hold_nothing_that_is_unknown),
        cmocka_unit_test(a_device_without_a_call_says_so),
        cmocka_unit_test(a_table_of_the_same_name_is_not_a_simulated_device),
        cmocka_unit_test(a_device_that_is_held_is_not_closed),
        cmocka_unit_test(a_failure_is_reported_in_the_devices_own_words),
        cmocka_unit_test(props_fit_older_and_newer_callers),
        cmocka_unit_test(null_arguments_are_invalid),
        cmocka_unit_test(calls_have_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
