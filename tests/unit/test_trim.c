/* test_trim.c - larder_trim() releases down to the target and no further, under
 * every policy.  trim_age releases what is unused and keeps what is used, and
 * does nothing while a stream is captured. */
#include <stdbool.h>

#include <larder/pinned.h>

#include "support/clock.h"
#include "support/history_rig.h"

#include "base/host.h"

#define PAGED "sim:256MiB"
#define SEGMENTS "sim:256MiB,vmm=off"
#define MANUAL "events=manual"

static uint64_t trim(struct rig *rig, uint64_t target)
{
    uint64_t before = rig_reserved(rig);
    uint64_t released = 77;

    assert_ok(larder_trim(rig->a, target, &released));
    assert_int_equal(before - rig_reserved(rig), released);
    assert_ok(larder_check(rig->a));
    return released;
}

/* Eight blocks of 10 MiB, freed. */
static void fill_cache(struct rig *rig)
{
    larder_addr p[8];

    for (int i = 0; i < 8; i++)
        p[i] = rig_alloc(rig, MIB(10));
    for (int i = 0; i < 8; i++)
        rig_free(rig, p[i]);
}

/* ---- to a target ----------------------------------------------------------- */

static void check_target(const char *spec, larder_policy policy,
                         const char *conf, uint64_t step)
{
    struct rig rig = rig_up_pages(spec, policy, conf);
    larder_addr live = rig_alloc(&rig, MIB(10));
    uint64_t held;

    memset((void *)(uintptr_t)live, 9, MIB(10));
    fill_cache(&rig);
    assert_true(rig_reserved(&rig) >= MIB(90));
    assert_int_equal(trim(&rig, rig_reserved(&rig)), 0);
    assert_int_equal(rig_stats(&rig).num_trims, 0);
    assert_true(trim(&rig, MIB(55)) > 0);
    held = rig_reserved(&rig);
    assert_in_range(held, step > MIB(55) ? 0 : MIB(55) - step + 1, MIB(55));
    assert_int_equal(rig_stats(&rig).num_trims, 1);
    (void)trim(&rig, 0);
    assert_in_range(rig_reserved(&rig), MIB(10), MIB(10) + step);
    assert_int_equal(((unsigned char *)(uintptr_t)live)[MIB(10) - 1], 9);
    assert_true(rig_stats(&rig).trimmed_bytes >= (int64_t)MIB(80));
    assert_ok(larder_stats_reset_accumulated(rig.a));
    assert_int_equal(rig_stats(&rig).num_trims, 0);
    rig_free(&rig, live);
    rig_down(&rig);
}

static void no_more_is_released_than_the_target_needs(void **state)
{
    (void)state;
    check_target(PAGED, LARDER_POLICY_LARDER, "", MIB(10));
    check_target(SEGMENTS, LARDER_POLICY_LARDER, "", MIB(10));
    check_target(SEGMENTS, LARDER_POLICY_PYTORCH, "", MIB(10));
    check_target(PAGED, LARDER_POLICY_PYTORCH, "", MIB(10));
    check_target(PAGED, LARDER_POLICY_PYTORCH, "expandable_segments:True",
                 MIB(80));
}

/* Small and large memory on several streams; of two unused segments of which
 * either is enough the smaller one goes, whose ever it is. */
static void all_streams_give_up_what_they_cache(void **state)
{
    static const char *const confs[] = {"", "expandable_segments:True"};
    enum { STREAMS = 3 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_up_pages(PAGED, LARDER_POLICY_PYTORCH, confs[i]);
        larder_addr small[STREAMS], large[STREAMS];

        for (larder_stream s = 0; s < STREAMS; s++) {
            small[s] = rig_alloc_on(&rig, 4096, s);
            large[s] = rig_alloc_on(&rig, MIB(10) * (STREAMS - s), s);
        }
        for (larder_stream s = 0; s < STREAMS; s++) {
            rig_free(&rig, small[s]);
            rig_free(&rig, large[s]);
        }
        if (i == 0)
            assert_int_equal(trim(&rig, rig_reserved(&rig) - MIB(9)), MIB(10));
        (void)trim(&rig, 0);
        assert_int_equal(rig_reserved(&rig), 0);
        rig_down(&rig);
    }
}

