/* test_ladder.c - when neither the cache nor the device has room: what the
 * policy larder tries, in which order, and how much of it. */
#include <stdbool.h>

#include "support/clock.h"
#include "support/rig.h"

#define PAGED "sim:64MiB,events=manual"
#define SEGMENTS "sim:64MiB,events=manual,vmm=off"

static const char *const specs[] = {PAGED, SEGMENTS};

static struct rig ladder_up(const char *spec, const char *conf)
{
    return rig_up_pages(spec, LARDER_POLICY_LARDER, conf);
}

static uint64_t events_waited(struct rig *rig)
{
    return rig_calls(rig, LARDER_CALL_event_sync);
}

static void refused(struct rig *rig, uint64_t bytes, const char *words)
{
    assert_no_room(rig, bytes);
    assert_words(words);
}

/* ---- waiting --------------------------------------------------------------- */

/* Four are pending; the first is enough. */
static void only_as_many_events_as_needed_are_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = ladder_up(specs[i], "");

        for (larder_stream s = 1; s <= 4; s++)
            rig_leave_pending(&rig, MIB(14), s);
        rig_alloc(&rig, MIB(12));
        assert_int_equal(events_waited(&rig), 1);
        assert_int_equal(rig_stats(&rig).active_bytes.all.current,
                         MIB(14) * 3 + MIB(12));
        rig_down(&rig);
    }
}

/* If the device refuses again, PyTorch releases the segments, calls the device
 * again, and fails although its pool has a block that would do. */
static void the_pool_is_looked_at_after_each_wait(void **state)
{
    struct rig rig = ladder_up(SEGMENTS, "");

    (void)state;
    for (larder_stream s = 1; s <= 4; s++)
        rig_leave_pending(&rig, MIB(14), s);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 1, 0,
                                 LARDER_ERR_OUT_OF_MEMORY));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_free, 1, 0,
                                 LARDER_ERR_DEVICE));
    rig_alloc(&rig, MIB(14));
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 0, 0, LARDER_OK));
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_mem_free, 0, 0, LARDER_OK));
    rig_down(&rig);
}

/* ---- releasing ----------------------------------------------------------- */

/* Unused memory is not enough: none of it is released while a wait may
 * suffice. */
static void nothing_is_released_while_a_wait_may_suffice(void **state)
{
    struct rig rig = ladder_up(SEGMENTS, "");
    larder_addr p = rig_alloc_on(&rig, MIB(10), 5);

    (void)state;
    rig_alloc(&rig, MIB(30));
    rig_leave_pending(&rig, MIB(20), 1);
    rig_free(&rig, p);
    rig_alloc(&rig, MIB(20));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_int_equal(events_waited(&rig), 1);
    rig_down(&rig);
}

/* ---- refusing at sight ------------------------------------------------------ */

static uint64_t all_calls(struct rig *rig)
{
    larder_device_counters c = rig_counters(rig);
    uint64_t sum = 0;

    for (int i = 0; i < LARDER_CALL_COUNT; i++) {
        if (i != LARDER_CALL_mem_info) /* for the message */
            sum += c.calls[i] + c.failed[i];
    }
    return sum;
}

static void a_hopeless_request_does_not_call_the_driver(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = ladder_up(specs[i], "limit:48MiB");
        larder_addr cached = rig_alloc(&rig, MIB(10));
        uint64_t calls;

        rig_alloc(&rig, MIB(20));
        rig_free(&rig, cached);
        calls = all_calls(&rig);
        refused(&rig, MIB(29), "48.00 MiB allowed");
        refused(&rig, MIB(500), "Why: not enough memory");
        assert_int_equal(all_calls(&rig), calls);
        assert_int_equal(rig_stats(&rig).num_ooms, 2);
        rig_alloc(&rig, MIB(28));
        rig_down(&rig);
    }
}

static void a_refusal_by_the_limit_is_counted(void **state)
{
    struct rig rig =
        ladder_up(PAGED, "limit:48MiB,throw_on_cudamalloc_oom:True");

    (void)state;
    refused(&rig, MIB(50), "48.00 MiB allowed");
    assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
    rig_down(&rig);
}

