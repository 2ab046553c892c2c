/* test_region_sleep.c - regions asleep and awake: their contents, their addresses
 * and what they hold. */
#include "region_rig.h"

static void fill_pages(larder_region *kv, unsigned first, unsigned count)
{
    larder_addr base = info_of(kv).addr;

    for (unsigned i = first; i < first + count; i++)
        memset((void *)(uintptr_t)(base + i * PAGE), (int)i + 1, PAGE);
}

static void assert_pages(larder_region *kv, unsigned first, unsigned count)
{
    larder_addr base = info_of(kv).addr;

    for (unsigned i = first; i < first + count; i++) {
        const unsigned char *p =
            (const unsigned char *)(uintptr_t)(base + i * PAGE);

        assert_true(p[0] == i + 1 && p[PAGE - 1] == i + 1);
    }
}

static void a_paused_region_keeps_contents_and_addresses(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 32);
    larder_addr big;

    (void)state;
    commit(kv, 2, 10);
    commit(kv, 20, 4);
    decommit(kv, 5, 2); /* within a handle that is in use */
    fill_pages(kv, 2, 3);
    fill_pages(kv, 7, 5);
    fill_pages(kv, 20, 4);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_check(rig.a));
    assert_int_equal(rig_usage(rig.dev).pages, 0);
    assert_int_equal(info_of(kv).kept_bytes, 12 * PAGE);
    assert_int_equal(info_of(kv).held_bytes, 0);
    big = rig_alloc(&rig, MIB(60)); /* the memory is free for others */
    rig_free(&rig, big);
    assert_result(LARDER_ERR_PAUSED, larder_region_commit(kv, 0, PAGE));
    assert_result(LARDER_ERR_PAUSED,
                  larder_region_record_stream(kv, 4 * PAGE, PAGE, 1));
    assert_result(LARDER_ERR_PAUSED,
                  larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_region_resume(kv)); /* from cached memory */
    assert_ok(larder_check(rig.a));
    assert_int_equal(info_of(kv).committed_bytes, 12 * PAGE);
    assert_int_equal(info_of(kv).kept_bytes, 0);
    assert_pages(kv, 2, 3);
    assert_pages(kv, 7, 5);
    assert_pages(kv, 20, 4);
    assert_result(LARDER_ERR_INVALID, larder_region_resume(kv));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void region_set_flag(void *ctx)
{
    *(int *)ctx = 1;
}

static void sleeping_waits_for_its_own_memory_alone(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none,events=manual");
    larder_region *kv = region_of(&rig, 20);
    larder_addr foreign = rig_alloc(&rig, MIB(3));
    int ran[2] = {0};

    (void)state;
    commit(kv, 0, 10);
    assert_ok(larder_region_record_stream(kv, 2 * PAGE, 2 * PAGE, 5));
    assert_ok(larder_record_stream(rig.a, foreign, 6));
    assert_ok(larder_sim_launch(rig.dev, 5, region_set_flag, &ran[0]));
    assert_ok(larder_sim_launch(rig.dev, 6, region_set_flag, &ran[1]));
    decommit(kv, 0, 4);
    rig_free(&rig, foreign);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_DROP));
    assert_int_equal(ran[0], 1);
    assert_int_equal(ran[1], 0);
    assert_ok(larder_region_resume(kv));
    assert_ok(larder_check(rig.a));
    assert_ok(larder_region_destroy(kv));
    assert_ok(larder_sim_complete(rig.dev, 6));
    rig_down(&rig);
}

static void nothing_sleeps_or_wakes_during_a_capture(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_region *kv = region_of(&rig, 100);

    (void)state;
    commit(kv, 0, 10);
    assert_refused(LARDER_ERR_INVALID,
                   larder_region_pause(kv, (larder_pause_mode)77),
                   "77 is not a pause mode");
    assert_ok(larder_capture_begin(rig.a));
    assert_refused(LARDER_ERR_CAPTURING,
                   larder_region_pause(kv, LARDER_PAUSE_DROP),
                   "memory cannot be paused or resumed");
    assert_ok(larder_capture_end(rig.a));
    assert_int_equal(info_of(kv).held_bytes, 10 * PAGE);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_DROP));
    assert_ok(larder_capture_begin(rig.a));
    assert_refused(LARDER_ERR_CAPTURING, larder_region_resume(kv),
                   "memory cannot be paused or resumed");
    assert_ok(larder_capture_end(rig.a));
    assert_int_equal(info_of(kv).held_bytes, 0);
    assert_ok(larder_region_resume(kv));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* Part of it would fit: nothing is mapped for that. */
