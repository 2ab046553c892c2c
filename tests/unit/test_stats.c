/* test_stats.c - statistics always equal the sums over larder_walk(), and are
 * reset as by PyTorch. */
#include "support/random.h"
#include "support/rig.h"

#define SPEC "sim:80GiB,backing=none"

/* ---- sums of a walk ----------------------------------------------------- */

/* What PyTorch's test_memory_stats computes from memory_snapshot(), for the
 * small pool, the large one and both. */
enum { SMALL, LARGE, ALL, POOLS };

struct sums {
    int64_t segment[POOLS];
    int64_t reserved_bytes[POOLS];
    int64_t allocation[POOLS];
    int64_t allocated_bytes[POOLS];
    int64_t active[POOLS];
    int64_t active_bytes[POOLS];
    int64_t requested_bytes[POOLS];
    int64_t inactive_split[POOLS];
    int64_t inactive_split_bytes[POOLS];
};

static void add(int64_t sums[POOLS], int is_large, uint64_t amount)
{
    sums[is_large ? LARGE : SMALL] += (int64_t)amount;
    sums[ALL] += (int64_t)amount;
}

static int add_segment(void *ctx, const larder_segment_info *s)
{
    struct sums *sums = ctx;

    if (!s->is_expandable)
        add(sums->segment, s->is_large, 1);
    add(sums->reserved_bytes, s->is_large, s->bytes);
    return 0;
}

static int add_block(void *ctx, const larder_segment_info *s,
                     const larder_block_info *b)
{
    struct sums *sums = ctx;

    if (b->state == LARDER_BLOCK_ALLOCATED) {
        add(sums->allocation, s->is_large, 1);
        add(sums->allocated_bytes, s->is_large, b->bytes);
    }
    if (b->state != LARDER_BLOCK_FREE) {
        add(sums->active, s->is_large, 1);
        add(sums->active_bytes, s->is_large, b->bytes);
        add(sums->requested_bytes, s->is_large, b->requested_bytes);
    } else if (s->block_count > 1 && !s->is_expandable) {
        add(sums->inactive_split, s->is_large, 1);
        add(sums->inactive_split_bytes, s->is_large, b->bytes);
    }
    return 0;
}

static void assert_stat(const char *name, const larder_stat *stat, int64_t sum)
{
    if (stat->current != sum)
        fail_msg("%s is %lld, the walk has %lld", name,
                 (long long)stat->current, (long long)sum);
    if (stat->peak < stat->current)
        fail_msg("%s: peak %lld is below the current %lld", name,
                 (long long)stat->peak, (long long)stat->current);
    if (stat->allocated - stat->freed != stat->current)
        fail_msg("%s: %lld allocated less %lld freed is not %lld", name,
                 (long long)stat->allocated, (long long)stat->freed,
                 (long long)stat->current);
}