/* As in PyTorch: what the setting rejects does not count as out of memory. */
static void what_is_rejected_is_counted_apart(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_LARDER,
                                             LARDER_POLICY_PYTORCH};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig rig =
            rig_up_pages(specs[i % 2], policies[i / 2],
                         "limit:48MiB,throw_on_cudamalloc_oom:True");

        assert_no_room(&rig, MIB(50));
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
        assert_int_equal(rig_stats(&rig).num_ooms, 0);
        assert_ok(larder_configure(rig.a, "throw_on_cudamalloc_oom:False"));
        assert_no_room(&rig, MIB(50));
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
        assert_int_equal(rig_stats(&rig).num_ooms, 1);
        rig_down(&rig);
    }
}

/* Though memory that is cached elsewhere would do. */
static void throwing_at_a_limit_releases_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = ladder_up(specs[i], "limit:40MiB,defrag:off,"
                                             "throw_on_cudamalloc_oom:True");

        (void)rig_alloc(&rig, MIB(20));
        rig_free(&rig, rig_alloc_on(&rig, MIB(20), 1));
        refused(&rig, MIB(20), "40.00 MiB allowed");
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
        assert_int_equal(rig_reserved(&rig), MIB(40));
        assert_ok(larder_configure(rig.a, "throw_on_cudamalloc_oom:False"));
        (void)rig_alloc(&rig, MIB(20));
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
        rig_down(&rig);
    }
}

/* 12 MiB below the limit: what waits for a stream is not waited for. */
static void throwing_at_a_limit_waits_for_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig =
            ladder_up(specs[i], "limit:52MiB,throw_on_cudamalloc_oom:True");

        (void)rig_alloc(&rig, MIB(20));
        rig_leave_pending(&rig, MIB(20), 1);
        refused(&rig, MIB(20), "52.00 MiB allowed");
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
        assert_int_equal(events_waited(&rig), 0);
        (void)rig_alloc(&rig, MIB(12));
        assert_ok(larder_configure(rig.a, "throw_on_cudamalloc_oom:False"));
        (void)rig_alloc(&rig, MIB(20));
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 1);
        rig_down(&rig);
    }
}

/* Has what the device lacks then. */
static larder_allocator *take_beside(struct rig *rig, uint64_t bytes)
{
    struct rig other = {.dev = rig->dev};

    assert_ok(larder_create(rig->dev, NULL, &other.a));
    (void)rig_alloc(&other, bytes);
    return other.a;
}

static void throwing_is_for_limits_and_not_for_the_device(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig =
            ladder_up(specs[i], "limit:60MiB,throw_on_cudamalloc_oom:True");
        larder_allocator *other = take_beside(&rig, MIB(24));

        (void)rig_alloc(&rig, MIB(20));
        rig_leave_pending(&rig, MIB(20), 1);
        (void)rig_alloc(&rig, MIB(20));
        assert_int_equal(rig_stats(&rig).num_oom_rejections, 0);
        assert_ok(larder_destroy(other));
        rig_down(&rig);
    }
}

/* What is idle elsewhere needs no memory of the device: 10 MiB of new memory
 * are within the limit, 20 MiB would not be. */
static void a_limit_counts_what_cannot_move_alone(void **state)
{
    struct rig rig =
        ladder_up(PAGED, "limit:50MiB,throw_on_cudamalloc_oom:True");
    larder_allocator *other = take_beside(&rig, MIB(24));

    (void)state;
    (void)rig_alloc(&rig, MIB(20));
    rig_free(&rig, rig_alloc_on(&rig, MIB(10), 2));
    rig_leave_pending(&rig, MIB(10), 1);
    (void)rig_alloc(&rig, MIB(20));
    assert_int_equal(rig_stats(&rig).num_oom_rejections, 0);
    assert_ok(larder_destroy(other));
    rig_down(&rig);
}

static int free_it(void *ctx)
{
    struct rig *rig = ((void **)ctx)[0];
    larder_addr *p = ((void **)ctx)[1];

    if (*p == 0)
        return 0;
    rig_free(rig, *p);
    *p = 0;
    return 1;
}

/* Callbacks come first: what they free may make the request possible. */
static void callbacks_are_asked_before_anything_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = ladder_up(specs[i], "limit:48MiB");
        larder_addr p = rig_alloc(&rig, MIB(40));
        void *ctx[] = {&rig, &p};

        assert_ok(larder_add_reclaim(rig.a, free_it, ctx));
        rig_alloc(&rig, MIB(44));
        assert_int_equal(p, 0);
        rig_down(&rig);
    }
}

