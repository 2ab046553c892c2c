/* test_migrate.c - live memory moves to other physical memory, keeping its
 * addresses, before a request fails. */
#include "support/migrate_rig.h"

#include <pthread.h>

#include <larder/share.h>
#include <larder/tag.h>

#define ON "migrate:on"

/* Nothing was moved, and the device was not called to prepare it. */
static void assert_refused_as_ever(struct holes *h, uint64_t bytes)
{
    larder_addr addr = 0;

    assert_ok(larder_device_reset_counters(h->rig.dev));
    assert_result(LARDER_ERR_OUT_OF_MEMORY, holes_ask(h, bytes, &addr));
    assert_int_equal(addr, 0);
    assert_int_equal(rig_calls(&h->rig, LARDER_CALL_copy), 0);
    assert_int_equal(rig_calls(&h->rig, LARDER_CALL_unmap), 0);
    assert_int_equal(rig_calls(&h->rig, LARDER_CALL_page_create), 0);
    assert_int_equal(rig_usage(h->rig.dev).pages, HANDLES);
    assert_ok(larder_check(h->rig.a));
}

static void assert_granted(struct holes *h, uint64_t bytes)
{
    larder_addr addr = 0;

    assert_ok(holes_ask(h, bytes, &addr));
    memset((void *)(uintptr_t)addr, 0xa5, bytes);
    assert_ok(larder_check(h->rig.a));
    holes_verify(h);
}

/* ---- purpose ---------------------------------------------------------------- */

static void all_free_memory_can_be_allocated(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);

    (void)state;
    holes_write(&h);
    assert_granted(&h, HOLES_FREE);
    assert_int_equal(rig_reserved(&h.rig), MIB(2) * HANDLES * HANDLE_PAGES);
    rig_down(&h.rig);
}

static void without_the_setting_nothing_moves(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, "", 0);

    (void)state;
    assert_refused_as_ever(&h, MIB(2));
    rig_down(&h.rig);
}

/* As few handles as necessary. */
static void no_more_moves_than_is_lacking(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);

    (void)state;
    holes_write(&h);
    assert_granted(&h, MIB(2) * (HANDLE_PAGES - 1));
    assert_int_equal(rig_calls(&h.rig, LARDER_CALL_page_release), 1);
    assert_granted(&h, MIB(2) * (HANDLE_PAGES + 1));
    assert_int_equal(rig_calls(&h.rig, LARDER_CALL_page_release), 3);
    rig_down(&h.rig);
}

static void handles_with_the_most_free_pages_move_first(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);

    (void)state;
    for (int i = 0; i < 5; i++)
        (void)rig_alloc_on(&h.rig, MIB(2), LIVE_STREAM);
    holes_write(&h);
    assert_granted(&h, MIB(2) * (HANDLE_PAGES - 1));
    assert_int_equal(rig_calls(&h.rig, LARDER_CALL_page_release), 1);
    assert_granted(&h, HOLES_FREE - MIB(2) * (HANDLE_PAGES - 1 + 5));
    rig_down(&h.rig);
}

/* Both ways: the first handle can only go to the host; with room for one page
 * beyond what is held, none goes there. */
static void the_host_is_used_only_where_there_is_no_room(void **state)
{
    struct holes tight = holes_up(MIGRATE_SPEC, ON, 0);
    struct holes roomy = holes_up(MIGRATE_SPEC, ON, MIB(2));
    uint64_t before = rig_calls(&tight.rig, LARDER_CALL_address_reserve);

    (void)state;
    holes_write(&tight);
    holes_write(&roomy);
    assert_granted(&tight, MIB(14));
    assert_granted(&roomy, MIB(16));
    assert_int_equal(rig_calls(&tight.rig, LARDER_CALL_copy), 2);
    assert_int_equal(rig_calls(&roomy.rig, LARDER_CALL_copy), 1);
    /* The other stream's range, and one to copy at. */
    assert_int_equal(rig_calls(&roomy.rig, LARDER_CALL_address_reserve),
                     before + 2);
    assert_int_equal(rig_usage(roomy.rig.dev).reservations, before + 1);
    rig_down(&tight.rig);
    rig_down(&roomy.rig);
}

/* One copy per handle, however many of its pages; the first, for which there is
 * no room, to the host and back. */
