/* test_larder_pages.c - the larder policy moves pages to where they are needed,
 * and moves nothing else. */
#include <stdbool.h>

#include "support/rig.h"

#define SPEC "sim:64MiB,backing=none,events=immediate"

static struct rig up(const char *spec, const char *conf)
{
    return rig_up_pages(spec, LARDER_POLICY_LARDER, conf);
}

/* ---- moving --------------------------------------------------------------- */

static void pages_move_between_streams_and_sizes(void **state)
{
    struct rig rig = up(SPEC, "");
    larder_stream other = 1;
    larder_addr small[512];

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(60), 0));
    rig_free(&rig, rig_alloc_on(&rig, MIB(62), other));
    for (int i = 0; i < 512; i++)
        small[i] = rig_alloc_on(&rig, KIB(120), 0);
    assert_ok(larder_check(rig.a));
    for (int i = 0; i < 512; i++)
        rig_free(&rig, small[i]);
    rig_free(&rig, rig_alloc_on(&rig, MIB(64), other));
    assert_ok(larder_check(rig.a));
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_page_create], 32);
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_page_release], 0);
    rig_down(&rig);
}

static void moves_are_counted_as_reserved_where_they_go(void **state)
{
    struct rig rig = up(SPEC, "");
    larder_stats st;

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(64), 0));
    st = rig_stats(&rig);
    assert_int_equal(st.reserved_bytes.large_pool.current, MIB(64));
    (void)rig_alloc_on(&rig, 1000, 0);
    st = rig_stats(&rig);
    assert_int_equal(st.reserved_bytes.large_pool.current, MIB(62));
    assert_int_equal(st.reserved_bytes.small_pool.current, MIB(2));
    assert_int_equal(st.reserved_bytes.all.peak, MIB(64));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* Live memory keeps its pages: free ones around it may or may not suffice. */
static void fails_only_when_free_pages_are_too_few(void **state)
{
    struct rig rig = up(SPEC, "");
    larder_addr addrs[32];
    larder_addr none;

    (void)state;
    for (int i = 0; i < 32; i++)
        addrs[i] = rig_alloc_on(&rig, MIB(2), 0);
    for (int i = 0; i < 32; i += 2)
        rig_free(&rig, addrs[i]);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(32) + 1, 0, &none));
    assert_ok(larder_check(rig.a));
    (void)rig_alloc_on(&rig, MIB(32), 0);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void defrag_off_moves_nothing(void **state)
{
    struct rig rig = up(SPEC, "defrag:off");
    larder_stream other = 1;

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(60), 0));
    rig_free(&rig,
             rig_alloc_on(&rig, MIB(62), other)); /* released, then allocated */
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_page_release], 30);
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_page_create],
                     30 + 31);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void a_limit_moves_pages_before_it_refuses(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none", "limit:64MiB");
    larder_stream other = 1;
    larder_addr none;

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(60), 0));
    (void)rig_alloc_on(&rig, MIB(62), other);
    assert_true(rig_stats(&rig).reserved_bytes.all.peak <= (int64_t)MIB(64));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(4), 0, &none));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* A fraction of the limit: 128 MiB. */
static void beyond_a_threshold_pages_move_before_more_are_taken(void **state)
{
    static const struct {
        uint64_t bytes, reserved;
    } wanted[] = {{MIB(62), MIB(122)}, {MIB(68), MIB(128)}, {MIB(70), MIB(70)}};

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct rig rig =
            up("sim:1GiB,backing=none", "per_process_memory_fraction:0.5,"
                                        "garbage_collection_threshold:0.25");

        rig_free(&rig, rig_alloc_on(&rig, MIB(60), 0));
        (void)rig_alloc_on(&rig, wanted[i].bytes, 1);
        assert_int_equal(rig_stats(&rig).reserved_bytes.all.current,
                         wanted[i].reserved);
        assert_ok(larder_check(rig.a));
        rig_down(&rig);
    }
}