/* What a callback does to the private pool {3, 4}, once. */
struct pool_turn {
    struct rig *rig;
    larder_result (*turn)(struct rig *rig);
    int turns;
};

static int turn_pool(void *ctx)
{
    struct pool_turn *t = ctx;

    if (t->turns++ == 0)
        assert_ok(t->turn(t->rig));
    return 0;
}

static larder_result begin_pool(struct rig *rig)
{
    return larder_pool_begin(rig->a, (larder_pool_id){3, 4}, NULL, NULL);
}

static larder_result end_pool(struct rig *rig)
{
    return larder_pool_end(rig->a, (larder_pool_id){3, 4});
}

/* The pool has segments, and the request one of them. */
static void a_pool_may_be_begun_during_a_request(void **state)
{
    struct rig rig = ladder_up(PAGED, "");
    struct pool_turn turn = {&rig, begin_pool, 0};
    larder_addr p;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(4)));
    assert_ok(larder_add_reclaim(rig.a, turn_pool, &turn));
    p = rig_alloc(&rig, MIB(20));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_alloc), 1);
    memset((void *)(uintptr_t)p, 1, MIB(20));
    assert_ok(larder_check(rig.a));
    assert_ok(end_pool(&rig));
    rig_down(&rig);
}

/* The default pool has address ranges without memory. */
static void a_pool_may_be_ended_during_a_request(void **state)
{
    struct rig rig = ladder_up(PAGED, "expandable_segments:True");
    struct pool_turn turn = {&rig, end_pool, 0};
    larder_addr p;

    (void)state;
    rig_alloc(&rig, MIB(4));
    assert_ok(begin_pool(&rig));
    assert_ok(larder_add_reclaim(rig.a, turn_pool, &turn));
    p = rig_alloc(&rig, MIB(20));
    assert_ok(larder_check(rig.a));
    memset((void *)(uintptr_t)p, 1, MIB(20));
    rig_down(&rig);
}

/* ---- garbage ------------------------------------------------------------------ */

/* Beyond the threshold what is cached goes before more is asked for; while a
 * stream is captured it stays. */
static void garbage_is_collected_before_the_device_is_asked(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_PYTORCH,
                                             LARDER_POLICY_LARDER};

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int captures = 0; captures < 2; captures++) {
            struct rig rig = rig_up_pages(SEGMENTS, policies[i],
                                          "garbage_collection_threshold:0.3,"
                                          "per_process_memory_fraction:1.0");

            rig_free(&rig, rig_alloc(&rig, MIB(20)));
            if (captures)
                assert_ok(larder_capture_begin(rig.a));
            (void)rig_alloc(&rig, MIB(24));
            if (captures)
                assert_ok(larder_capture_end(rig.a));
            assert_int_equal(rig_reserved(&rig), captures ? MIB(44) : MIB(24));
            rig_down(&rig);
        }
    }
}

static void garbage_of_all_streams_is_collected(void **state)
{
    enum { STREAMS = 3 };
    struct rig rig = rig_up_pages(SEGMENTS, LARDER_POLICY_PYTORCH,
                                  "garbage_collection_threshold:0.1,"
                                  "per_process_memory_fraction:1.0");
    larder_addr p[STREAMS];

    (void)state;
    for (larder_stream s = 0; s < STREAMS; s++)
        p[s] = rig_alloc_on(&rig, MIB(20), s);
    for (larder_stream s = 0; s < STREAMS; s++)
        rig_free(&rig, p[s]);
    (void)rig_alloc(&rig, MIB(24));
    assert_int_equal(rig_reserved(&rig), MIB(24));
    rig_down(&rig);
}

/* ---- a time budget ---------------------------------------------------------- */

static void a_request_waits_no_longer_than_its_budget(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = ladder_up(specs[i], "reclaim_budget_ms:30");
        uint64_t begin;

        rig_leave_pending(&rig, MIB(40), 1);
        begin = now_ms();
        refused(&rig, MIB(48),
                "Why: reclaim_budget_ms:30 expired. 40.00 MiB was freed, but "
                "recorded streams still used it");
        assert_true(now_ms() - begin >= 30);
        assert_true(now_ms() - begin < 5000);
        assert_int_equal(events_waited(&rig), 0);
        assert_ok(larder_sim_complete(rig.dev, 1));
        rig_alloc(&rig, MIB(48));
        rig_down(&rig);
    }
}