static void pages_side_by_side_are_copied_at_once(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);
    larder_addr beside = rig_alloc_on(&h.rig, MIB(6), LIVE_STREAM);

    (void)state;
    assert_int_equal(beside + MIB(6), h.live[0]);
    holes_write(&h);
    assert_granted(&h, HOLES_FREE - MIB(6));
    assert_int_equal(rig_calls(&h.rig, LARDER_CALL_copy), HANDLES + 1);
    rig_down(&h.rig);
}

/* Even where a handle has but one page that is free. */
static void one_free_page_of_each_handle_is_gained(void **state)
{
    struct holes h = {
        .rig = rig_up_policy(MIGRATE_SPEC, LARDER_POLICY_LARDER, MIGRATE_CONF)};
    larder_addr all[HANDLES * HANDLE_PAGES];

    (void)state;
    for (int i = 0; i < HANDLES * HANDLE_PAGES; i++)
        all[i] = rig_alloc_on(&h.rig, MIB(2), LIVE_STREAM);
    for (int i = 0; i < HANDLES; i++) {
        rig_free(&h.rig, all[i * HANDLE_PAGES + 5]);
        h.live[i] = all[i * HANDLE_PAGES + 4];
    }
    holes_limit(&h, 0);
    assert_ok(larder_configure(h.rig.a, ON));
    holes_write(&h);
    assert_granted(&h, MIB(2) * HANDLES);
    rig_down(&h.rig);
}

/* What holds work back: how often it did, and whether it does now. */
struct holder {
    int asked;
    int is_held;
    larder_result answer;
};

static larder_result hold(void *ctx)
{
    struct holder *h = ctx;

    h->asked++;
    h->is_held += h->answer == LARDER_OK;
    return h->answer;
}

static void release(void *ctx)
{
    struct holder *h = ctx;

    h->is_held--;
}

/* It is asked once, and only where moving serves the request. */
static void a_guard_is_asked_when_a_move_would_serve(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, "", 0);
    struct holder who = {.answer = LARDER_OK};
    larder_addr got;

    (void)state;
    assert_result(LARDER_ERR_INVALID,
                  larder_migrate_guard(h.rig.a, hold, NULL, &who));
    assert_ok(larder_migrate_guard(h.rig.a, hold, release, &who));
    holes_write(&h);
    rig_free(&h.rig, rig_alloc_on(&h.rig, MIB(2), LIVE_STREAM));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(h.rig.a, GIB(1), OTHER_STREAM, &got));
    assert_int_equal(who.asked, 0);
    assert_granted(&h, HOLES_FREE - MIB(2));
    assert_int_equal(who.asked, 1);
    assert_int_equal(who.is_held, 0);
    rig_down(&h.rig);
}

static void nothing_moves_where_the_guard_refuses_or_is_not_wanted(void **state)
{
    static const char *const confs[] = {"", "migrate:off"};

    (void)state;
    for (int i = 0; i < 3; i++) { /* refuses; the setting; is gone */
        struct holes h = holes_up(MIGRATE_SPEC, confs[i == 1], 0);
        struct holder who = {.answer =
                                 i == 0 ? LARDER_ERR_CAPTURING : LARDER_OK};
        larder_addr got;

        assert_ok(larder_migrate_guard(h.rig.a, hold, release, &who));
        if (i == 2)
            assert_ok(larder_migrate_guard(h.rig.a, NULL, NULL, NULL));
        assert_result(
            LARDER_ERR_OUT_OF_MEMORY,
            larder_alloc(h.rig.a, HOLES_FREE - MIB(2), OTHER_STREAM, &got));
        assert_int_equal(who.asked, i == 0);
        assert_int_equal(who.is_held, 0);
        assert_int_equal(rig_calls(&h.rig, LARDER_CALL_copy), 0);
        rig_down(&h.rig);
    }
}

static void moved_memory_can_be_freed_and_allocated_again(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);

    (void)state;
    holes_write(&h);
    assert_granted(&h, HOLES_FREE - MIB(2));
    for (int i = 0; i < HANDLES; i++)
        rig_free(&h.rig, h.live[i]);
    assert_ok(larder_check(h.rig.a));
    (void)rig_alloc_on(&h.rig, MIB(2) * (HANDLES + 1), OTHER_STREAM);
    assert_ok(larder_check(h.rig.a));
    rig_down(&h.rig);
}

