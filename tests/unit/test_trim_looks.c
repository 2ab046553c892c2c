/* test_trim_looks.c - trim_age, pass by pass: unused memory is released by
 * exactly one pass, not earlier and not later.  The test makes the passes
 * itself, without the thread that makes them by the clock. */
#include <stdbool.h>

#include "support/rig.h"

#include "core/entry/handle.h"
#include "core/state/paged.h"
#include "core/state/shard.h"
#include "core/trim/trim.h"

#define PAGED "sim:256MiB"
#define SEGMENTS "sim:256MiB,vmm=off"

static void look(struct rig *rig)
{
    struct allocator *a = handle_allocator(rig->a);
    const struct heap *heap;
    size_t at = 0;

    allocator_lock(a);
    larder__trim_look(a);
    while ((heap = larder__trim_next_heap(a, &at)) != NULL)
        larder__trim_heap(a, heap);
    allocator_unlock(a);
    assert_ok(larder_check(rig->a));
}

/* All held memory stays for `looks` passes and is released by the next. */
static void assert_stays_for(struct rig *rig, int looks)
{
    uint64_t held = rig_reserved(rig);

    assert_true(held > 0);
    for (int i = 0; i < looks; i++) {
        look(rig);
        assert_int_equal(rig_reserved(rig), held);
    }
    look(rig);
    assert_int_equal(rig_reserved(rig), 0);
}

/* The page was in use at the pass before it was freed: it is old at the fourth
 * pass after that one. */
static void pages_are_released_four_passes_after_their_use(void **state)
{
    struct rig rig = rig_up_policy(PAGED, LARDER_POLICY_LARDER, "");
    larder_addr addr = rig_alloc(&rig, MIB(10));

    (void)state;
    look(&rig);
    look(&rig);
    rig_free(&rig, addr);
    assert_stays_for(&rig, TRIM_STEPS - 1);
    rig_down(&rig);
}

/* Used between any two passes. */
static void assert_stays_while_used(struct rig *rig)
{
    rig_free(rig, rig_alloc(rig, MIB(10)));
    for (int i = 0; i < 3 * TRIM_STEPS; i++) {
        look(rig);
        rig_free(rig, rig_alloc(rig, MIB(10)));
        assert_true(rig_reserved(rig) >= MIB(10));
    }
}

/* A use between two passes counts from the earlier one. */
static void a_page_that_is_used_again_is_young(void **state)
{
    struct rig rig = rig_up_policy(PAGED, LARDER_POLICY_LARDER, "");

    (void)state;
    assert_stays_while_used(&rig);
    assert_stays_for(&rig, TRIM_STEPS - 1);
    rig_down(&rig);
}

/* A call on the slow path, as every call is with debug:1, uses its pages too. */
static void a_page_used_on_the_slow_path_is_young(void **state)
{
    struct rig rig = rig_up_policy(PAGED, LARDER_POLICY_LARDER, "debug:1");

    (void)state;
    assert_stays_while_used(&rig);
    rig_down(&rig);
}

/* A segment, or a page of an expandable one, was free for four whole periods:
 * from the first pass after the free to the fourth after that. */
static void check_segments(const char *spec, larder_policy policy,
                           const char *conf)
{
    struct rig rig = rig_up_policy(spec, policy, conf);
    larder_addr addr = rig_alloc(&rig, MIB(10));

    look(&rig);
    rig_free(&rig, addr);
    assert_stays_for(&rig, TRIM_STEPS);
    rig_down(&rig);
}

static void segments_go_after_four_whole_periods(void **state)
{
    (void)state;
    check_segments(SEGMENTS, LARDER_POLICY_LARDER, "");
    check_segments(SEGMENTS, LARDER_POLICY_PYTORCH, "");
    check_segments(PAGED, LARDER_POLICY_PYTORCH, "");
    check_segments(PAGED, LARDER_POLICY_PYTORCH, "expandable_segments:True");
}

/* A pass notices that recorded streams have completed: no other call does. */
static void memory_is_released_once_its_event_completed(void **state)
{
    struct rig rig =
        rig_up_policy(SEGMENTS ",events=manual", LARDER_POLICY_PYTORCH, "");
    larder_addr addr = rig_alloc(&rig, MIB(10));

    (void)state;
    assert_ok(larder_record_stream(rig.a, addr, 1));
    rig_free(&rig, addr);
    look(&rig);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_stays_for(&rig, TRIM_STEPS);
    rig_down(&rig);
}

/* The first pass sees activity, and four see none. */
static void unmapped_pages_are_released_after_idle_passes(void **state)
{
    struct rig rig = rig_up_policy(PAGED, LARDER_POLICY_LARDER, "");
    struct allocator *a = handle_allocator(rig.a);
    larder_addr addr = rig_alloc(&rig, MIB(10));

    (void)state;
    rig_free(&rig, addr);
    allocator_lock(a);
    assert_ok(larder__paged_release_heap(a, a->pools[POOL_LARGE].heaps[0]));
    allocator_unlock(a);
    assert_stays_for(&rig, TRIM_STEPS);
    rig_down(&rig);
}

/* ---- all of them ----------------------------------------------------------- */