static void empty_cache_gives_all_back(void **state)
{
    struct rig rig = up(SPEC, "");

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(60), 0));
    rig_free(&rig, rig_alloc_on(&rig, 100, 0));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_stats(&rig).reserved_bytes.all.current, 0);
    assert_int_equal(rig_usage(rig.dev).mappings, 0);
    assert_int_equal(rig_usage(rig.dev).reservations, 0);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void the_largest_cached_block_has_memory(void **state)
{
    struct rig rig = up(SPEC, "");
    larder_addr addr = rig_alloc_on(&rig, MIB(6), 0);
    uint64_t bytes;

    (void)state;
    assert_ok(larder_largest_cached(rig.a, &bytes));
    assert_int_equal(bytes, 0);
    rig_free(&rig, addr);
    assert_ok(larder_largest_cached(rig.a, &bytes));
    assert_int_equal(bytes, MIB(6));
    rig_free(&rig, rig_alloc_on(&rig, MIB(56), 1)); /* all the rest, and */
    assert_ok(larder_largest_cached(rig.a, &bytes));
    assert_int_equal(bytes, MIB(56));
    rig_free(&rig, rig_alloc_on(&rig, MIB(62), 1)); /* two of the three pages */
    addr = rig_alloc_on(&rig, 100, 0);              /* and the third */
    assert_ok(larder_largest_cached(rig.a, &bytes));
    assert_int_equal(bytes, MIB(62));
    rig_free(&rig, addr);
    rig_down(&rig);
}

/* ---- order of work -------------------------------------------------------- */

static void only_the_events_needed_are_waited_for(void **state)
{
    struct rig rig = up("sim:64MiB,backing=none,events=manual", "");
    larder_stream other = 1;
    larder_addr first = rig_alloc_on(&rig, MIB(30), 0);
    larder_addr second = rig_alloc_on(&rig, MIB(34), 0);

    (void)state;
    assert_ok(larder_record_stream(rig.a, first, other));
    assert_ok(larder_record_stream(rig.a, second, other));
    rig_free(&rig, first);
    rig_free(&rig, second);
    (void)rig_alloc_on(&rig, MIB(28), 0);
    assert_int_equal(rig_stats(&rig).active_bytes.all.current,
                     MIB(28) + MIB(34));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* Queued work may still use the pages. */
static void moving_waits_for_the_stream_once(void **state)
{
    struct rig rig = up(SPEC, "");

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(60), 0));
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_event_sync], 0);
    (void)rig_alloc_on(&rig, MIB(62), 1);
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_event_record], 1);
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_event_sync], 1);
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_unmap], 1);
    rig_down(&rig);
}

static void a_held_pool_is_not_touched(void **state)
{
    struct rig rig = up(SPEC, "");
    larder_pool_id id = {1, 0};
    larder_addr addr;
    larder_addr none;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    addr = rig_alloc_on(&rig, MIB(40), 0);
    rig_free(&rig, addr);
    assert_ok(larder_pool_end(rig.a, id));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(30), 0, &none));
    (void)rig_alloc_on(&rig, MIB(24), 0);
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_int_equal(rig_alloc_on(&rig, MIB(40), 0), addr);
    rig_free(&rig, addr);
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id)); /* begun twice */
    (void)rig_alloc_on(&rig, MIB(40), 0);      /* now it is free */
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static int is_captured(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == 5;
}

/* Nothing is unmapped while allocations go to a pool, not even for requests
 * outside of it. */
static void nothing_moves_during_a_capture(void **state)
{
    struct rig rig = up(SPEC, "");
    larder_pool_id id = {1, 0};
    larder_addr none;

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, MIB(64), 0));
    assert_ok(larder_pool_begin(rig.a, id, is_captured, NULL));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(2), 1, &none));
    assert_int_equal(rig_counters(&rig).calls[LARDER_CALL_unmap], 0);
    assert_ok(larder_pool_end(rig.a, id));
    (void)rig_alloc_on(&rig, MIB(2), 1);
    rig_down(&rig);
}