/* Blocks that share pages, and blocks across handles. */
static void small_and_long_blocks_keep_their_bytes(void **state)
{
    struct rig rig = rig_up_policy("sim:40GiB,context=0", LARDER_POLICY_LARDER,
                                   MIGRATE_CONF "," ON);
    enum { COUNT = 60 };
    struct holes h = {.rig = rig};
    larder_addr at[COUNT];
    larder_addr got;

    (void)state;
    for (int i = 0; i < COUNT; i++)
        at[i] = rig_alloc(&rig, MIB(1) + KIB(512) * (uint64_t)(i % 7));
    holes_limit(&h, 0);
    for (int i = 0; i < COUNT; i++) {
        if (i % 5 != 0)
            rig_free(&rig, at[i]);
        else
            memset((void *)(uintptr_t)at[i], i, MIB(1));
    }
    assert_ok(larder_alloc(rig.a, MIB(90), OTHER_STREAM, &got));
    memset((void *)(uintptr_t)got, 0xff, MIB(90));
    assert_ok(larder_check(rig.a));
    assert_true(rig_calls(&rig, LARDER_CALL_copy) > 0);
    for (int i = 0; i < COUNT; i += 5) {
        for (uint64_t k = 0; k < MIB(1); k += 4096)
            assert_int_equal(((unsigned char *)(uintptr_t)at[i])[k], i);
    }
    rig_down(&rig);
}

/* ---- when moves are safe ---------------------------------------------------- */

static void a_move_waits_for_queued_work(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC ",events=manual", ON, MIB(2));
    larder_addr got;

    (void)state;
    for (int i = 0; i < HANDLES; i++) {
        larder_stream stream = (larder_stream)(i % 2 == 0 ? LIVE_STREAM : 7);

        if (i % 2 != 0)
            assert_ok(larder_record_stream(h.rig.a, h.live[i], stream));
        assert_ok(larder_device_fill(h.rig.dev, h.live[i],
                                     (unsigned char)(i + 1), MIB(2), stream));
    }
    assert_ok(holes_ask(&h, HOLES_FREE, &got));
    for (int i = 0; i < HANDLES; i++)
        assert_int_equal(*(unsigned char *)(uintptr_t)h.live[i], i + 1);
    assert_ok(larder_check(h.rig.a));
    rig_down(&h.rig);
}

/* No one declared this stream, which breaks the promise of migrate:on. */
static void a_move_under_undeclared_work_is_reported(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC ",events=manual", ON, MIB(2));
    larder_addr got;

    (void)state;
    holes_write(&h);
    assert_ok(larder_device_fill(h.rig.dev, h.live[1], 1, MIB(2), 7));
    assert_ok(holes_ask(&h, HOLES_FREE, &got));
    assert_refused(LARDER_ERR_DEVICE, larder_sim_complete(h.rig.dev, 7),
                   "mapped to other pages");
    holes_verify(&h);
    rig_down(&h.rig);
}

static void nothing_moves_if_it_would_not_suffice(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);

    (void)state;
    assert_refused_as_ever(&h, HOLES_FREE + MIB(2));
    rig_down(&h.rig);
}

static void pages_that_stay_by_setting_stay(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON ",defrag:off", 0);
    larder_addr addr;

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY, holes_ask(&h, MIB(8), &addr));
    assert_int_equal(rig_calls(&h.rig, LARDER_CALL_copy), 0);
    rig_down(&h.rig);
}

static void nothing_moves_during_a_capture(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, ON, 0);
    larder_addr addr;

    (void)state;
    holes_write(&h);
    assert_ok(larder_capture_begin(h.rig.a));
    assert_refused_as_ever(&h, MIB(8));
    assert_ok(larder_capture_end(h.rig.a));
    assert_ok(larder_sim_capture_begin(h.rig.dev, 9));
    assert_result(LARDER_ERR_OUT_OF_MEMORY, holes_ask(&h, MIB(8), &addr));
    assert_int_equal(rig_calls(&h.rig, LARDER_CALL_copy), 0);
    assert_ok(larder_sim_capture_end(h.rig.dev, 9));
    assert_granted(&h, MIB(8));
    rig_down(&h.rig);
}

/* One handle is pinned by an export, the others are not. */
static void exported_memory_does_not_move(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC ",export=fd", ON, 0);
    larder_export *e;

    (void)state;
    holes_write(&h);
    assert_ok(larder_export_open(h.rig.a, h.live[2], &e));
    assert_refused_as_ever(&h, HOLES_FREE);
    assert_granted(&h, HOLES_FREE - MIB(2) * (HANDLE_PAGES - 1));
    assert_ok(larder_export_close(e));
    assert_granted(&h, MIB(2) * (HANDLE_PAGES - 1));
    rig_down(&h.rig);
}

