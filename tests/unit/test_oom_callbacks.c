/* test_oom_callbacks.c - what a program hears when memory runs out: observers of
 * the failure, and callbacks that may free memory before it. */
#include "support/rig.h"

/* ---- observers ----------------------------------------------------------- */

struct observer {
    struct rig *rig;
    int calls;
    int order; /* of its first call, from 1 */
    larder_oom_info info;
    char message[4096];
    larder_addr to_free;
};

static int observers_called;

static void observe(void *ctx, const larder_oom_info *info)
{
    struct observer *o = ctx;

    if (o->calls++ == 0)
        o->order = ++observers_called;
    o->info = *info;
    snprintf(o->message, sizeof o->message, "%s", info->message);
    /* No lock is held: all of these would deadlock. */
    assert_int_equal(rig_stats(o->rig).num_ooms, 1);
    assert_ok(larder_check(o->rig->a));
    free(picture_take(o->rig).text);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(o->rig->a, 1));
    if (o->to_free != 0)
        rig_free(o->rig, o->to_free);
}

static void each_observer_is_called_once_without_locks(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    struct observer first = {.rig = &rig};
    struct observer second = {.rig = &rig};
    larder_addr p = 77;

    (void)state;
    observers_called = 0;
    assert_ok(larder_add_oom_observer(rig.a, observe, &first));
    assert_ok(larder_add_oom_observer(rig.a, observe, &second));
    first.to_free = rig_alloc(&rig, MIB(30));
    assert_int_equal(first.calls, 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(40) + 1, 7, &p));
    assert_int_equal(p, 77);
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 1);
    assert_int_equal(first.order, 1);
    assert_int_equal(second.order, 2);
    assert_int_equal(first.info.requested_bytes, MIB(40) + 1);
    assert_int_equal(first.info.segment_bytes, MIB(42));
    assert_int_equal(first.info.stream, 7);
    assert_int_equal(first.info.device_total_bytes, MIB(64));
    assert_int_equal(first.info.device_free_bytes, MIB(34));
    assert_string_equal(second.message, first.message);
    /* Mistakes of the callbacks do not reach the caller's error message. */
    assert_string_equal(larder_last_error(), first.message);
    assert_words("Tried to allocate 42.00 MiB.");
    rig_down(&rig);
}

static void an_observer_is_told_the_limit_if_that_is_lower(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "limit:10MiB");
    struct observer o = {.rig = &rig};

    (void)state;
    assert_ok(larder_add_oom_observer(rig.a, observe, &o));
    assert_no_room(&rig, MIB(12));
    assert_int_equal(o.calls, 1);
    assert_int_equal(o.info.device_total_bytes, MIB(10));
    assert_words("GPU 0 has a total capacity of 64.00 MiB");
    rig_down(&rig);
}

static void observers_are_not_called_for_other_failures(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    struct observer o = {.rig = &rig};
    larder_addr p;

    (void)state;
    assert_ok(larder_add_oom_observer(rig.a, observe, &o));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_alloc(rig.a, 512, 0, &p));
    assert_result(LARDER_ERR_UNKNOWN_STREAM,
                  larder_alloc(rig.a, 512, LARDER_SIM_STREAMS, &p));
    assert_int_equal(o.calls, 0);
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    rig_down(&rig);
}

/* ---- reclaim callbacks --------------------------------------------------- */

struct reclaim {
    struct rig *rig;
    larder_addr to_free;
    int calls;
    int answer;
};

static int reclaim(void *ctx)
{
    struct reclaim *r = ctx;

    r->calls++;
    if (r->to_free != 0)
        rig_free(r->rig, r->to_free);
    r->to_free = 0;
    return r->answer;
}

static void callbacks_are_asked_before_the_device(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    struct reclaim r = {.rig = &rig, .answer = 1};
    larder_addr p;

    (void)state;
    assert_ok(larder_add_reclaim(rig.a, reclaim, &r));
    p = rig_alloc(&rig, MIB(30));
    assert_int_equal(r.calls, 1);
    r.to_free = p;
    assert_int_equal(rig_alloc(&rig, MIB(30)), p);
    assert_int_equal(r.calls, 2);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 1);
    assert_int_equal(rig_stats(&rig).num_alloc_retries, 0);
    rig_free(&rig, p);
    rig_alloc(&rig, MIB(30)); /* a hit calls no callback */
    assert_int_equal(r.calls, 2);
    rig_down(&rig);
}