/* ---- cost ----------------------------------------------------------------- */

static void tiny_tensors_waste_little(void **state)
{
    enum { COUNT = 1 << 18 };
    struct rig rig = up("sim:80GiB,backing=none", "");

    (void)state;
    for (int i = 0; i < COUNT; i++)
        (void)rig_alloc_on(&rig, 516, 0);
    /* 4 Mi of them: 3.1 GiB */
    assert_true(rig_stats(&rig).reserved_bytes.all.peak <=
                (int64_t)(GIB(31) / 10 / 16));
    rig_down(&rig);
}

/* Ever larger blocks, each copied from the previous one, leave holes that are
 * too small for the next.  The next one is built from those holes if the device
 * is full; otherwise as much is held as with expandable segments. */
static void grow_on(const char *spec, int64_t tenths)
{
    struct rig rig = up(spec, "");
    larder_addr old = rig_alloc_on(&rig, MIB(16), 0);
    uint64_t bytes = MIB(16);
    larder_stats st;

    for (int i = 0; i < 2000; i++) {
        larder_addr grown = rig_alloc_on(&rig, bytes += KIB(36), 0);

        rig_free(&rig, old);
        old = grown;
    }
    st = rig_stats(&rig);
    assert_true(st.reserved_bytes.all.peak * 10 <=
                st.requested_bytes.all.peak * tenths);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void growing_requests_strand_little(void **state)
{
    (void)state;
    grow_on("sim:80GiB,backing=none", 18);
    grow_on("sim:180MiB,backing=none", 11);
}

/* ---- failures ------------------------------------------------------------- */

/* A request that has to move pages, while one call after the other fails. */
static bool move_with_failure(larder_call call, uint64_t nth)
{
    struct rig rig = up(SPEC, "");
    larder_stream other = 1;
    larder_addr holes[8];
    larder_addr addr = 0;
    larder_result r;
    bool failed;

    for (int i = 0; i < 8; i++)
        holes[i] = rig_alloc_on(&rig, MIB(8), 0);
    for (int i = 0; i < 8; i += 2)
        rig_free(&rig, holes[i]);
    assert_ok(larder_device_fail(rig.dev, call, nth, 1, LARDER_ERR_DEVICE));
    r = larder_alloc(rig.a, MIB(31), other, &addr);
    assert_ok(larder_check(rig.a));
    failed = rig_counters(&rig).failed[call] > 0;
    assert_ok(larder_device_fail(rig.dev, call, 0, 1, LARDER_OK));
    if (r == LARDER_OK)
        rig_free(&rig, addr);
    addr = rig_alloc_on(&rig, MIB(32), other);
    assert_ok(larder_check(rig.a));
    rig_free(&rig, addr);
    for (int i = 1; i < 8; i += 2)
        rig_free(&rig, holes[i]);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_usage(rig.dev).mappings, 0);
    rig_down(&rig);
    return failed;
}

static void each_failure_of_a_move_loses_nothing(void **state)
{
    static const larder_call calls[] = {
        LARDER_CALL_unmap,        LARDER_CALL_map,
        LARDER_CALL_set_access,   LARDER_CALL_address_reserve,
        LARDER_CALL_event_create, LARDER_CALL_event_record,
        LARDER_CALL_event_sync,
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        uint64_t nth = 1;

        while (move_with_failure(calls[i], nth))
            nth++;
        assert_true(nth > 1);
    }
}

/* ---- contents ------------------------------------------------------------- */

enum { SLOTS = 200, STEPS = 40000 };

struct slot {
    larder_addr addr;
    uint64_t bytes;
    unsigned char value;
};

