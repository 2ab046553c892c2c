/* test_record_stream.c - a block used on other streams is reused only after
 * those have passed the point where it was freed. */
#include "support/late_reader.h"

#define SPEC "sim:1GiB,backing=none,events=manual"

/* Allocate freed memory; returns the address, which is freed again. */
static larder_addr probe(struct rig *rig, uint64_t bytes)
{
    larder_addr p = rig_alloc(rig, bytes);

    rig_free(rig, p);
    return p;
}

static void record(struct rig *rig, larder_addr p, larder_stream stream)
{
    assert_ok(larder_record_stream(rig->a, p, stream));
}

static void complete(struct rig *rig, larder_stream stream)
{
    assert_ok(larder_sim_complete(rig->dev, stream));
}

static int64_t pending(struct rig *rig)
{
    larder_stats st = rig_stats(rig);

    return st.active.all.current - st.allocation.all.current;
}

/* ---- reuse --------------------------------------------------------------- */

static void a_block_is_reused_on_its_own_stream_at_once(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    rig_free(&rig, p);
    assert_int_equal(probe(&rig, 4096), p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 0);
    rig_down(&rig);
}

static void a_block_is_never_reused_on_another_stream(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc_on(&rig, 4096, 1);

    (void)state;
    rig_free(&rig, p);
    assert_int_not_equal(rig_alloc_on(&rig, 4096, 2), p);
    assert_int_equal(rig_alloc_on(&rig, 4096, 1), p);
    rig_down(&rig);
}

static void recording_a_block_s_own_stream_does_nothing(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc_on(&rig, 4096, 5);

    (void)state;
    record(&rig, p, 5);
    rig_free(&rig, p);
    assert_int_equal(pending(&rig), 0);
    assert_int_equal(rig_alloc_on(&rig, 4096, 5), p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 0);
    rig_down(&rig);
}

static void a_recorded_block_waits_for_its_stream(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 0);
    rig_free(&rig, p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    assert_int_equal(pending(&rig), 1);
    assert_int_not_equal(probe(&rig, 4096), p);
    complete(&rig, 1);
    assert_int_equal(pending(&rig), 1); /* noticed at the next allocation */
    assert_int_equal(probe(&rig, 4096), p);
    assert_int_equal(pending(&rig), 0);
    rig_down(&rig);
}

static void work_queued_after_the_free_is_not_waited_for(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);
    larder_addr q = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    record(&rig, q, 1);
    rig_free(&rig, p);
    complete(&rig, 1);
    rig_free(&rig, q);
    assert_int_equal(probe(&rig, 4096), p);
    assert_int_equal(pending(&rig), 1);
    rig_down(&rig);
}

static void a_block_waits_for_every_recorded_stream(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    record(&rig, p, 2);
    record(&rig, p, 3);
    rig_free(&rig, p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 3);
    complete(&rig, 3);
    assert_int_not_equal(probe(&rig, 4096), p);
    complete(&rig, 1);
    assert_int_not_equal(probe(&rig, 4096), p);
    complete(&rig, 2);
    assert_int_equal(probe(&rig, 4096), p);
    rig_down(&rig);
}

static void a_stream_recorded_twice_gets_one_event(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    for (int i = 0; i < 10; i++)
        record(&rig, p, 1);
    rig_free(&rig, p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    complete(&rig, 1);
    assert_int_equal(probe(&rig, 4096), p);
    rig_down(&rig);
}

static void a_new_owner_does_not_inherit_recorded_streams(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    rig_free(&rig, p);
    complete(&rig, 1);
    assert_int_equal(rig_alloc(&rig, 4096), p);
    rig_free(&rig, p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    assert_int_equal(probe(&rig, 4096), p);
    rig_down(&rig);
}

static void events_are_used_again(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    for (int i = 0; i < 100; i++) {
        larder_addr p = rig_alloc(&rig, 4096);

        record(&rig, p, 1 + (larder_stream)i % 2);
        rig_free(&rig, p);
        complete(&rig, 1 + (larder_stream)i % 2);
    }
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 100);
    assert_true(rig_calls(&rig, LARDER_CALL_event_create) <= 2);
    rig_down(&rig);
}

static void a_queue_is_asked_up_to_its_first_incomplete_event(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p[10];
    uint64_t asked;

    (void)state;
    for (int i = 0; i < 10; i++)
        p[i] = rig_alloc(&rig, 4096);
    for (int i = 0; i < 10; i++) {
        record(&rig, p[i], 1);
        rig_free(&rig, p[i]);
    }
    asked = rig_calls(&rig, LARDER_CALL_event_query);
    probe(&rig, 4096);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_query), asked + 1);
    complete(&rig, 1);
    probe(&rig, 4096);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_query), asked + 11);
    assert_int_equal(pending(&rig), 0);
    probe(&rig, 4096);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_query), asked + 11);
    rig_down(&rig);
}

