/* test_pools_checkpoint.c - a private pool is restored exactly to a saved
 * state: every segment, every block. */
#include "support/rig.h"

#define SPEC "sim:1GiB,backing=none,events=manual"

static const larder_pool_id pool = {1, 0};

enum { LIVE_MAX = 64 };

/* Allocations of the pool, and those a restore reports. */
struct addrs {
    larder_addr list[LIVE_MAX];
    size_t count;
};

static larder_addr alloc(struct rig *rig, uint64_t bytes)
{
    return rig_alloc_in(rig, pool, bytes, 0);
}

static larder_checkpoint *take_checkpoint(struct rig *rig)
{
    larder_checkpoint *cp = NULL;

    assert_ok(larder_checkpoint_take(rig->a, pool, &cp));
    assert_non_null(cp);
    return cp;
}

static int compare_addr(const void *a, const void *b)
{
    larder_addr x = *(const larder_addr *)a;
    larder_addr y = *(const larder_addr *)b;

    return x < y ? -1 : x > y;
}

/* Restore; sorts what it reports. */
static void restore(struct rig *rig, const larder_checkpoint *cp,
                    struct addrs *freed, struct addrs *created)
{
    assert_ok(larder_checkpoint_restore(rig->a, cp, freed->list, LIVE_MAX,
                                        &freed->count, created->list, LIVE_MAX,
                                        &created->count));
    assert_ok(larder_check(rig->a));
    qsort(freed->list, freed->count, sizeof freed->list[0], compare_addr);
    qsort(created->list, created->count, sizeof created->list[0], compare_addr);
}

static int add_live(void *ctx, const larder_segment_info *segment,
                    const larder_block_info *block)
{
    struct addrs *live = ctx;

    if (segment->pool.first == pool.first &&
        block->state == LARDER_BLOCK_ALLOCATED) {
        assert_true(live->count < LIVE_MAX);
        live->list[live->count++] = block->addr;
    }
    return 0;
}

/* In address order. */
static struct addrs live_in_pool(struct rig *rig)
{
    struct addrs live = {.count = 0};

    assert_ok(larder_walk(rig->a, NULL, add_live, &live));
    return live;
}

static void assert_same_addrs(const struct addrs *a, const struct addrs *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->list, b->list, a->count * sizeof a->list[0]);
}

/* All blocks equal those of `before`, which is freed. */
#define assert_same_blocks(rig, before)                                        \
    rig_same_picture((before), picture_blocks(rig), __FILE__, __LINE__)

/* Restoring recreates the blocks of `then`, which is freed, and reports what it
 * freed and created. */
static void assert_restores(struct rig *rig, const larder_checkpoint *cp,
                            struct picture then, const struct addrs *live_then)
{
    struct addrs live_before = live_in_pool(rig);
    struct addrs freed;
    struct addrs created;

    restore(rig, cp, &freed, &created);
    assert_same_addrs(&freed, &live_before);
    assert_same_addrs(&created, live_then);
    assert_same_blocks(rig, then);
}

/* ---- exact -------------------------------------------------------------- */

/* A pool with blocks of both kinds on two streams, some freed again: holes at
 * the beginning, in the middle and at the end of segments. */
static struct addrs furnish(struct rig *rig)
{
    larder_addr p[12];

    for (size_t i = 0; i < 6; i++) /* one of a single byte stays */
        p[i] = rig_alloc_in(rig, pool, 1 + 1000 * ((i + 5) % 6), i % 2);
    for (size_t i = 6; i < 12; i++)
        p[i] = rig_alloc_in(rig, pool, MIB(i - 4) + 700, i % 2);
    for (size_t i = 0; i < 12; i += 3)
        rig_free(rig, p[i]);
    return live_in_pool(rig);
}