static void the_budget_applies_to_every_policy(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_PYTORCH,
                                             LARDER_POLICY_DIRECT};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig =
            rig_up_pages(PAGED, policies[i], "reclaim_budget_ms:5");

        rig_leave_pending(&rig, MIB(40), 1);
        refused(&rig, MIB(48), "Why: reclaim_budget_ms:5 expired.");
        assert_int_equal(events_waited(&rig), 0);
        assert_ok(larder_sim_complete(rig.dev, 1));
        rig_alloc(&rig, MIB(48));
        rig_down(&rig);
    }
}

/* A producer that runs ahead of its recorded streams is held back: the oldest
 * ones are waited for, and no more of them than the limit requires. */
static void pending_memory_stays_within_its_limit(void **state)
{
    static const larder_policy policies[] = {
        LARDER_POLICY_LARDER, LARDER_POLICY_PYTORCH, LARDER_POLICY_DIRECT};

    (void)state;
    for (int i = 0; i < 6; i++) {
        bool is_limited = i >= 3;
        struct rig rig = rig_up_pages(PAGED, policies[i % 3],
                                      is_limited ? "pending_limit:24MiB" : "");
        larder_addr p;

        for (int n = 0; n < 4; n++)
            rig_leave_pending(&rig, MIB(10), 1);
        /* Each time two may still be pending: the request comes before its
         * free. */
        assert_int_equal(events_waited(&rig), is_limited ? 1 : 0);
        assert_int_equal(rig_stats(&rig).active_bytes.all.current,
                         is_limited ? MIB(30) : MIB(40));
        p = rig_alloc(&rig, MIB(10));
        assert_int_equal(events_waited(&rig), is_limited ? 2 : 0);
        rig_free(&rig, p);
        rig_down(&rig);
    }
}

/* The same where pages do not move. */
static void the_budget_holds_without_moves(void **state)
{
    struct rig rig = ladder_up(PAGED, "reclaim_budget_ms:5,defrag:off");

    (void)state;
    rig_leave_pending(&rig, MIB(40), 1);
    refused(&rig, MIB(48), "Why: reclaim_budget_ms:5 expired.");
    assert_int_equal(events_waited(&rig), 0);
    assert_ok(larder_sim_complete(rig.dev, 1));
    rig_alloc(&rig, MIB(48));
    rig_down(&rig);
}

static void a_budget_of_0_does_not_wait(void **state)
{
    struct rig rig = ladder_up(SEGMENTS, "reclaim_budget_ms:0");

    (void)state;
    rig_leave_pending(&rig, MIB(40), 1);
    refused(&rig, MIB(48), "reclaim_budget_ms:0 expired");
    assert_ok(larder_configure(rig.a, "reclaim_budget_ms:unlimited"));
    rig_alloc(&rig, MIB(48));
    rig_down(&rig);
}

/* ---- pools ------------------------------------------------------------------ */

static void a_pool_s_limit_is_kept(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_LARDER,
                                             LARDER_POLICY_PYTORCH};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_up_pages(PAGED, policies[i], "");
        larder_pool_id id = {3, 4};
        larder_addr p;
        uint64_t calls;

        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        assert_ok(larder_pool_set_limit(rig.a, id, MIB(30)));
        p = rig_alloc(&rig, MIB(20));
        calls = all_calls(&rig);
        refused(&rig, MIB(12), "CUDA out of memory");
        assert_words("private pool (3, 4) holds 20.00 MiB of the 30.00 MiB "
                     "that larder_pool_set_limit() allows");
        assert_int_equal(all_calls(&rig), calls);
        rig_alloc(&rig, MIB(10));
        assert_int_equal(rig_pool_info(&rig, id).reserved_bytes, MIB(30));
        rig_free(&rig, p);
        rig_alloc(&rig, MIB(18)); /* from held memory */
        assert_ok(larder_pool_set_limit(rig.a, id, 0));
        rig_alloc(&rig, MIB(12));
        assert_ok(larder_pool_end(rig.a, id));
        rig_down(&rig);
    }
}