static void a_pending_neighbour_is_not_merged(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, MIB(4));
    larder_addr q = rig_alloc(&rig, MIB(4));
    larder_addr r = rig_alloc(&rig, MIB(12) - 512);

    (void)state;
    record(&rig, q, 1);
    rig_free(&rig, q);
    rig_free(&rig, p);
    assert_int_not_equal(probe(&rig, MIB(8)), p);
    complete(&rig, 1);
    assert_int_equal(probe(&rig, MIB(8)), p);
    rig_free(&rig, r);
    rig_down(&rig);
}

static void immediate_events_are_complete_when_asked(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none,events=immediate", "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    rig_free(&rig, p);
    assert_int_equal(pending(&rig), 1);
    assert_int_equal(probe(&rig, 4096), p);
    rig_down(&rig);
}

static void expandable_segments_wait_for_recorded_streams(void **state)
{
    struct rig rig = rig_up(SPEC, "expandable_segments:True");
    larder_addr p = rig_alloc(&rig, MIB(30));

    (void)state;
    record(&rig, p, 1);
    rig_free(&rig, p);
    assert_int_not_equal(probe(&rig, MIB(30)), p);
    complete(&rig, 1);
    assert_int_equal(probe(&rig, MIB(30)), p);
    rig_down(&rig);
}

static void the_direct_policy_frees_after_the_stream(void **state)
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_DIRECT, "");
    larder_addr p = rig_alloc(&rig, MIB(4));

    (void)state;
    record(&rig, p, 1);
    rig_free(&rig, p);
    rig_free(&rig, rig_alloc(&rig, MIB(2)));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 1);
    complete(&rig, 1);
    rig_free(&rig, rig_alloc(&rig, MIB(2)));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 3);
    rig_down(&rig);
}

/* ---- waiting ------------------------------------------------------------- */

static void empty_cache_waits_and_releases(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, MIB(30));

    (void)state;
    record(&rig, p, 1);
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_sync), 1);
    assert_int_equal(rig_stats(&rig).num_sync_all_streams, 1);
    assert_int_equal(pending(&rig), 0);
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

static void destroying_waits_for_streams_of_freed_and_live_blocks(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr freed = rig_alloc(&rig, 4096);
    larder_addr live = rig_alloc(&rig, 4096);
    uint64_t waits;

    (void)state;
    record(&rig, freed, 1);
    record(&rig, live, 2);
    rig_free(&rig, freed);
    assert_ok(larder_destroy(rig.a));
    waits = rig_calls(&rig, LARDER_CALL_event_sync) +
            rig_calls(&rig, LARDER_CALL_stream_sync);
    assert_true(waits >= 2);
    assert_device_empty(rig.dev);
    assert_ok(larder_device_close(rig.dev));
}

/* ---- while a pool is begun ----------------------------------------------- */

static const larder_pool_id capture = {1, 0};

static void no_event_is_recorded_or_asked_while_a_pool_is_begun(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr before = rig_alloc(&rig, 4096);
    larder_addr freed_before = rig_alloc(&rig, 4096);
    uint64_t asked;

    (void)state;
    record(&rig, before, 1);
    record(&rig, freed_before, 1);
    rig_free(&rig, freed_before);
    complete(&rig, 1);
    asked = rig_calls(&rig, LARDER_CALL_event_query);
    assert_ok(larder_pool_begin(rig.a, capture, NULL, NULL));
    rig_free(&rig, before);
    probe(&rig, 4096);
    probe(&rig, MIB(30));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_query), asked);
    assert_int_equal(pending(&rig), 2);
    assert_ok(larder_pool_end(rig.a, capture));
    assert_int_equal(pending(&rig), 2); /* not before the next allocation */
    assert_ok(larder_pool_release(rig.a, capture));
    rig_down(&rig);
}

static void a_block_freed_meanwhile_gets_its_events_afterwards(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    assert_ok(larder_pool_begin(rig.a, capture, NULL, NULL));
    rig_free(&rig, p);
    assert_ok(larder_pool_end(rig.a, capture));
    complete(&rig, 1); /* too early: nothing is recorded yet */
    assert_int_not_equal(probe(&rig, 4096), p);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    complete(&rig, 1);
    assert_int_equal(probe(&rig, 4096), p);
    assert_ok(larder_pool_release(rig.a, capture));
    rig_down(&rig);
}

/* The end of a capture orders the streams recorded during it. */
static void streams_recorded_meanwhile_get_no_event(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr only_captured = rig_alloc(&rig, 4096);
    larder_addr both = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, both, 1);
    assert_ok(larder_pool_begin(rig.a, capture, NULL, NULL));
    record(&rig, only_captured, 2);
    record(&rig, both, 2);
    rig_free(&rig, only_captured);
    rig_free(&rig, both);
    assert_int_equal(pending(&rig), 2);
    assert_ok(larder_pool_end(rig.a, capture));
    assert_int_equal(probe(&rig, 4096), only_captured);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    assert_int_equal(pending(&rig), 1);
    complete(&rig, 1);
    probe(&rig, 4096);
    assert_int_equal(pending(&rig), 0);
    assert_ok(larder_pool_release(rig.a, capture));
    rig_down(&rig);
}