/* Both pools of several streams. */
static void fill_streams(struct rig *rig, larder_stream first)
{
    larder_addr p[6];

    for (int i = 0; i < 6; i++)
        p[i] = rig_alloc_on(rig, i % 2 == 0 ? 1000 : MIB(10),
                            first + (larder_stream)i / 2);
    for (int i = 0; i < 6; i++)
        rig_free(rig, p[i]);
}

static void every_stream_s_memory_is_released(void **state)
{
    struct rig pages = rig_up_policy(PAGED, LARDER_POLICY_LARDER, "");
    struct rig segments = rig_up_policy(SEGMENTS, LARDER_POLICY_PYTORCH, "");

    (void)state;
    fill_streams(&pages, 0);
    assert_stays_for(&pages, TRIM_STEPS);
    fill_streams(&segments, 0);
    assert_stays_for(&segments, TRIM_STEPS);
    rig_down(&pages);
    rig_down(&segments);
}

/* Also where passes were made long before there were any. */
static void new_addresses_are_young(void **state)
{
    struct rig rig = rig_up_policy(PAGED, LARDER_POLICY_LARDER, "");
    larder_addr live = rig_alloc(&rig, 1000);
    uint64_t held;

    (void)state;
    for (int i = 0; i < 3 * TRIM_STEPS; i++)
        look(&rig);
    held = rig_reserved(&rig);
    fill_streams(&rig, 5);
    assert_true(rig_reserved(&rig) >= held + MIB(30));
    for (int i = 0; i < TRIM_STEPS; i++) {
        look(&rig);
        assert_true(rig_reserved(&rig) >= held + MIB(30));
    }
    look(&rig);
    assert_int_equal(rig_reserved(&rig), held);
    rig_free(&rig, live);
    rig_down(&rig);
}

/* What is beside it in a segment or page. */
static void memory_beside_live_blocks_stays(void **state)
{
    static const char *const specs[] = {PAGED, SEGMENTS};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig rig = rig_up_policy(
            specs[i / 2],
            i % 2 == 0 ? LARDER_POLICY_PYTORCH : LARDER_POLICY_LARDER, "");
        larder_addr live = rig_alloc(&rig, 1000);
        larder_addr freed = rig_alloc(&rig, 1000);
        uint64_t held = rig_reserved(&rig);

        rig_free(&rig, freed);
        for (int k = 0; k < 3 * TRIM_STEPS; k++)
            look(&rig);
        assert_int_equal(rig_reserved(&rig), held);
        rig_free(&rig, live);
        rig_down(&rig);
    }
}

/* ---- captures -------------------------------------------------------------- */

static bool is_barred(struct rig *rig)
{
    struct allocator *a = handle_allocator(rig->a);
    bool barred;

    allocator_lock(a);
    barred = larder__trim_is_barred(a);
    allocator_unlock(a);
    return barred;
}

static bool is_barred_while_capturing(struct rig *rig, larder_stream stream)
{
    bool barred;

    assert_ok(larder_sim_capture_begin(rig->dev, stream));
    barred = is_barred(rig);
    assert_ok(larder_sim_capture_end(rig->dev, stream));
    assert_false(is_barred(rig));
    return barred;
}

/* Memory of a captured stream may belong to its graph, and an event that is
 * queried there would end the capture. */
static void a_captured_stream_of_ours_bars_all_passes(void **state)
{
    struct rig rig =
        rig_up_policy(SEGMENTS ",events=manual", LARDER_POLICY_PYTORCH, "");
    larder_addr waits = rig_alloc_on(&rig, MIB(10), 2);

    (void)state;
    rig_alloc_on(&rig, 1000, 3);
    rig_alloc_on(&rig, 1000, 4);
    assert_false(is_barred(&rig));
    assert_true(is_barred_while_capturing(&rig, 2));
    assert_true(is_barred_while_capturing(&rig, 3));
    assert_true(is_barred_while_capturing(&rig, 4));
    assert_false(is_barred_while_capturing(&rig, 5));
    assert_ok(larder_record_stream(rig.a, waits, 6));
    assert_ok(larder_record_stream(rig.a, waits, 7));
    assert_false(is_barred_while_capturing(&rig, 6));
    rig_free(&rig, waits);
    assert_true(is_barred_while_capturing(&rig, 6));
    assert_true(is_barred_while_capturing(&rig, 7));
    assert_ok(larder_sim_complete(rig.dev, 6));
    assert_ok(larder_sim_complete(rig.dev, 7));
    look(&rig);
    assert_false(is_barred_while_capturing(&rig, 6));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_released_four_passes_after_their_use),
        cmocka_unit_test(a_page_that_is_used_again_is_young),
        cmocka_unit_test(a_page_used_on_the_slow_path_is_young),
        cmocka_unit_test(segments_go_after_four_whole_periods),
        cmocka_unit_test(memory_is_released_once_its_event_completed),
        cmocka_unit_test(unmapped_pages_are_released_after_idle_passes),
        cmocka_unit_test(every_stream_s_memory_is_released),
        cmocka_unit_test(new_addresses_are_young),
        cmocka_unit_test(memory_beside_live_blocks_stays),
        cmocka_unit_test(a_captured_stream_of_ours_bars_all_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