static void memory_a_stream_may_still_use_stays(void **state)
{
    struct rig rig =
        rig_up_pages(SEGMENTS "," MANUAL, LARDER_POLICY_PYTORCH, "");
    larder_addr p = rig_alloc(&rig, MIB(10));

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 3));
    rig_free(&rig, p);
    assert_int_equal(trim(&rig, 0), 0);
    assert_ok(larder_sim_complete(rig.dev, 3));
    assert_int_equal(trim(&rig, 0), MIB(10));
    rig_down(&rig);
}

static void pools_in_use_keep_their_memory(void **state)
{
    struct rig rig = rig_up_pages(PAGED, LARDER_POLICY_LARDER, "");
    larder_pool_id id = {1, 0};
    larder_addr p;
    uint64_t released = 5;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    p = rig_alloc(&rig, MIB(10));
    rig_free(&rig, p);
    assert_refused(LARDER_ERR_CAPTURING, larder_trim(rig.a, 0, &released),
                   "private pool");
    assert_int_equal(released, 5);
    assert_ok(larder_pool_end(rig.a, id));
    assert_int_equal(trim(&rig, 0), 0);
    assert_ok(larder_pool_release(rig.a, id));
    assert_int_equal(trim(&rig, MIB(10)), 0);
    assert_int_equal(trim(&rig, 0), MIB(10));
    assert_ok(larder_trim(rig.a, 0, NULL));
    assert_result(LARDER_ERR_INVALID, larder_trim(NULL, 0, NULL));
    rig_down(&rig);
}

/* ---- by age ---------------------------------------------------------------- */

enum { PATIENCE_MS = 20000 };

/* Wait for a limited time until no more than `most` is held. */
static void await_reserved(struct rig *rig, uint64_t most)
{
    long waited = 0;

    while (rig_reserved(rig) > most && waited < PATIENCE_MS) {
        nap_ms(5);
        waited += 5;
    }
    if (rig_reserved(rig) > most) {
        print_error("%llu bytes are held still\n",
                    (unsigned long long)rig_reserved(rig));
        fail();
    }
}

static void check_idle(const char *spec, larder_policy policy, const char *conf)
{
    struct rig rig = rig_up_pages(spec, policy, conf);
    larder_addr live = rig_alloc(&rig, MIB(10));

    fill_cache(&rig);
    await_reserved(&rig, MIB(20));
    assert_true(rig_stats(&rig).num_trims > 0);
    assert_true(rig_stats(&rig).trimmed_bytes >= (int64_t)MIB(70));
    rig_free(&rig, live);
    await_reserved(&rig, 0);
    rig_down(&rig);
}

static void unused_memory_is_released(void **state)
{
    (void)state;
    check_idle(PAGED, LARDER_POLICY_LARDER, "trim_age:0.04");
    check_idle(SEGMENTS, LARDER_POLICY_LARDER, "trim_age:0.04");
    check_idle(PAGED, LARDER_POLICY_PYTORCH, "trim_age:0.04");
    check_idle(PAGED, LARDER_POLICY_PYTORCH,
               "trim_age:0.04,expandable_segments:True");
}

/* No call made the thread release it. */
static void what_is_released_by_age_has_no_stack(void **state)
{
    struct rig rig = rig_up_pages(PAGED, LARDER_POLICY_LARDER, "trim_age:0.04");
    larder_history_options opt;
    struct event_text events;

    (void)state;
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_FRAME_POINTERS;
    rig_free(&rig, rig_alloc(&rig, MIB(10)));
    assert_ok(larder_history_start(rig.a, &opt));
    await_reserved(&rig, 0);
    events = events_of(&rig);
    assert_int_equal(events.depth_max, 0);
    rig_down(&rig);
}

/* Allocate 10 MiB for a moment, `times` times.  Returns the longest pause: this
 * program may have to wait for its turn on the CPU. */
static uint64_t use_often(struct rig *rig, int times)
{
    uint64_t last = now_ms();
    uint64_t longest = 0;

    for (int i = 0; i < times; i++) {
        rig_free(rig, rig_alloc(rig, MIB(10)));
        nap_ms(1);
        if (now_ms() - last > longest)
            longest = now_ms() - last;
        last = now_ms();
    }
    return longest;
}

enum { AGE_MS = 200, ATTEMPTS = 20 };

/* Memory used all the time is not allocated again.  If the pauses were long in
 * all attempts, the test says nothing. */
static void assert_stays(struct rig *rig)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        int64_t asked = rig_stats(rig).num_device_alloc;

        if (use_often(rig, 400) >= AGE_MS / 2)
            continue;
        assert_int_equal(rig_stats(rig).num_device_alloc, asked);
        return;
    }
    skip();
}