static void private_and_paused_memory_stays(void **state)
{
    static const larder_pool_id pool = {7, 0};
    struct holes h = holes_up(MIGRATE_SPEC, "", MIB(40));
    larder_addr in_pool;

    (void)state;
    holes_write(&h);
    assert_ok(larder_pool_begin(h.rig.a, pool, NULL, NULL));
    in_pool = rig_alloc(&h.rig, MIB(3));
    memset((void *)(uintptr_t)in_pool, 0x3c, MIB(3));
    assert_ok(larder_pool_end(h.rig.a, pool));
    assert_ok(larder_tag_begin(h.rig.a, "weights"));
    (void)rig_alloc(&h.rig, MIB(2));
    assert_ok(larder_tag_end(h.rig.a));
    assert_ok(larder_pause(h.rig.a, "weights", LARDER_PAUSE_KEEP));
    holes_limit(&h, 0);
    assert_ok(larder_configure(h.rig.a, ON));
    assert_granted(&h, HOLES_FREE);
    assert_int_equal(*(unsigned char *)(uintptr_t)in_pool, 0x3c);
    assert_ok(larder_check(h.rig.a));
    rig_down(&h.rig);
}

/* ---- quiet points ------------------------------------------------------------ */

static void *end_elsewhere(void *handle)
{
    assert_ok(larder_migrate_end(handle));
    return NULL;
}

static void a_quiet_point_allows_moves_until_the_last_ends(void **state)
{
    struct holes h = holes_up(MIGRATE_SPEC, "", 0);
    pthread_t thread;

    (void)state;
    holes_write(&h);
    assert_ok(larder_migrate_begin(h.rig.a));
    assert_ok(larder_migrate_begin(h.rig.a));
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, h.rig.a), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_granted(&h, MIB(2) * (HANDLE_PAGES - 1));
    assert_ok(larder_migrate_end(h.rig.a));
    assert_ok(larder_device_reset_counters(h.rig.dev));
    {
        larder_addr addr;

        assert_result(LARDER_ERR_OUT_OF_MEMORY, holes_ask(&h, MIB(8), &addr));
        assert_int_equal(rig_calls(&h.rig, LARDER_CALL_copy), 0);
    }
    rig_down(&h.rig);
}

static void an_end_without_a_beginning_is_refused(void **state)
{
    struct rig rig = rig_up_policy("sim:64MiB", LARDER_POLICY_PYTORCH, "");

    (void)state;
    assert_refused(LARDER_ERR_INVALID, larder_migrate_end(rig.a),
                   "larder_migrate_begin");
    assert_ok(larder_migrate_begin(rig.a));
    assert_ok(larder_migrate_end(rig.a));
    assert_result(LARDER_ERR_INVALID, larder_migrate_end(rig.a));
    assert_result(LARDER_ERR_INVALID, larder_migrate_begin(NULL));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_free_memory_can_be_allocated),
        cmocka_unit_test(without_the_setting_nothing_moves),
        cmocka_unit_test(no_more_moves_than_is_lacking),
        cmocka_unit_test(handles_with_the_most_free_pages_move_first),
        cmocka_unit_test(the_host_is_used_only_where_there_is_no_room),
        cmocka_unit_test(pages_side_by_side_are_copied_at_once),
        cmocka_unit_test(one_free_page_of_each_handle_is_gained),
        cmocka_unit_test(a_guard_is_asked_when_a_move_would_serve),
        cmocka_unit_test(
            nothing_moves_where_the_guard_refuses_or_is_not_wanted),
        cmocka_unit_test(moved_memory_can_be_freed_and_allocated_again),
        cmocka_unit_test(small_and_long_blocks_keep_their_bytes),
        cmocka_unit_test(a_move_waits_for_queued_work),
        cmocka_unit_test(a_move_under_undeclared_work_is_reported),
        cmocka_unit_test(nothing_moves_if_it_would_not_suffice),
        cmocka_unit_test(pages_that_stay_by_setting_stay),
        cmocka_unit_test(nothing_moves_during_a_capture),
        cmocka_unit_test(exported_memory_does_not_move),
        cmocka_unit_test(private_and_paused_memory_stays),
        cmocka_unit_test(a_quiet_point_allows_moves_until_the_last_ends),
        cmocka_unit_test(an_end_without_a_beginning_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
