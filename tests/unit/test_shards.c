/* test_shards.c - streams with their own shards: what is counted, how mistakes
 * are reported, and many streams. */
#include <pthread.h>

#include "core/entry/handle.h"
#include "core/state/shard.h"
#include "support/random.h"
#include "support/rig.h"

enum { SLOTS = 200, STREAMS = 5, STEPS = 40000, MANY = 300 };

#define SMALL_MAX KIB(128) /* of the small pool */

/* ---- a naive count ------------------------------------------------------- */

struct count {
    int64_t current[2];
    int64_t peak[2];
    int64_t allocated[2];
    int64_t peak_all;
};

static void count_change(struct count *c, int pool, int64_t change)
{
    c->current[pool] += change;
    if (change > 0)
        c->allocated[pool] += change;
    if (c->current[pool] > c->peak[pool])
        c->peak[pool] = c->current[pool];
    if (c->current[0] + c->current[1] > c->peak_all)
        c->peak_all = c->current[0] + c->current[1];
}

struct model {
    struct count blocks;
    struct count bytes;
    struct count requested;
};

static void model_change(struct model *m, uint64_t bytes, int sign)
{
    uint64_t size = (bytes + 255) / 256 * 256;
    int pool = size > SMALL_MAX;

    count_change(&m->blocks, pool, sign);
    count_change(&m->bytes, pool, sign * (int64_t)size);
    count_change(&m->requested, pool, sign * (int64_t)bytes);
}

static void assert_pool(const struct count *c, int pool, const larder_stat *s)
{
    assert_int_equal(s->current, c->current[pool]);
    assert_int_equal(s->peak, c->peak[pool]);
    assert_int_equal(s->allocated, c->allocated[pool]);
    assert_int_equal(s->freed, c->allocated[pool] - c->current[pool]);
}

static void assert_count(const struct count *c, const larder_stat_split *s)
{
    assert_pool(c, 0, &s->small_pool);
    assert_pool(c, 1, &s->large_pool);
    assert_int_equal(s->all.current, c->current[0] + c->current[1]);
    assert_int_equal(s->all.peak, c->peak_all);
}

static void assert_model(const struct model *m, const larder_stats *st)
{
    assert_count(&m->blocks, &st->allocation);
    assert_count(&m->blocks, &st->active);
    assert_count(&m->bytes, &st->allocated_bytes);
    assert_count(&m->bytes, &st->active_bytes);
    assert_count(&m->requested, &st->requested_bytes);
}

/* ---- one thread ---------------------------------------------------------- */

struct slot {
    larder_addr addr;
    uint64_t bytes;
};

/* Large sizes are so far apart that no block serves another size
 * (test_quick.c): a block is as large as its request. */
static uint64_t some_bytes(uint64_t *seed)
{
    uint64_t below = UINT64_C(1) << (8 + random_next(seed) % 14);
    uint64_t bytes = 1 + random_next(seed) % below;

    return bytes < KIB(16) ? bytes : below - bytes % 256;
}

/* Every statistic at every seventh step, including the peaks of all streams
 * together. */
static void one_thread_is_counted_exactly(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");
    struct slot slots[SLOTS] = {{0}};
    struct model m = {0};
    uint64_t seed = 4711;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        struct slot *s = &slots[random_next(&seed) % SLOTS];

        if (s->addr != 0) {
            rig_free(&rig, s->addr);
            model_change(&m, s->bytes, -1);
            s->addr = 0;
        } else {
            s->bytes = some_bytes(&seed);
            s->addr =
                rig_alloc_on(&rig, s->bytes, random_next(&seed) % STREAMS);
            model_change(&m, s->bytes, 1);
        }
        if (i % 7 == 0) {
            larder_stats st = rig_stats(&rig);

            assert_model(&m, &st);
        }
        if (i % 1000 == 0)
            assert_ok(larder_check(rig.a));
    }
    rig_down(&rig);
}

static void more_streams_than_shards(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_addr addrs[MANY];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            addrs[i] = rig_alloc_on(&rig, 1000, (larder_stream)i);
        assert_int_equal(rig_stats(&rig).allocation.all.current, MANY);
        for (int i = 0; i < MANY; i++)
            rig_free(&rig, addrs[i]);
        assert_ok(larder_check(rig.a));
    }
    assert_int_equal(rig_stats(&rig).allocation.all.allocated, 3 * MANY);
    rig_down(&rig);
}

