/* test_carve.c - the larder policy while memory is plentiful: what it takes of
 * free blocks, when it asks about events, and when it stops to be careful. */
#include "../support/rig.h"

#include "core/allocator.h"
#include "core/handle.h"

#define SPEC "sim:1GiB,backing=none,events=manual"

enum { CALM_REQUESTS = 1 << 19 }; /* of supply.c */

static struct rig up(const char *spec)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, "");
}

static uint64_t pages_created(struct rig *rig)
{
    return rig_calls(rig, LARDER_CALL_page_create);
}

static bool is_tight(struct rig *rig)
{
    return handle_allocator(rig->a)->is_tight;
}

/* ---- free blocks ---------------------------------------------------------- */

static void what_lies_free_is_cut_and_merged(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr whole = rig_alloc(&rig, MIB(64));
    uint64_t created = pages_created(&rig);
    larder_addr parts[60];

    (void)state;
    rig_free(&rig, whole);
    for (int i = 0; i < 60; i++) { /* no size twice */
        parts[i] = rig_alloc(&rig, MIB(1) + KIB(i));
        assert_in_range(parts[i], whole, whole + MIB(64) - MIB(1));
        assert_ok(larder_check(rig.a));
    }
    for (int i = 0; i < 60; i++)
        rig_free(&rig, parts[i * 7 % 60]);
    assert_ok(larder_check(rig.a));
    assert_int_equal(rig_alloc(&rig, MIB(64)), whole);
    assert_int_equal(pages_created(&rig), created);
    rig_down(&rig);
}

/* Pages went elsewhere from within a free block, as few more are held than were
 * ever in use: it is no place to cut. */
static void a_block_without_its_pages_is_not_cut(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr first = rig_alloc(&rig, MIB(16));
    larder_addr other;

    (void)state;
    (void)rig_alloc(&rig, MIB(2));
    rig_free(&rig, first);
    other = rig_alloc_on(&rig, MIB(16), 1);
    assert_int_equal(pages_created(&rig), 9);
    assert_false(is_tight(&rig));
    (void)rig_alloc(&rig, MIB(1));
    assert_ok(larder_check(rig.a));
    rig_free(&rig, other);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* ---- events --------------------------------------------------------------- */

static larder_addr used_elsewhere(struct rig *rig, uint64_t bytes)
{
    larder_addr p = rig_alloc(rig, bytes);

    assert_ok(larder_record_stream(rig->a, p, 1));
    rig_free(rig, p);
    assert_ok(larder_sim_complete(rig->dev, 1));
    return p;
}

static void completed_events_are_noticed_before_more_is_taken(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr p;
    uint64_t created;

    (void)state;
    p = used_elsewhere(&rig, MIB(64));
    created = pages_created(&rig);
    assert_int_equal(rig_alloc(&rig, MIB(64)), p);
    assert_int_equal(pages_created(&rig), created);
    rig_down(&rig);
}

static void completed_events_are_noticed_in_time(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    for (int i = 0; i < 2; i++)
        rig_free(&rig, rig_alloc(&rig, 4096));
    (void)used_elsewhere(&rig, MIB(2));
    for (int i = 0; i < 40; i++) /* answered by what is there */
        rig_free(&rig, rig_alloc(&rig, 4096));
    assert_int_equal(rig_stats(&rig).active.all.current, 0);
    rig_down(&rig);
}

/* The device is not asked at each request. */
static void events_are_asked_about_now_and_then(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr p = rig_alloc(&rig, MIB(2));
    uint64_t asked;

    (void)state;
    for (int i = 0; i < 2; i++)
        rig_free(&rig, rig_alloc(&rig, 4096));
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    asked = rig_calls(&rig, LARDER_CALL_event_query);
    for (int i = 0; i < 320; i++)
        rig_free(&rig, rig_alloc(&rig, 4096));
    assert_in_range(rig_calls(&rig, LARDER_CALL_event_query) - asked, 1, 11);
    rig_down(&rig);
}

/* ---- tight and calm ------------------------------------------------------- */

static void requests(struct rig *rig, long count)
{
    for (long i = 0; i < count; i++)
        rig_free(rig, rig_alloc(rig, KIB(4)));
}

static void care_is_taken_until_nothing_grows(void **state)
{
    struct rig rig = up("sim:64MiB,backing=none,events=immediate");

    (void)state;
    (void)rig_alloc(&rig, MIB(30));
    assert_true(is_tight(&rig));
    requests(&rig, CALM_REQUESTS / 2);
    (void)rig_alloc(&rig, MIB(2)); /* it grows: from the beginning again */
    requests(&rig, CALM_REQUESTS);
    assert_true(is_tight(&rig));
    requests(&rig, 3);
    assert_false(is_tight(&rig));
    assert_ok(larder_check(rig.a));
    (void)rig_alloc(&rig, MIB(4));
    assert_true(is_tight(&rig));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void care_is_always_taken_where_little_is_left(void **state)
{
    struct rig rig = up("sim:64MiB,backing=none,events=immediate");

    (void)state;
    (void)rig_alloc(&rig, MIB(44));
    requests(&rig, CALM_REQUESTS + 10);
    assert_true(is_tight(&rig));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_free_is_cut_and_merged),
        cmocka_unit_test(a_block_without_its_pages_is_not_cut),
        cmocka_unit_test(completed_events_are_noticed_before_more_is_taken),
        cmocka_unit_test(completed_events_are_noticed_in_time),
        cmocka_unit_test(events_are_asked_about_now_and_then),
        cmocka_unit_test(care_is_taken_until_nothing_grows),
        cmocka_unit_test(care_is_always_taken_where_little_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