/* Without a cache, and to the end. */
static void a_pool_s_limit_can_be_used_up(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_LARDER,
                                             LARDER_POLICY_DIRECT};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_up_pages(PAGED, policies[i], "");
        larder_pool_id id = {3, 4};

        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        assert_ok(larder_pool_set_limit(rig.a, id, MIB(30)));
        rig_alloc(&rig, MIB(20));
        refused(&rig, MIB(12), "CUDA out of memory");
        rig_alloc(&rig, MIB(6));
        rig_alloc(&rig, MIB(4));
        refused(&rig, MIB(2), "CUDA out of memory");
        assert_int_equal(rig_pool_info(&rig, id).reserved_bytes, MIB(30));
        assert_ok(larder_pool_end(rig.a, id));
        rig_alloc(&rig, MIB(12));
        rig_down(&rig);
    }
}

static void a_pool_says_what_it_holds(void **state)
{
    struct rig rig = ladder_up(PAGED, "");
    larder_pool_id id = {3, 4};
    larder_pool_info info;
    larder_addr p;

    (void)state;
    rig_alloc(&rig, MIB(5));
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_set_limit(rig.a, id, 1),
                   "(3, 4)");
    larder_pool_info_init(&info);
    assert_result(LARDER_ERR_UNKNOWN_POOL,
                  larder_pool_info_get(rig.a, id, &info));
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_alloc(&rig, 1000);
    p = rig_alloc(&rig, MIB(12) - 100);
    rig_free(&rig, p);
    p = rig_alloc(&rig, MIB(2));
    assert_ok(larder_record_stream(rig.a, p, 2));
    rig_free(&rig, p);
    info = rig_pool_info(&rig, id);
    assert_int_equal(info.limit_bytes, 0);
    assert_int_equal(info.segments, 2);
    assert_int_equal(info.reserved_bytes, MIB(14));
    assert_int_equal(info.allocations, 1);
    assert_int_equal(info.allocated_bytes, 1024);
    assert_int_equal(info.active_bytes, 1024 + MIB(2));
    assert_int_equal(info.requested_bytes, 1000 + MIB(2));
    assert_int_equal(info.users, 1);
    assert_int_equal(info.is_begun, 1);
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id));
    assert_int_equal(rig_pool_info(&rig, id).users, 0);
    assert_int_equal(rig_pool_info(&rig, id).is_begun, 0);
    info.size = 0;
    assert_refused(LARDER_ERR_INVALID, larder_pool_info_get(rig.a, id, &info),
                   "larder_pool_info_init()");
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_as_many_events_as_needed_are_waited_for),
        cmocka_unit_test(the_pool_is_looked_at_after_each_wait),
        cmocka_unit_test(nothing_is_released_while_a_wait_may_suffice),
        cmocka_unit_test(a_hopeless_request_does_not_call_the_driver),
        cmocka_unit_test(a_refusal_by_the_limit_is_counted),
        cmocka_unit_test(what_is_rejected_is_counted_apart),
        cmocka_unit_test(throwing_at_a_limit_releases_nothing),
        cmocka_unit_test(throwing_at_a_limit_waits_for_nothing),
        cmocka_unit_test(throwing_is_for_limits_and_not_for_the_device),
        cmocka_unit_test(a_limit_counts_what_cannot_move_alone),
        cmocka_unit_test(callbacks_are_asked_before_anything_is_refused),
        cmocka_unit_test(a_pool_may_be_begun_during_a_request),
        cmocka_unit_test(a_pool_may_be_ended_during_a_request),
        cmocka_unit_test(garbage_is_collected_before_the_device_is_asked),
        cmocka_unit_test(garbage_of_all_streams_is_collected),
        cmocka_unit_test(a_request_waits_no_longer_than_its_budget),
        cmocka_unit_test(the_budget_applies_to_every_policy),
        cmocka_unit_test(pending_memory_stays_within_its_limit),
        cmocka_unit_test(the_budget_holds_without_moves),
        cmocka_unit_test(a_budget_of_0_does_not_wait),
        cmocka_unit_test(a_pool_s_limit_is_kept),
        cmocka_unit_test(a_pool_s_limit_can_be_used_up),
        cmocka_unit_test(a_pool_says_what_it_holds),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