/* A block kept for the next request does not count as allocated. */
static void kept_blocks_are_not_live(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_addr addr = rig_alloc(&rig, 5000);
    larder_addr base;
    uint64_t bytes;

    (void)state;
    rig_free(&rig, addr);
    assert_refused(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, addr),
                   "was freed before");
    assert_result(LARDER_ERR_DOUBLE_FREE, larder_record_stream(rig.a, addr, 3));
    assert_result(LARDER_ERR_DOUBLE_FREE,
                  larder_base_allocation(rig.a, addr, &base, &bytes));
    assert_int_equal(rig_alloc(&rig, 5000), addr);
    assert_result(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, addr + 256));
    rig_free(&rig, addr);
    rig_down(&rig);
}

/* ---- threads ------------------------------------------------------------- */

enum { BLOCKS = 80 };

#define BLOCK_BYTES KIB(512)

/* What a thread does with a stream's blocks: allocate all, free all. */
struct walker {
    larder_allocator *a;
    larder_stream stream;
    uint64_t bytes; /* of the single block */
    larder_addr addrs[BLOCKS];
    int failures;
};

static void *rise(void *arg)
{
    struct walker *w = arg;

    for (int i = 0; i < BLOCKS; i++)
        w->failures +=
            larder_alloc(w->a, BLOCK_BYTES, w->stream, &w->addrs[i]) != 0;
    return NULL;
}

static void *fall(void *arg)
{
    struct walker *w = arg;

    for (int i = 0; i < BLOCKS; i++)
        w->failures += larder_free(w->a, w->addrs[i]) != LARDER_OK;
    return NULL;
}

static void *take_one(void *arg)
{
    struct walker *w = arg;

    w->failures += larder_alloc(w->a, w->bytes, w->stream, &w->addrs[0]) != 0;
    return NULL;
}

static void *give_one(void *arg)
{
    struct walker *w = arg;

    w->failures += larder_free(w->a, w->addrs[0]) != LARDER_OK;
    return NULL;
}

/* In its own thread. */
static void walk(struct walker *w, void *(*step)(void *))
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, step, w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(w->failures, 0);
}

/* One stream goes up by 40 MiB while another rises as much and falls again:
 * with 8 GiB of memory each may count 8 MiB for itself. */
static void threads_are_counted_within_the_allowance(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");
    struct walker one = {.a = rig.a, .stream = 1};
    struct walker two = {.a = rig.a, .stream = 2};
    larder_stats st;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, 1)); /* this is the first thread */
    for (int round = 0; round < 2; round++) {
        walk(&one, rise); /* the second time needs no device call */
        walk(&two, rise);
        walk(&two, fall);
        walk(&one, fall);
        st = rig_stats(&rig);
        assert_in_range(st.allocated_bytes.all.peak, MIB(80 - 2 * 8),
                        MIB(80 + 2 * 8));
        assert_ok(larder_stats_reset_peak(rig.a));
    }
    assert_int_equal(st.allocated_bytes.all.current, 0);
    assert_int_equal(st.allocation.all.allocated, 1 + 4 * BLOCKS);
    assert_int_equal(st.allocated_bytes.all.freed,
                     256 + 4 * BLOCKS * BLOCK_BYTES);
    rig_down(&rig);
}

/* Blocks far larger than the allowance: a stream that freed one and another
 * that holds one are counted at the same moment. */
static void large_blocks_are_counted_within_the_allowance(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");
    struct walker one = {.a = rig.a, .stream = 1, .bytes = GIB(1)};
    struct walker two = {.a = rig.a, .stream = 2, .bytes = GIB(1)};

    (void)state;
    rig_free(&rig, rig_alloc(&rig, 1)); /* this is the first thread */
    walk(&one, take_one);
    walk(&two, take_one);
    walk(&one, give_one);
    walk(&two, give_one); /* each has a block to reuse */
    assert_ok(larder_stats_reset_peak(rig.a));
    for (int round = 0; round < 3; round++) {
        walk(&one, take_one);
        (void)rig_stats(&rig); /* adds up */
        walk(&one, give_one);
        walk(&two, take_one);
        walk(&two, give_one);
    }
    assert_in_range(rig_stats(&rig).allocated_bytes.all.peak, GIB(1),
                    GIB(1) + MIB(2 * 8));
    rig_down(&rig);
}