static void the_cache_is_not_searched_again_for_a_callback_s_no(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    struct reclaim r = {.rig = &rig, .answer = 0};
    larder_addr p = rig_alloc(&rig, MIB(30));

    (void)state;
    assert_ok(larder_add_reclaim(rig.a, reclaim, &r));
    r.to_free = p;
    assert_int_not_equal(rig_alloc(&rig, MIB(30)), p);
    assert_int_equal(r.calls, 1);
    rig_down(&rig);
}

/* The pool that the request was for; it is gone when the callback returns. */
static const larder_pool_id gone_pool = {8, 8};

struct ending {
    struct rig *rig;
    int answer;
};

static int end_everything(void *ctx)
{
    const struct ending *e = ctx;
    struct rig *rig = e->rig;

    assert_ok(larder_pool_end(rig->a, gone_pool));
    assert_ok(larder_pool_release(rig->a, gone_pool));
    assert_ok(larder_empty_cache(rig->a));
    assert_ok(larder_configure(rig->a, "expandable_segments:True,"
                                       "roundup_power2_divisions:4"));
    return e->answer;
}

static void a_callback_may_end_the_pool_that_was_asked(void **state)
{
    (void)state;
    for (int answer = 0; answer < 2; answer++) {
        struct rig rig = rig_up("sim:64MiB,backing=none", "");
        struct ending e = {.rig = &rig, .answer = answer};
        larder_addr p;

        assert_ok(larder_pool_begin(rig.a, gone_pool, NULL, NULL));
        rig_free(&rig, rig_alloc(&rig, MIB(1)));
        assert_ok(larder_add_reclaim(rig.a, end_everything, &e));
        p = rig_alloc(&rig, MIB(5));
        assert_ok(larder_check(rig.a));
        assert_int_equal(rig_stats(&rig).segment.all.current, 0);
        assert_int_equal(rig_usage(rig.dev).pages, 1);
        rig_free(&rig, p);
        rig_down(&rig);
    }
}

/* ---- the ladder ---------------------------------------------------------- */

static void the_direct_policy_calls_observers_too(void **state)
{
    struct rig rig =
        rig_up_policy("sim:64MiB,backing=none", LARDER_POLICY_DIRECT, "");
    struct observer o = {.rig = &rig};
    larder_addr p = rig_alloc(&rig, MIB(40));

    (void)state;
    assert_ok(larder_add_oom_observer(rig.a, observe, &o));
    assert_no_room(&rig, MIB(30));
    assert_words("Tried to allocate 30.00 MiB.");
    assert_int_equal(o.calls, 1);
    rig_free(&rig, p);
    rig_alloc(&rig, MIB(60));
    rig_down(&rig);
}

static void an_observer_is_told_of_a_piece_that_could_not_be_had(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "preallocate:128MiB");
    struct observer o = {.rig = &rig};

    (void)state;
    assert_ok(larder_add_oom_observer(rig.a, observe, &o));
    assert_no_room(&rig, 512);
    assert_words("preallocate");
    assert_int_equal(o.calls, 1);
    assert_int_equal(rig_stats(&rig).num_ooms, 1);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_observer_is_called_once_without_locks),
        cmocka_unit_test(an_observer_is_told_the_limit_if_that_is_lower),
        cmocka_unit_test(observers_are_not_called_for_other_failures),
        cmocka_unit_test(callbacks_are_asked_before_the_device),
        cmocka_unit_test(the_cache_is_not_searched_again_for_a_callback_s_no),
        cmocka_unit_test(a_callback_may_end_the_pool_that_was_asked),
        cmocka_unit_test(the_direct_policy_calls_observers_too),
        cmocka_unit_test(an_observer_is_told_of_a_piece_that_could_not_be_had),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