/* One size is allocated and freed all the time, beside much memory that was
 * used once: the latter is released, and the former is never allocated
 * again. */
static void check_busy(const char *spec, larder_policy policy)
{
    struct rig rig = rig_up_pages(spec, policy, "trim_age:0.2");
    long waited = 0;

    fill_cache(&rig);
    while (rig_reserved(&rig) > MIB(14) && waited++ < PATIENCE_MS)
        (void)use_often(&rig, 1);
    assert_in_range(rig_reserved(&rig), 0, MIB(14));
    assert_stays(&rig);
    rig_down(&rig);
}

static void used_memory_stays(void **state)
{
    (void)state;
    check_busy(PAGED, LARDER_POLICY_LARDER);
    check_busy(SEGMENTS, LARDER_POLICY_PYTORCH);
}

/* Nothing is kept for its size on such a small device, and the passes nearly
 * always find it free. */
static void check_between_passes(const char *conf)
{
    struct rig rig = rig_up_pages("sim:28MiB", LARDER_POLICY_LARDER, conf);

    (void)use_often(&rig, 1);
    assert_stays(&rig);
    await_reserved(&rig, 0);
    rig_down(&rig);
}

static void memory_used_between_passes_stays(void **state)
{
    (void)state;
    check_between_passes("trim_age:0.2");
    /* Not by the fast path. */
    check_between_passes("trim_age:0.2,roundup_power2_divisions:2");
}

static uint64_t failed_queries(struct rig *rig)
{
    larder_device_counters c = {.size = sizeof c};

    assert_ok(larder_device_get_counters(rig->dev, &c));
    return c.failed[LARDER_CALL_event_query];
}