static void assert_stats_are_sums(struct rig *rig)
{
    struct sums sums = {0};
    larder_stats st = rig_stats(rig);

    assert_ok(larder_walk(rig->a, add_segment, add_block, &sums));
#define X(name, text)                                                          \
    assert_stat(#name ".all", &st.name.all, sums.name[ALL]);                   \
    assert_stat(#name ".small_pool", &st.name.small_pool, sums.name[SMALL]);   \
    assert_stat(#name ".large_pool", &st.name.large_pool, sums.name[LARGE]);
    LARDER_METRIC_MAP(X)
#undef X
}

/* ---- a random run ------------------------------------------------------- */

enum { SLOTS = 48, STEPS = 5000, STREAMS = 4 };

struct run {
    struct rig rig;
    uint64_t seed;
    larder_addr slots[SLOTS];
    int in_pool; /* allocations go to a private pool now */
};

static const larder_pool_id run_pool = {9, 9};

static uint64_t random_below(struct run *run, uint64_t end)
{
    return random_next(&run->seed) % end;
}

static void random_alloc(struct run *run, larder_addr *slot)
{
    static const uint64_t most[] = {2000, MIB(1), MIB(9), MIB(60)};
    uint64_t bytes = 1 + random_below(run, most[random_below(run, 4)]);
    larder_result r =
        larder_alloc(run->rig.a, bytes, random_below(run, STREAMS), slot);

    if (r != LARDER_OK)
        assert_result(LARDER_ERR_OUT_OF_MEMORY, r);
}

static void random_step(struct run *run)
{
    larder_addr *slot = &run->slots[random_below(run, SLOTS)];

    if (*slot == 0) {
        random_alloc(run, slot);
    } else if (random_below(run, 4) == 0) {
        assert_ok(larder_record_stream(run->rig.a, *slot,
                                       random_below(run, STREAMS)));
    } else {
        rig_free(&run->rig, *slot);
        *slot = 0;
    }
    if (random_below(run, 7) == 0)
        assert_ok(
            larder_sim_complete(run->rig.dev, random_below(run, STREAMS)));
    if (!run->in_pool && random_below(run, 200) == 0)
        assert_ok(larder_empty_cache(run->rig.a));
}

static void toggle_pool(struct run *run)
{
    if (run->in_pool)
        assert_ok(larder_pool_end(run->rig.a, run_pool));
    else
        assert_ok(larder_pool_begin(run->rig.a, run_pool, NULL, NULL));
    run->in_pool = !run->in_pool;
}

static void random_run(const char *conf, const char *other_conf, uint64_t seed)
{
    struct run run = {
        .rig = rig_up("sim:600MiB,backing=none,events=manual", conf),
        .seed = seed,
    };

    for (int step = 0; step < STEPS; step++) {
        random_step(&run);
        if (step % 500 == 250 || step % 500 == 290)
            toggle_pool(&run);
        if (step % 800 == 799)
            assert_ok(larder_configure(
                run.rig.a, step / 800 % 2 == 0 ? other_conf : conf));
        assert_stats_are_sums(&run.rig);
    }
    assert_true(rig_stats(&run.rig).num_device_alloc > 10);
    rig_down(&run.rig);
}

static void statistics_are_the_sums_of_a_walk(void **state)
{
    (void)state;
    random_run("", "", 1);
    random_run("max_split_size_mb:24", "", 2);
    random_run("roundup_power2_divisions:4", "max_split_size_mb:32", 3);
}

static void statistics_are_the_sums_of_a_walk_with_expandable_segments(
    void **state)
{
    (void)state;
    random_run("expandable_segments:True", "expandable_segments:True", 4);
    random_run("expandable_segments:True", "expandable_segments:False", 5);
    random_run("per_process_memory_fraction:0.7,"
               "garbage_collection_threshold:0.5",
               "expandable_segments:True", 6);
}

/* ---- the walk itself ---------------------------------------------------- */

struct visits {
    larder_addr last;
    int segments;
    int blocks;
    int end_at_segment;
    int end_at_block;
};

static int visit_segment(void *ctx, const larder_segment_info *s)
{
    struct visits *v = ctx;

    assert_true(s->addr >= v->last);
    v->last = s->addr;
    return ++v->segments == v->end_at_segment;
}

static int visit_block(void *ctx, const larder_segment_info *s,
                       const larder_block_info *b)
{
    struct visits *v = ctx;

    assert_true(b->addr >= v->last);
    v->last = b->addr + b->bytes;
    assert_true(v->last <= s->addr + s->bytes);
    return ++v->blocks == v->end_at_block;
}

static void a_walk_ascends_and_ends_when_told(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    struct visits all = {0};
    struct visits three_blocks = {.end_at_block = 3};
    struct visits two_segments = {.end_at_segment = 2};

    (void)state;
    for (larder_stream stream = 0; stream < 4; stream++) {
        rig_alloc_on(&rig, 512, 3 - stream);
        rig_alloc_on(&rig, MIB(2), 3 - stream);
    }
    assert_ok(larder_walk(rig.a, visit_segment, visit_block, &all));
    assert_int_equal(all.segments, 8);
    assert_int_equal(all.blocks, 16);
    assert_ok(larder_walk(rig.a, NULL, visit_block, &three_blocks));
    assert_int_equal(three_blocks.blocks, 3);
    assert_ok(larder_walk(rig.a, visit_segment, NULL, &two_segments));
    assert_int_equal(two_segments.segments, 2);
    assert_ok(larder_walk(rig.a, NULL, NULL, NULL));
    rig_down(&rig);
}

/* ---- peaks and sums ----------------------------------------------------- */

static void a_peak_of_both_pools_is_no_sum_of_their_peaks(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_stats st;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(1)));
    rig_free(&rig, rig_alloc(&rig, MIB(30)));
    st = rig_stats(&rig);
    assert_int_equal(st.allocated_bytes.small_pool.peak, MIB(1));
    assert_int_equal(st.allocated_bytes.large_pool.peak, MIB(30));
    assert_int_equal(st.allocated_bytes.all.peak, MIB(30));
    assert_int_equal(st.allocation.all.peak, 1);
    assert_int_equal(st.allocated_bytes.all.allocated, MIB(31));
    assert_int_equal(st.allocated_bytes.all.freed, MIB(31));
    rig_down(&rig);
}

static void resetting_peaks_makes_them_the_current_values(void **state)
{
    struct rig rig = rig_up(SPEC, "max_split_size_mb:25");
    larder_addr small = rig_alloc(&rig, 512);
    larder_addr large = rig_alloc(&rig, MIB(30));
    larder_stats st;

    (void)state;
    rig_free(&rig, large);
    assert_ok(larder_empty_cache(rig.a));
    st = rig_stats(&rig);
    assert_int_equal(st.reserved_bytes.all.peak, MIB(32));
    assert_int_equal(st.oversize_segments.peak, 1);
    assert_int_equal(st.oversize_allocations.peak, 1);
    assert_ok(larder_stats_reset_peak(rig.a));
    st = rig_stats(&rig);
#define X(name, text)                                                          \
    assert_int_equal(st.name.all.peak, st.name.all.current);                   \
    assert_int_equal(st.name.small_pool.peak, st.name.small_pool.current);     \
    assert_int_equal(st.name.large_pool.peak, st.name.large_pool.current);
    LARDER_METRIC_MAP(X)
#undef X
    assert_int_equal(st.oversize_segments.peak, 0);
    assert_int_equal(st.oversize_allocations.peak, 0);
    assert_int_equal(st.reserved_bytes.all.peak, MIB(2));
    assert_int_equal(st.reserved_bytes.all.allocated, MIB(32));
    rig_free(&rig, small);
    rig_alloc(&rig, 1024);
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.peak, 1024);
    rig_down(&rig);
}