static void two_begun_pools_both_end_before_events_are_recorded(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_pool_id other = {2, 0};
    larder_addr p = rig_alloc(&rig, 4096);

    (void)state;
    record(&rig, p, 1);
    assert_ok(larder_pool_begin(rig.a, capture, NULL, NULL));
    assert_ok(larder_pool_begin(rig.a, other, NULL, NULL));
    rig_free(&rig, p);
    assert_ok(larder_pool_end(rig.a, capture));
    probe(&rig, 4096);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 0);
    assert_ok(larder_pool_end(rig.a, other));
    probe(&rig, 4096);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_record), 1);
    assert_ok(larder_pool_release(rig.a, capture));
    assert_ok(larder_pool_release(rig.a, other));
    rig_down(&rig);
}

static void empty_cache_deals_with_blocks_freed_meanwhile(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = rig_alloc(&rig, MIB(30));

    (void)state;
    record(&rig, p, 1);
    assert_ok(larder_pool_begin(rig.a, capture, NULL, NULL));
    rig_free(&rig, p);
    assert_result(LARDER_ERR_CAPTURING, larder_empty_cache(rig.a));
    assert_ok(larder_pool_end(rig.a, capture));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    assert_ok(larder_pool_release(rig.a, capture));
    rig_down(&rig);
}

/* ---- with real work ------------------------------------------------------ */

/* A late kernel on another stream still reads the bytes that were there when it
 * was queued. */
static void a_late_kernel_reads_what_was_written_for_it(void **state)
{
    struct rig rig = rig_up("sim:64MiB,events=manual", "");
    larder_addr p = rig_alloc(&rig, 4096);
    struct late_reader kernel;
    larder_addr q;

    (void)state;
    late_reader_queue(&rig, &kernel, p, 4096, 0x11, 1);
    record(&rig, p, 1);
    rig_free(&rig, p);
    q = rig_alloc(&rig, 4096);
    memset((void *)(uintptr_t)q, 0x22, 4096);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_int_equal(kernel.seen, 0x11);
    rig_free(&rig, q);
    rig_down(&rig);
}

/* The ladder's wait runs the kernel before the memory is reused. */
static void a_full_device_waits_for_the_late_kernel(void **state)
{
    struct rig rig = rig_up("sim:64MiB,events=manual", "");
    larder_addr p = rig_alloc(&rig, MIB(40));
    struct late_reader kernel;
    larder_addr q;

    (void)state;
    late_reader_queue(&rig, &kernel, p, 4096, 0x33, 1);
    record(&rig, p, 1);
    rig_free(&rig, p);
    q = rig_alloc(&rig, MIB(40));
    assert_int_equal(kernel.seen, 0x33);
    rig_free(&rig, q);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_reused_on_its_own_stream_at_once),
        cmocka_unit_test(a_block_is_never_reused_on_another_stream),
        cmocka_unit_test(recording_a_block_s_own_stream_does_nothing),
        cmocka_unit_test(a_recorded_block_waits_for_its_stream),
        cmocka_unit_test(work_queued_after_the_free_is_not_waited_for),
        cmocka_unit_test(a_block_waits_for_every_recorded_stream),
        cmocka_unit_test(a_stream_recorded_twice_gets_one_event),
        cmocka_unit_test(a_new_owner_does_not_inherit_recorded_streams),
        cmocka_unit_test(events_are_used_again),
        cmocka_unit_test(a_queue_is_asked_up_to_its_first_incomplete_event),
        cmocka_unit_test(a_pending_neighbour_is_not_merged),
        cmocka_unit_test(immediate_events_are_complete_when_asked),
        cmocka_unit_test(expandable_segments_wait_for_recorded_streams),
        cmocka_unit_test(the_direct_policy_frees_after_the_stream),
        cmocka_unit_test(empty_cache_waits_and_releases),
        cmocka_unit_test(destroying_waits_for_streams_of_freed_and_live_blocks),
        cmocka_unit_test(no_event_is_recorded_or_asked_while_a_pool_is_begun),
        cmocka_unit_test(a_block_freed_meanwhile_gets_its_events_afterwards),
        cmocka_unit_test(streams_recorded_meanwhile_get_no_event),
        cmocka_unit_test(two_begun_pools_both_end_before_events_are_recorded),
        cmocka_unit_test(empty_cache_deals_with_blocks_freed_meanwhile),
        cmocka_unit_test(a_late_kernel_reads_what_was_written_for_it),
        cmocka_unit_test(a_full_device_waits_for_the_late_kernel),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