/* Also of a stream that has freed all of it before anything is added up. */
static void the_peak_of_each_stream_is_counted(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, 1)); /* this is the first thread */
    for (larder_stream stream = 0; stream < STREAMS; stream++) {
        struct walker w = {.a = rig.a, .stream = stream, .bytes = BLOCK_BYTES};

        walk(&w, take_one);
        walk(&w, give_one);
        assert_ok(larder_stats_reset_peak(rig.a));
        walk(&w, take_one); /* needs no device call */
        walk(&w, give_one);
        assert_int_equal(rig_stats(&rig).allocated_bytes.all.peak, BLOCK_BYTES);
    }
    rig_down(&rig);
}

/* A thread that has ended may have the next one's identity; this one has not. */
static void a_second_thread_is_noticed(void **state)
{
    struct rig rig =
        rig_up_policy("sim:8GiB,backing=none", LARDER_POLICY_LARDER, "");
    struct walker other = {.a = rig.a, .bytes = BLOCK_BYTES};

    (void)state;
    rig_free(&rig, rig_alloc(&rig, 1));
    rig_free(&rig, rig_alloc(&rig, 1));
    assert_false(handle_allocator(rig.a)->shards.is_shared);
    walk(&other, take_one);
    assert_true(handle_allocator(rig.a)->shards.is_shared);
    walk(&other, give_one);
    rig_down(&rig);
}

/* A 1024th of the device, 2 MiB or more, but no more than those who share it bear. */
static void the_allowance_follows_from_the_device(void **state)
{
    static const struct {
        const char *device;
        int64_t alone, shared;
    } cases[] = {
        {"sim:64MiB,backing=none", MIB(2), MIB(2)},
        {"sim:16GiB,backing=none", MIB(16), MIB(16)},
        {"sim:80GiB,backing=none", MIB(80), MIB(64) - 1},
    };
    static const _Atomic uint32_t bell;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig =
            rig_up_policy(cases[i].device, LARDER_POLICY_LARDER, "ledger:off");
        struct allocator *a = handle_allocator(rig.a);

        assert_int_equal(a->shards.allowance, cases[i].alone);
        larder__shards_set_bell(a, &bell);
        assert_int_equal(a->shards.allowance, cases[i].shared);
        larder__shards_set_bell(a, NULL);
        assert_int_equal(a->shards.allowance, cases[i].alone);
        rig_down(&rig);
    }
}

static void *take_and_give(void *ctx)
{
    struct rig *rig = ctx;

    rig_free(rig, rig_alloc(rig, 1000));
    return NULL;
}

/* Whatever was counted before, no sum overflows its type. */
static void a_senseless_size_is_refused(void **state)
{
    struct rig rig = rig_up_policy("sim:1GiB,backing=none,events=immediate",
                                   LARDER_POLICY_LARDER, "");
    larder_addr addr;
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 3; i++)
        (void)take_and_give(&rig);
    assert_int_equal(pthread_create(&thread, NULL, take_and_give, &rig), 0);
    pthread_join(thread, NULL);
    addr = rig_alloc(&rig, 1000);
    (void)rig_stats(&rig); /* adds up */
    rig_free(&rig, addr);  /* negative since then */
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, UINT64_C(1) << 63, 0, &addr));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_is_counted_exactly),
        cmocka_unit_test(more_streams_than_shards),
        cmocka_unit_test(kept_blocks_are_not_live),
        cmocka_unit_test(threads_are_counted_within_the_allowance),
        cmocka_unit_test(large_blocks_are_counted_within_the_allowance),
        cmocka_unit_test(the_peak_of_each_stream_is_counted),
        cmocka_unit_test(a_second_thread_is_noticed),
        cmocka_unit_test(the_allowance_follows_from_the_device),
        cmocka_unit_test(a_senseless_size_is_refused),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