static void slot_verify(const struct slot *s)
{
    const unsigned char *p = (const unsigned char *)(uintptr_t)s->addr;

    assert_int_equal(p[0], s->value);
    assert_int_equal(p[s->bytes / 2], s->value);
    assert_int_equal(p[s->bytes - 1], s->value);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void slot_fill(struct rig *rig, struct slot *s, uint32_t *seed,
                      const larder_stream *streams)
{
    uint64_t bytes =
        1 + next_random(seed) % (1u << (8 + next_random(seed) % 16));
    larder_stream stream = streams[next_random(seed) % 3];
    unsigned char *p;

    if (larder_alloc(rig->a, bytes, stream, &s->addr) != LARDER_OK) {
        s->addr = 0;
        return;
    }
    s->bytes = bytes;
    s->value = (unsigned char)next_random(seed);
    p = (unsigned char *)(uintptr_t)s->addr;
    p[0] = p[bytes / 2] = p[bytes - 1] = s->value;
}

static void contents_survive(const char *conf)
{
    struct rig rig = up("sim:96MiB,backing=memory", conf);
    larder_stream streams[3] = {0, 1, 2};
    struct slot slots[SLOTS] = {{0}};
    uint32_t seed = 7;

    for (int i = 0; i < STEPS; i++) {
        struct slot *s = &slots[next_random(&seed) % SLOTS];

        if (s->addr != 0) {
            slot_verify(s);
            rig_free(&rig, s->addr);
            s->addr = 0;
        } else {
            slot_fill(&rig, s, &seed, streams);
        }
        if (i % 500 == 0)
            assert_ok(larder_check(rig.a));
        if (i % 9000 == 8999)
            assert_ok(larder_empty_cache(rig.a));
    }
    assert_true(rig_counters(&rig).pages_unmapped > 500);
    rig_down(&rig);
}

static void contents_survive_moves(void **state)
{
    (void)state;
    contents_survive("");
    contents_survive("defrag:eager");
    contents_survive("limit:64MiB");
}

static int add_segment(void *ctx, const larder_segment_info *segment)
{
    uint64_t *bytes = ctx;

    *bytes += segment->bytes;
    return 0;
}

/* A page that was created and could not be mapped is held all the same. */
static void the_walk_shows_unmapped_pages(void **state)
{
    struct rig rig = up(SPEC, "");
    uint64_t bytes = 0;
    larder_addr none;

    (void)state;
    (void)rig_alloc_on(&rig, MIB(4), 0);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_map, 1, 1000,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_alloc(rig.a, MIB(8), 0, &none));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_map, 0, 1, LARDER_OK));
    assert_true(rig_reserved(&rig) > MIB(4));
    assert_ok(larder_walk(rig.a, add_segment, NULL, &bytes));
    assert_int_equal(bytes, rig_reserved(&rig));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_move_between_streams_and_sizes),
        cmocka_unit_test(moves_are_counted_as_reserved_where_they_go),
        cmocka_unit_test(fails_only_when_free_pages_are_too_few),
        cmocka_unit_test(defrag_off_moves_nothing),
        cmocka_unit_test(a_limit_moves_pages_before_it_refuses),
        cmocka_unit_test(beyond_a_threshold_pages_move_before_more_are_taken),
        cmocka_unit_test(empty_cache_gives_all_back),
        cmocka_unit_test(the_largest_cached_block_has_memory),
        cmocka_unit_test(only_the_events_needed_are_waited_for),
        cmocka_unit_test(moving_waits_for_the_stream_once),
        cmocka_unit_test(a_held_pool_is_not_touched),
        cmocka_unit_test(nothing_moves_during_a_capture),
        cmocka_unit_test(tiny_tensors_waste_little),
        cmocka_unit_test(growing_requests_strand_little),
        cmocka_unit_test(each_failure_of_a_move_loses_nothing),
        cmocka_unit_test(contents_survive_moves),
        cmocka_unit_test(the_walk_shows_unmapped_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