static void resetting_sums_zeroes_them_and_the_counters(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    larder_addr p = rig_alloc(&rig, MIB(30));
    larder_addr none = 0;
    larder_stats st;

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(40), 0, &none));
    st = rig_stats(&rig);
    assert_int_equal(st.num_ooms, 1);
    assert_int_equal(st.num_alloc_retries, 1);
    assert_int_equal(st.num_sync_all_streams, 1);
    assert_int_equal(st.num_device_alloc, 1);
    assert_ok(larder_stats_reset_accumulated(rig.a));
    st = rig_stats(&rig);
#define X(name, text)                                                          \
    assert_int_equal(st.name.all.allocated, 0);                                \
    assert_int_equal(st.name.all.freed, 0);                                    \
    assert_int_equal(st.name.large_pool.allocated, 0);
    LARDER_METRIC_MAP(X)
#undef X
#define X(name, text) assert_int_equal(st.name, 0);
    LARDER_COUNTER_MAP(X)
#undef X
    assert_int_equal(st.allocated_bytes.all.current, MIB(30));
    assert_int_equal(st.allocated_bytes.all.peak, MIB(30));
    rig_free(&rig, p);
    st = rig_stats(&rig);
    assert_int_equal(st.allocated_bytes.all.freed, MIB(30));
    assert_int_equal(st.allocated_bytes.all.allocated, 0);
    rig_down(&rig);
}

static void a_freed_block_that_is_waited_for_stays_active(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none,events=manual", "");
    larder_addr p = rig_alloc(&rig, 1000);
    larder_stats st;

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    st = rig_stats(&rig);
    assert_int_equal(st.allocation.all.current, 0);
    assert_int_equal(st.allocated_bytes.all.current, 0);
    assert_int_equal(st.active.all.current, 1);
    assert_int_equal(st.active_bytes.all.current, 1024);
    assert_int_equal(st.requested_bytes.all.current, 1000);
    assert_stats_are_sums(&rig);
    rig_down(&rig);
}

static void oversize_counts_from_max_split_size_on(void **state)
{
    struct rig rig = rig_up(SPEC, "max_split_size_mb:40");
    larder_addr large;
    larder_stats st;

    (void)state;
    rig_alloc(&rig, MIB(38));
    st = rig_stats(&rig);
    assert_int_equal(st.oversize_allocations.current, 0);
    assert_int_equal(st.oversize_segments.current, 0);
    large = rig_alloc(&rig, MIB(40));
    st = rig_stats(&rig);
    assert_int_equal(st.oversize_allocations.current, 1);
    assert_int_equal(st.oversize_segments.current, 1);
    assert_int_equal(st.max_split_size, MIB(40));
    rig_free(&rig, large);
    assert_ok(larder_empty_cache(rig.a));
    st = rig_stats(&rig);
    assert_int_equal(st.oversize_allocations.current, 0);
    assert_int_equal(st.oversize_segments.current, 0);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_the_sums_of_a_walk),
        cmocka_unit_test(
            statistics_are_the_sums_of_a_walk_with_expandable_segments),
        cmocka_unit_test(a_walk_ascends_and_ends_when_told),
        cmocka_unit_test(a_peak_of_both_pools_is_no_sum_of_their_peaks),
        cmocka_unit_test(resetting_peaks_makes_them_the_current_values),
        cmocka_unit_test(resetting_sums_zeroes_them_and_the_counters),
        cmocka_unit_test(a_freed_block_that_is_waited_for_stays_active),
        cmocka_unit_test(oversize_counts_from_max_split_size_on),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