/* Passes run all the time, but do nothing for these reasons. */
static void nothing_is_released_while_a_stream_is_captured(void **state)
{
    struct rig rig = rig_up_pages(PAGED, LARDER_POLICY_LARDER, "trim_age:0.02");
    larder_pool_id id = {1, 0};
    uint64_t held;

    (void)state;
    assert_ok(larder_sim_capture_begin(rig.dev, 0));
    fill_cache(&rig);
    held = rig_reserved(&rig);
    nap_ms(200);
    assert_int_equal(rig_reserved(&rig), held);
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_ok(larder_sim_capture_end(rig.dev, 0));
    nap_ms(200);
    assert_int_equal(rig_reserved(&rig), held);
    assert_ok(larder_pool_end(rig.a, id));
    await_reserved(&rig, 0);
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

/* Freed on another stream than its own, with an event that each pass queries;
 * that is forbidden while the other stream is captured. */
static void check_no_event_is_asked_about(struct rig *rig, larder_addr p,
                                          larder_allocator *a)
{
    uint64_t failed;

    assert_ok(larder_record_stream(a, p, 9));
    assert_ok(larder_free(a, p));
    assert_ok(larder_sim_capture_begin(rig->dev, 9));
    nap_ms(50); /* a pass may be running */
    failed = failed_queries(rig);
    nap_ms(200);
    assert_int_equal(failed_queries(rig), failed);
    assert_ok(larder_sim_capture_end(rig->dev, 9));
}

static void captures_of_recorded_streams_are_respected(void **state)
{
    struct rig rig =
        rig_up_pages(PAGED "," MANUAL, LARDER_POLICY_LARDER, "trim_age:0.02");
    larder_options opt;
    larder_allocator *pinned;
    void *ptr;

    (void)state;
    check_no_event_is_asked_about(&rig, rig_alloc(&rig, MIB(4)), rig.a);
    larder_options_init(&opt);
    opt.conf = "trim_age:0.02";
    assert_ok(larder_pinned_create(rig.dev, &opt, &pinned));
    assert_ok(larder_pinned_alloc(pinned, MIB(4), &ptr));
    check_no_event_is_asked_about(&rig, (uintptr_t)ptr, pinned);
    assert_ok(larder_destroy(pinned));
    rig_down(&rig);
}

static void launched(void *ctx)
{
    (void)ctx;
}

/* Whether events were queried, with any result, more than `times` times each on
 * average. */
static bool are_asked_more_than(struct rig *rig, uint64_t times)
{
    larder_device_counters c = rig_counters(rig);

    return c.calls[LARDER_CALL_event_query] +
               c.failed[LARDER_CALL_event_query] >
           times * c.calls[LARDER_CALL_event_create];
}

/* One event is queried again and again for a while, before the next pass
 * creates another. */
static void a_busy_stream_is_asked_again(void **state)
{
    struct rig rig =
        rig_up_pages(PAGED "," MANUAL, LARDER_POLICY_LARDER, "trim_age:0.02");
    long waited = 0;

    (void)state;
    fill_cache(&rig);
    assert_ok(larder_sim_launch(rig.dev, 0, launched, NULL));
    while (rig_calls(&rig, LARDER_CALL_event_create) == 0 ||
           !are_asked_more_than(&rig, 2)) {
        assert_true(waited++ < PATIENCE_MS);
        nap_ms(1);
    }
    assert_ok(larder_sim_complete(rig.dev, 0));
    rig_down(&rig);
}

/* Pages wait for the stream's work, and nobody waits for them. */
static void a_busy_stream_keeps_its_pages(void **state)
{
    struct rig rig =
        rig_up_pages(PAGED "," MANUAL, LARDER_POLICY_LARDER, "trim_age:0.02");

    (void)state;
    fill_cache(&rig);
    assert_ok(larder_sim_launch(rig.dev, 0, launched, NULL));
    nap_ms(200);
    assert_true(rig_reserved(&rig) >= MIB(80));
    rig_free(&rig, rig_alloc(&rig, MIB(1)));
    assert_ok(larder_sim_complete(rig.dev, 0));
    /* An event is complete only when its stream was run up to it. */
    for (int i = 0; i < 2000 && rig_reserved(&rig) > 0; i++) {
        assert_ok(larder_sim_complete(rig.dev, 0));
        nap_ms(1);
    }
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

static void the_age_can_be_changed_and_ended(void **state)
{
    struct rig rig = rig_up_pages(SEGMENTS, LARDER_POLICY_PYTORCH, "");

    (void)state;
    fill_cache(&rig);
    nap_ms(60);
    assert_int_equal(rig_reserved(&rig), MIB(80));
    assert_ok(larder_configure(rig.a, "trim_age:1000"));
    nap_ms(60);
    assert_int_equal(rig_reserved(&rig), MIB(80));
    assert_ok(larder_configure(rig.a, "trim_age:0.02"));
    await_reserved(&rig, 0);
    assert_ok(larder_configure(rig.a, "trim_age:0"));
    nap_ms(30); /* a pass may be running */
    fill_cache(&rig);
    nap_ms(100);
    assert_int_equal(rig_reserved(&rig), MIB(80));
    rig_down(&rig);
}

/* The other settings of the same call are not set either. */
static void without_a_thread_nothing_is_set(void **state)
{
    struct rig rig = rig_up_pages(SEGMENTS, LARDER_POLICY_LARDER, "");

    (void)state;
    larder__host_fail(1, 1);
    assert_result(LARDER_ERR_NO_HOST_MEMORY,
                  larder_configure(rig.a, "limit:2MiB,history:100,trim_age:9,"
                                          "per_process_memory_fraction:0.01"));
    larder__host_fail(0, 0);
    rig_alloc(&rig, MIB(8));
    assert_ok(larder_configure(rig.a, "limit:2MiB,trim_age:9"));
    rig_down(&rig);
}

static void destroying_ends_the_trim_thread_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        struct rig rig =
            rig_up_pages(PAGED, LARDER_POLICY_LARDER,
                         i % 2 ? "trim_age:3600" : "trim_age:0.004");

        fill_cache(&rig);
        nap_ms(i % 5);
        rig_down(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_is_released_than_the_target_needs),
        cmocka_unit_test(all_streams_give_up_what_they_cache),
        cmocka_unit_test(memory_a_stream_may_still_use_stays),
        cmocka_unit_test(pools_in_use_keep_their_memory),
        cmocka_unit_test(unused_memory_is_released),
        cmocka_unit_test(what_is_released_by_age_has_no_stack),
        cmocka_unit_test(used_memory_stays),
        cmocka_unit_test(memory_used_between_passes_stays),
        cmocka_unit_test(nothing_is_released_while_a_stream_is_captured),
        cmocka_unit_test(captures_of_recorded_streams_are_respected),
        cmocka_unit_test(a_busy_stream_is_asked_again),
        cmocka_unit_test(a_busy_stream_keeps_its_pages),
        cmocka_unit_test(the_age_can_be_changed_and_ended),
        cmocka_unit_test(without_a_thread_nothing_is_set),
        cmocka_unit_test(destroying_ends_the_trim_thread_at_once),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
