/* test_pool_streams.c - streams recorded while a private pool is begun are
 * dropped only if a capture orders them, under every policy. */
#include "support/late_reader.h"

#define SPEC "sim:256MiB,events=manual"

enum { BYTES = 4096 };

static const larder_pool_id pool = {1, 0};

static const larder_policy policies[] = {LARDER_POLICY_LARDER,
                                         LARDER_POLICY_DIRECT};
enum { POLICIES = sizeof policies / sizeof policies[0] };

static void queue_reader(struct rig *rig, struct late_reader *r, larder_addr p)
{
    late_reader_queue(rig, r, p, BYTES, 0x11, 2);
}

static void overwrite(struct rig *rig)
{
    larder_addr q = rig_alloc(rig, BYTES);

    memset((void *)(uintptr_t)q, 0x22, BYTES);
    rig_free(rig, q);
}

static int on_stream_1(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == 1;
}

static void pool_begin(struct rig *rig)
{
    assert_ok(larder_pool_begin(rig->a, pool, on_stream_1, NULL));
}

static void pool_end(struct rig *rig)
{
    assert_ok(larder_pool_end(rig->a, pool));
}

/* The reader runs on stream 2 and finds the bytes unchanged. */
static void expect_untouched(struct rig *rig, struct late_reader *reader)
{
    assert_ok(larder_sim_complete(rig->dev, 2));
    assert_int_equal(reader->seen, 0x11);
    assert_ok(larder_pool_release(rig->a, pool));
    rig_down(rig);
}

static void recorded_inside(larder_policy policy, int before)
{
    struct rig rig = rig_up_policy(SPEC, policy, "");
    larder_addr p = rig_alloc(&rig, BYTES);
    struct late_reader reader;

    if (before)
        assert_ok(larder_record_stream(rig.a, p, 2));
    pool_begin(&rig);
    queue_reader(&rig, &reader, p);
    assert_ok(larder_record_stream(rig.a, p, 2));
    rig_free(&rig, p);
    pool_end(&rig);
    overwrite(&rig);
    expect_untouched(&rig, &reader);
}

static void a_stream_recorded_in_a_pool_is_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++)
        recorded_inside(policies[i], 0);
}

static void a_stream_recorded_before_and_in_a_pool_is_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++)
        recorded_inside(policies[i], 1);
}

/* The end of a capture does not order what the stream did before the
 * capture. */
static void a_stream_recorded_before_capture_is_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy(SPEC, policies[i], "");
        larder_addr p = rig_alloc(&rig, BYTES);
        struct late_reader reader;

        queue_reader(&rig, &reader, p);
        assert_ok(larder_record_stream(rig.a, p, 2));
        pool_begin(&rig);
        assert_ok(larder_sim_capture_begin(rig.dev, 2));
        assert_ok(larder_record_stream(rig.a, p, 2));
        rig_free(&rig, p);
        assert_ok(larder_sim_capture_end(rig.dev, 2));
        pool_end(&rig);
        overwrite(&rig);
        expect_untouched(&rig, &reader);
    }
}

/* Nor what it did afterwards. */
static void a_stream_recorded_after_capture_is_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy(SPEC, policies[i], "");
        larder_addr p = rig_alloc(&rig, BYTES);
        struct late_reader reader;

        pool_begin(&rig);
        assert_ok(larder_sim_capture_begin(rig.dev, 2));
        assert_ok(larder_record_stream(rig.a, p, 2));
        assert_ok(larder_sim_capture_end(rig.dev, 2));
        queue_reader(&rig, &reader, p);
        assert_ok(larder_record_stream(rig.a, p, 2));
        rig_free(&rig, p);
        pool_end(&rig);
        overwrite(&rig);
        expect_untouched(&rig, &reader);
    }
}

static void a_use_in_a_capture_gets_no_event(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy(SPEC, policies[i], "");
        larder_addr p = rig_alloc(&rig, BYTES);

        pool_begin(&rig);
        assert_ok(larder_sim_capture_begin(rig.dev, 2));
        assert_ok(larder_record_stream(rig.a, p, 2));
        rig_free(&rig, p);
        assert_ok(larder_sim_capture_end(rig.dev, 2));
        pool_end(&rig);
        rig_free(&rig, rig_alloc(&rig, MIB(40))); /* no cached block fits */
        assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 0);
        assert_int_equal(rig_stats(&rig).active.all.current, 0);
        assert_ok(larder_pool_release(rig.a, pool));
        rig_down(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_recorded_in_a_pool_is_waited_for),
        cmocka_unit_test(a_stream_recorded_before_and_in_a_pool_is_waited_for),
        cmocka_unit_test(a_stream_recorded_before_capture_is_waited_for),
        cmocka_unit_test(a_stream_recorded_after_capture_is_waited_for),
        cmocka_unit_test(a_use_in_a_capture_gets_no_event),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