/* Change the pool with `change`, restore, and check that all is as before. */
static void check_after(const char *conf,
                        void (*change)(struct rig *, const struct addrs *))
{
    struct rig rig = rig_up(SPEC, conf);
    struct addrs live = furnish(&rig);
    larder_checkpoint *cp = take_checkpoint(&rig);
    struct picture then = picture_blocks(&rig);

    change(&rig, &live);
    assert_restores(&rig, cp, then, &live);
    for (size_t i = 0; i < live.count; i++)
        rig_free(&rig, live.list[i]);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

static void change_nothing(struct rig *rig, const struct addrs *live)
{
    (void)rig;
    (void)live;
}

static void free_one(struct rig *rig, const struct addrs *live)
{
    rig_free(rig, live->list[live->count / 2]);
}

static void free_all(struct rig *rig, const struct addrs *live)
{
    for (size_t i = 0; i < live->count; i++)
        rig_free(rig, live->list[i]);
}

static void fill_holes(struct rig *rig, const struct addrs *live)
{
    (void)live;
    for (size_t i = 0; i < 4; i++) {
        rig_alloc_in(rig, pool, 700, i % 2);
        rig_alloc_in(rig, pool, MIB(2), i % 2);
    }
}

static void cut_otherwise(struct rig *rig, const struct addrs *live)
{
    free_all(rig, live);
    for (size_t i = 0; i < 8; i++)
        rig_alloc_in(rig, pool, 900 * (i + 1), i % 2);
    for (size_t i = 0; i < 5; i++)
        rig_alloc_in(rig, pool, MIB(3) + 1000 * i, i % 2);
}

static void check_everywhere(void (*change)(struct rig *, const struct addrs *))
{
    check_after("", change);
    check_after("expandable_segments:True", change);
    check_after("expandable_segments:True,pytorch:2.8", change);
}

static void restoring_at_once_changes_nothing(void **state)
{
    (void)state;
    check_everywhere(change_nothing);
}

static void a_block_freed_since_is_live_again(void **state)
{
    (void)state;
    check_everywhere(free_one);
}

static void a_pool_emptied_since_is_full_again(void **state)
{
    (void)state;
    check_everywhere(free_all);
}

static void blocks_allocated_after_the_checkpoint_are_freed(void **state)
{
    (void)state;
    check_everywhere(fill_holes);
}

static void segments_split_since_are_split_as_before(void **state)
{
    (void)state;
    check_everywhere(cut_otherwise);
}

static void a_hole_in_the_middle_comes_back(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p[3];
    larder_checkpoint *cp;
    struct picture then;
    struct addrs live;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        p[i] = alloc(&rig, 4096);
    rig_free(&rig, p[1]);
    live = live_in_pool(&rig);
    then = picture_blocks(&rig);
    cp = take_checkpoint(&rig);
    assert_int_equal(alloc(&rig, 4096), p[1]);
    rig_free(&rig, p[0]);
    assert_restores(&rig, cp, then, &live);
    assert_int_equal(alloc(&rig, 4096), p[1]);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

/* A segment allocated later stays in the pool, with nothing live in it. */
static void a_segment_added_since_stays_and_is_free(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc(&rig, 4096);
    larder_checkpoint *cp = take_checkpoint(&rig);
    larder_addr later = alloc(&rig, MIB(30));
    struct addrs freed;
    struct addrs created;

    (void)state;
    restore(&rig, cp, &freed, &created);
    assert_int_equal(freed.count, 2);
    assert_int_equal(created.count, 1);
    assert_int_equal(created.list[0], p);
    assert_int_equal(rig_reserved(&rig), MIB(2) + MIB(30));
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, later));
    assert_int_equal(alloc(&rig, MIB(30)), later);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

static void a_checkpoint_can_be_restored_many_times(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct addrs live = furnish(&rig);
    larder_checkpoint *cp = take_checkpoint(&rig);
    larder_checkpoint *empty;

    (void)state;
    free_all(&rig, &live);
    empty = take_checkpoint(&rig);
    for (int i = 0; i < 3; i++) {
        struct addrs freed;
        struct addrs created;

        restore(&rig, cp, &freed, &created);
        assert_same_addrs(&created, &live);
        fill_holes(&rig, &live);
        restore(&rig, empty, &freed, &created);
        assert_int_equal(created.count, 0);
        assert_int_equal(rig_stats(&rig).active.all.current, 0);
    }
    larder_checkpoint_destroy(cp);
    larder_checkpoint_destroy(empty);
    rig_down(&rig);
}

/* Sizes and live memory count as before; restored allocations count as new. */
static void current_statistics_come_back(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct addrs live = furnish(&rig);
    larder_checkpoint *cp = take_checkpoint(&rig);
    larder_stats then = rig_stats(&rig);
    larder_stats now;
    struct addrs freed;
    struct addrs created;

    (void)state;
    cut_otherwise(&rig, &live);
    restore(&rig, cp, &freed, &created);
    now = rig_stats(&rig);
    assert_int_equal(now.allocation.all.current, then.allocation.all.current);
    assert_int_equal(now.allocated_bytes.small_pool.current,
                     then.allocated_bytes.small_pool.current);
    assert_int_equal(now.allocated_bytes.large_pool.current,
                     then.allocated_bytes.large_pool.current);
    assert_int_equal(now.active_bytes.all.current,
                     then.active_bytes.all.current);
    assert_int_equal(now.requested_bytes.all.current,
                     then.requested_bytes.all.current);
    assert_int_equal(now.inactive_split.all.current,
                     then.inactive_split.all.current);
    assert_int_equal(now.inactive_split_bytes.all.current,
                     then.inactive_split_bytes.all.current);
    assert_int_equal(now.allocation.all.allocated - now.allocation.all.freed,
                     now.allocation.all.current);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

static void memory_outside_of_the_pool_is_left_alone(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr outside = rig_alloc(&rig, 4096);
    larder_checkpoint *cp;
    struct addrs freed;
    struct addrs created;

    (void)state;
    alloc(&rig, 4096);
    cp = take_checkpoint(&rig);
    rig_free(&rig, outside);
    outside = rig_alloc(&rig, MIB(2));
    restore(&rig, cp, &freed, &created);
    assert_int_equal(freed.count, 1);
    rig_free(&rig, outside);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

static void restoring_works_while_the_pool_is_begun(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct addrs live = furnish(&rig);
    larder_checkpoint *cp = take_checkpoint(&rig);
    struct picture then = picture_blocks(&rig);

    (void)state;
    assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
    rig_free(&rig, live.list[0]);
    rig_alloc(&rig, 512);
    assert_restores(&rig, cp, then, &live);
    assert_ok(larder_pool_end(rig.a, pool));
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

/* ---- what is reported --------------------------------------------------- */

static void short_arrays_are_filled_and_counts_are_whole(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr list[2] = {0, 1234};
    larder_checkpoint *cp;
    size_t freed = 0;
    size_t created = 0;

    (void)state;
    for (int i = 0; i < 3; i++)
        alloc(&rig, 4096);
    cp = take_checkpoint(&rig);
    assert_ok(larder_checkpoint_restore(rig.a, cp, list, 1, &freed, NULL, 0,
                                        &created));
    assert_int_equal(freed, 3);
    assert_int_equal(created, 3);
    assert_int_not_equal(list[0], 0);
    assert_int_equal(list[1], 1234);
    assert_ok(
        larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL));
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

/* ---- refusals ----------------------------------------------------------- */

static void unknown_pools_and_missing_arguments_are_refused(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_checkpoint *cp = NULL;
    int same = 7;

    (void)state;
    assert_result(LARDER_ERR_UNKNOWN_POOL,
                  larder_checkpoint_take(rig.a, pool, &cp));
    assert_null(cp);
    assert_result(LARDER_ERR_INVALID,
                  larder_checkpoint_take(rig.a, pool, NULL));
    assert_result(
        LARDER_ERR_INVALID,
        larder_checkpoint_restore(rig.a, NULL, NULL, 0, NULL, NULL, 0, NULL));
    assert_result(LARDER_ERR_UNKNOWN_POOL,
                  larder_pool_live_is(rig.a, pool, NULL, 0, &same));
    assert_int_equal(same, 7);
    larder_checkpoint_destroy(NULL);
    rig_down(&rig);
}

static void a_checkpoint_of_a_vanished_pool_is_refused(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc(&rig, 4096);
    larder_checkpoint *cp = take_checkpoint(&rig);
    struct picture before;

    (void)state;
    rig_free(&rig, p);
    assert_ok(larder_pool_release(rig.a, pool));
    assert_ok(larder_empty_cache(rig.a));
    before = picture_take(&rig);
    assert_result(
        LARDER_ERR_UNKNOWN_POOL,
        larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL));
    assert_unchanged(&rig, before);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

/* The pool has the same name, but its memory was released in between. */
static void a_checkpoint_whose_segment_is_gone_is_refused(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc(&rig, MIB(4));
    larder_checkpoint *cp = take_checkpoint(&rig);
    struct picture before;

    (void)state;
    rig_free(&rig, p);
    assert_ok(larder_pool_release(rig.a, pool));
    assert_ok(larder_empty_cache(rig.a));
    alloc(&rig, 4096);
    before = picture_take(&rig);
    assert_result(
        LARDER_ERR_INVALID,
        larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL));
    assert_unchanged(&rig, before);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

/* Whichever of several it is. */
static void each_segment_of_a_checkpoint_is_looked_for(void **state)
{
    enum { SEGMENTS = 4 };

    (void)state;
    for (int gone = 0; gone < SEGMENTS; gone++) {
        struct rig rig = rig_up(SPEC, "");
        larder_checkpoint *cp;
        struct picture before;
        larder_addr at[SEGMENTS];
        char words[64];

        for (int i = 0; i < SEGMENTS; i++)
            at[i] = alloc(&rig, MIB(12));
        cp = take_checkpoint(&rig);
        rig_free(&rig, at[gone]);
        for (int i = 0; i < SEGMENTS; i++)
            assert_ok(larder_pool_release(rig.a, pool));
        assert_ok(larder_empty_cache(rig.a));
        before = picture_take(&rig);
        (void)snprintf(words, sizeof words,
                       "the segment at 0x%llx no longer belongs to the pool",
                       (unsigned long long)at[gone]);
        assert_refused(
            LARDER_ERR_INVALID,
            larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL),
            words);
        assert_unchanged(&rig, before);
        larder_checkpoint_destroy(cp);
        rig_down(&rig);
    }
}

/* ---- pages ------------------------------------------------------------------ */

/* Three blocks of the pool in one expandable segment. */
struct pages {
    struct rig rig;
    larder_addr at[3];
};

static struct pages pages_up(void)
{
    struct pages p = {.rig = rig_up_policy("sim:200MiB,backing=none",
                                           LARDER_POLICY_LARDER,
                                           "expandable_segments:True")};

    for (int i = 0; i < 3; i++) {
        assert_ok(larder_pool_begin(p.rig.a, pool, NULL, NULL));
        assert_ok(larder_pool_set_lending(p.rig.a, pool, 1));
        p.at[i] = rig_alloc_on(&p.rig, MIB(40), 0);
        assert_ok(larder_pool_end(p.rig.a, pool));
    }
    return p;
}

/* Have the pool lose the pages of its free memory. */
static void borrow_pages(struct pages *p)
{
    larder_addr big = rig_alloc(&p->rig, MIB(110));

    assert_int_equal(rig_pool_info(&p->rig, pool).reserved_bytes, MIB(80));
    rig_free(&p->rig, big);
    assert_ok(larder_empty_cache(p->rig.a));
}

static void assert_three(struct pages *p, const larder_checkpoint *cp,
                         int first, int second)
{
    struct addrs freed;
    struct addrs created;

    restore(&p->rig, cp, &freed, &created);
    assert_int_equal(created.count, 2);
    assert_int_equal(created.list[0], p->at[first]);
    assert_int_equal(created.list[1], p->at[second]);
    rig_free(&p->rig, p->at[first]);
    rig_free(&p->rig, p->at[second]);
}

static void pages_mapped_since_the_checkpoint_stay_free(void **state)
{
    struct pages p = pages_up();
    larder_checkpoint *cp;

    (void)state;
    rig_free(&p.rig, p.at[1]);
    borrow_pages(&p);
    cp = take_checkpoint(&p.rig); /* a block, no pages, a block, no pages */
    rig_free(&p.rig, p.at[2]);
    (void)rig_alloc_in(&p.rig, pool, MIB(100), 0);
    assert_three(&p, cp, 0, 2);
    assert_true(rig_pool_info(&p.rig, pool).reserved_bytes > MIB(120));
    larder_checkpoint_destroy(cp);
    for (int i = 0; i < 4; i++)
        assert_ok(larder_pool_release(p.rig.a, pool));
    rig_down(&p.rig);
}

static void pages_lost_since_the_checkpoint_are_not_brought_back(void **state)
{
    struct pages p = pages_up();
    struct picture before;
    larder_checkpoint *cp;

    (void)state;
    cp = take_checkpoint(&p.rig);
    rig_free(&p.rig, p.at[1]);
    borrow_pages(&p);
    before = picture_take(&p.rig);
    assert_refused(
        LARDER_ERR_INVALID,
        larder_checkpoint_restore(p.rig.a, cp, NULL, 0, NULL, NULL, 0, NULL),
        "lacks pages that it had");
    assert_unchanged(&p.rig, before);
    larder_checkpoint_destroy(cp);
    rig_free(&p.rig, p.at[0]);
    rig_free(&p.rig, p.at[2]);
    for (int i = 0; i < 3; i++)
        assert_ok(larder_pool_release(p.rig.a, pool));
    rig_down(&p.rig);
}

/* A later pool of the same name whose one large segment is where the earlier
 * small segments were, in the same order. */
static void small_segments_are_not_brought_back_in_a_large_one(void **state)
{
    enum { SMALL_SEGMENTS = 10 };
    struct rig rig = rig_up(SPEC, "");
    larder_addr plug[SMALL_SEGMENTS];
    larder_addr p[2 * SMALL_SEGMENTS];
    larder_checkpoint *cp;
    struct picture before;

    (void)state;
    for (int i = 0; i < SMALL_SEGMENTS; i++)
        plug[i] = rig_alloc_on(&rig, MIB(1), (larder_stream)i);
    for (int i = SMALL_SEGMENTS - 1; i >= 0; i--) {
        rig_free(&rig, plug[i]);
        assert_ok(larder_empty_cache(rig.a));
        p[2 * i] = alloc(&rig, MIB(1));
        p[2 * i + 1] = alloc(&rig, KIB(512));
        assert_int_equal(p[2 * i], plug[i]);
        if (i > 0) { /* fill the segment */
            assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
            rig_alloc(&rig, KIB(512));
            assert_ok(larder_pool_end(rig.a, pool));
        }
    }
    cp = take_checkpoint(&rig);
    larder_destroy(rig.a);
    assert_ok(larder_create(rig.dev, NULL, &rig.a));
    assert_int_equal(alloc(&rig, MIB(2)), plug[0]);
    before = picture_take(&rig);
    assert_result(
        LARDER_ERR_INVALID,
        larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL));
    assert_unchanged(&rig, before);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

static void a_block_that_waits_for_a_stream_stops_a_restore(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p = alloc(&rig, 4096);
    larder_checkpoint *cp = take_checkpoint(&rig);
    struct picture before;

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    before = picture_take(&rig);
    assert_result(
        LARDER_ERR_INVALID,
        larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL));
    assert_unchanged(&rig, before);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_ok(
        larder_checkpoint_restore(rig.a, cp, NULL, 0, NULL, NULL, 0, NULL));
    rig_free(&rig, p);
    larder_checkpoint_destroy(cp);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restoring_at_once_changes_nothing),
        cmocka_unit_test(a_block_freed_since_is_live_again),
        cmocka_unit_test(a_pool_emptied_since_is_full_again),
        cmocka_unit_test(blocks_allocated_after_the_checkpoint_are_freed),
        cmocka_unit_test(segments_split_since_are_split_as_before),
        cmocka_unit_test(a_hole_in_the_middle_comes_back),
        cmocka_unit_test(a_segment_added_since_stays_and_is_free),
        cmocka_unit_test(a_checkpoint_can_be_restored_many_times),
        cmocka_unit_test(current_statistics_come_back),
        cmocka_unit_test(memory_outside_of_the_pool_is_left_alone),
        cmocka_unit_test(restoring_works_while_the_pool_is_begun),
        cmocka_unit_test(short_arrays_are_filled_and_counts_are_whole),
        cmocka_unit_test(unknown_pools_and_missing_arguments_are_refused),
        cmocka_unit_test(a_checkpoint_of_a_vanished_pool_is_refused),
        cmocka_unit_test(a_checkpoint_whose_segment_is_gone_is_refused),
        cmocka_unit_test(each_segment_of_a_checkpoint_is_looked_for),
        cmocka_unit_test(pages_mapped_since_the_checkpoint_stay_free),
        cmocka_unit_test(pages_lost_since_the_checkpoint_are_not_brought_back),
        cmocka_unit_test(small_segments_are_not_brought_back_in_a_large_one),
        cmocka_unit_test(a_block_that_waits_for_a_stream_stops_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