static void a_region_above_its_limit_stays_asleep(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 32);

    (void)state;
    commit(kv, 0, 6);
    commit(kv, 10, 6);
    fill_pages(kv, 0, 6);
    fill_pages(kv, 10, 6);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_region_set_limit(kv, 8 * PAGE));
    assert_ok(larder_device_reset_counters(rig.dev));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY, larder_region_resume(kv),
                   "'kv' may hold 16777216 bytes and needs 25165824");
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_map), 0);
    assert_ok(larder_region_set_limit(kv, 12 * PAGE));
    assert_ok(larder_region_resume(kv));
    assert_pages(kv, 0, 6);
    assert_pages(kv, 10, 6);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void a_wake_without_memory_leaves_the_region_asleep(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 32);
    larder_addr big;
    uint64_t pages;

    (void)state;
    commit(kv, 0, 6);
    commit(kv, 10, 6);
    fill_pages(kv, 0, 6);
    fill_pages(kv, 10, 6);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    big = rig_alloc(&rig, MIB(46)); /* 9 of 12 pages are left */
    pages = rig_usage(rig.dev).pages;
    for (int i = 0; i < 3; i++) {
        assert_result(LARDER_ERR_OUT_OF_MEMORY, larder_region_resume(kv));
        assert_int_equal(info_of(kv).held_bytes, 0);
        assert_true(info_of(kv).is_paused);
        /* What was mapped is released; a handle that was not mapped stays
         * cached. */
        assert_in_range(rig_usage(rig.dev).pages, pages, pages + 1);
        assert_ok(larder_check(rig.a));
    }
    rig_free(&rig, big);
    assert_ok(larder_region_resume(kv));
    assert_pages(kv, 0, 6);
    assert_pages(kv, 10, 6);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void a_paused_region_is_destroyed_with_its_allocator(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 32);

    (void)state;
    commit(kv, 0, 6);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    rig_down(&rig);
    assert_ok(larder_region_destroy(kv));
}

static void a_pause_that_fails_leaves_the_region_awake(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 32);

    (void)state;
    commit(kv, 0, 6);
    commit(kv, 10, 2);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, nth, 1,
                                     LARDER_ERR_DEVICE));
        assert_result(LARDER_ERR_DEVICE,
                      larder_region_pause(kv, LARDER_PAUSE_KEEP));
        assert_false(info_of(kv).is_paused);
        assert_int_equal(info_of(kv).committed_bytes, 8 * PAGE);
        assert_int_equal(info_of(kv).held_bytes, 8 * PAGE);
        assert_int_equal(info_of(kv).kept_bytes, 0);
        assert_ok(larder_check(rig.a));
        commit(kv, 0, 7);
        decommit(kv, 6, 1);
    }
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* Memory that the device does not take back after a wake is released with the
 * region. */
static void kept_contents_are_released_when_the_region_goes(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 32);

    (void)state;
    commit(kv, 0, 6);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_host_free, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder_region_resume(kv));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_free), 0);
    assert_ok(larder_region_destroy(kv));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_free), 1);
    rig_down(&rig);
}

static void sleeping_takes_an_unmapping_for_a_run(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_region *kv = region_of(&rig, 400);

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        commit(kv, i, 1); /* one handle each */
    commit(kv, 200, 50);
    assert_ok(larder_device_reset_counters(rig.dev));
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_DROP));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap), 2);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_release), 101);
    assert_ok(larder_device_reset_counters(rig.dev));
    assert_ok(larder_region_resume(kv));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create), 2);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_set_access), 2);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paused_region_keeps_contents_and_addresses),
        cmocka_unit_test(sleeping_waits_for_its_own_memory_alone),
        cmocka_unit_test(nothing_sleeps_or_wakes_during_a_capture),
        cmocka_unit_test(a_region_above_its_limit_stays_asleep),
        cmocka_unit_test(a_wake_without_memory_leaves_the_region_asleep),
        cmocka_unit_test(a_paused_region_is_destroyed_with_its_allocator),
        cmocka_unit_test(a_pause_that_fails_leaves_the_region_awake),
        cmocka_unit_test(kept_contents_are_released_when_the_region_goes),
        cmocka_unit_test(sleeping_takes_an_unmapping_for_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
