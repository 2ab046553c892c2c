/* test_snap_trace.c - a snapshot's events converted to a trace. */
#include "convert_rig.h"

struct made {
    struct snap_trace_notes notes;
    struct trace trace;
    char text[4096];
};

/* The trace as text. */
/* One event or block per line. */
/* clang-format off */

static void make(const char *segments, const char *events, struct made *out)
{
    struct snapshot *s = read_snapshot(segments, events);
    struct tool_error error;
    struct story story;
    FILE *f;

    make_story(s, &story);
    if (!snap_trace_make(&story, &out->trace, &out->notes, &error))
        fail_msg("not made: %s", error.text);
    memset(out->text, 0, sizeof out->text);
    f = fmemopen(out->text, sizeof out->text - 1, "w");
    assert_non_null(f);
    assert_true(trace_write(&out->trace, f));
    fclose(f);
    story_free(&story);
    snapshot_free(s);
}

static void expect_text(const char *segments, const char *events,
                        const char *wanted)
{
    struct made m;

    make(segments, events, &m);
    assert_string_equal(m.text, wanted);
    trace_free(&m.trace);
}

static void streams_are_renumbered_and_the_default_stays(void **state)
{
    (void)state;
    expect_text("",
                EVENT_ON("alloc", 140000000000000, 100, 93824992) ","
        EVENT("alloc", 140000000000512, 200) ","
        EVENT_ON("alloc", 140000000001024, 300, 7),
                "a 0 100 1\na 1 200 0\na 2 300 2\n");
}

static void blocks_older_than_the_recording_come_first_by_address(void **state)
{
    (void)state;
    expect_text(
        SEGMENT(140000000000000, 2097152, "small",
                BLOCK(140000000000000, 512, 500, "active_allocated") ","
        BLOCK(140000000000512, 2096640, 0, "inactive")),
        EVENT("alloc", 140000000001024, 300) ","
        FREED(140000000000512, 400),
        "a 0 500 0\na 1 400 0\nm the recording begins\na 2 300 0\nf 1\n");
}

/* Its free completes after the next allocation: until then another stream used
 * it.  The same stream serves the next block that waits. */
static void late_completion_becomes_a_recorded_stream(void **state)
{
    static const char events[] = EVENT_ON("alloc", 140000000000000, 100, 5) ","
        EVENT("free_requested", 140000000000000, 100) ","
        EVENT("alloc", 140000000000512, 200) ","
        EVENT("free_completed", 140000000000000, 100) ","
        EVENT("free_requested", 140000000000512, 200) ","
        EVENT("alloc", 140000000001024, 300) ","
        EVENT("free_completed", 140000000000512, 200);

    (void)state;
    expect_text("", events,
                "a 0 100 1\nr 0 2\nf 0\na 1 200 0\nc 2\n"
                "r 1 2\nf 1\na 2 300 0\nc 2\n");
}

static void frees_do_not_wait_where_none_was_seen_completed(void **state)
{
    (void)state;
    expect_text("",
                EVENT("alloc", 140000000000000, 100) ","
        EVENT("free_requested", 140000000000000, 100) ","
        EVENT("alloc", 140000000000000, 200),
                "a 0 100 0\nf 0\na 1 200 0\n");
}

/* Released at the end, for no request: only empty_cache does that. */
static void memory_given_back_for_nothing_is_empty_cache(void **state)
{
    (void)state;
    expect_text("",
                EVENT("segment_alloc", 140000000000000, 20971520) ","
        EVENT("alloc", 140000000000000, 5000000) ","
        FREED(140000000000000, 5000000) ","
        EVENT("segment_free", 140000000000000, 20971520),
                "a 0 5000000 0\nf 0\ne\n");
}

/* The request would have fitted in the released memory. */
static void giving_back_a_fit_is_empty_cache(void **state)
{
    (void)state;
    expect_text(
        "",
        EVENT("segment_alloc", 140000000000000, 20971520) ","
        EVENT("alloc", 140000000000000, 5000000) ","
        FREED(140000000000000, 5000000) ","
        EVENT("segment_free", 140000000000000, 20971520) ","
        EVENT("segment_alloc", 140000000000000, 20971520) ","
        EVENT("alloc", 140000000000000, 5000000),
        "a 0 5000000 0\nf 0\ne\na 1 5000000 0\n");
}

/* The released memory would not have sufficed, and the device was never fuller:
 * the allocator released it itself. */
static void making_room_is_not_empty_cache(void **state)
{
    static const char events[] =
        EVENT("segment_alloc", 140000000000000, 20971520) ","
        EVENT("alloc", 140000000000000, 5000000) ","
        FREED(140000000000000, 5000000) ","
        EVENT("segment_free", 140000000000000, 20971520) ","
        EVENT("segment_alloc", 150000000000000, 52428800) ","
        EVENT("alloc", 150000000000000, 52000000) ","
        FREED(150000000000000, 52000000) ","
        EVENT("segment_free", 150000000000000, 52428800) ","
        OOM(1000, 99000000);

    (void)state;
    expect_text("", events,
                "a 0 5000000 0\nf 0\na 1 52000000 0\nf 1\n"
                "m out of memory: 99000000 bytes requested, 1000 free\n"
                "a 2 99000000 0\nf 2\n");
}

static void contradictions_in_a_recording_are_counted(void **state)
{
    struct made m;

    (void)state;
    make("",
         EVENT("alloc", 140000000000000, 100) ","
        EVENT("alloc", 140000000000000, 200) ","
        FREED(140000000000000, 200) ","
        EVENT("alloc", 140000000000512, 0) ","
        OOM(0, 512),
         &m);
    assert_int_equal(m.notes.overwritten, 1);
    assert_int_equal(m.notes.zero_sizes, 1);
    assert_int_equal(m.notes.recorded_ooms, 1);
    assert_true(m.trace.has_refused);
    assert_int_equal(m.trace.refused, 3);
    assert_int_equal(m.notes.rolled_back, 0);
    trace_free(&m.trace);
}

static uint64_t driver_allocs(const struct trace *t)
{
    struct replay_options o = {.policy = LARDER_POLICY_PYTORCH};
    struct replay_result r;
    struct tool_error error;
    uint64_t n;

    if (!replay_run(t, &o, &r, &error))
        fail_msg("not run: %s", error.text);
    assert_int_equal(r.oom_count, 0);
    n = r.driver_allocs;
    replay_result_free(&r);
    return n;
}

/* The private pool does not use the freed block of the default pool, but its
 * own. */
static void pools_are_private_in_a_replay(void **state)
{
    struct made m;

    (void)state;
    make(
        "",
        EVENT("alloc", 140000000000000, 500) ","
        FREED(140000000000000, 500) ","
        EVENT_IN("alloc", 150000000000000, 500, 3) ","
        FREED(150000000000000, 500) ","
        EVENT_IN("alloc", 150000000000000, 500, 3) ","
        EVENT("alloc", 140000000000000, 500),
        &m);
    assert_int_equal(m.notes.pools, 1);
    assert_int_equal(m.notes.pool_allocs, 2);
    assert_int_equal(m.notes.unpooled, 0);
    assert_int_equal(driver_allocs(&m.trace), 2);
    trace_free(&m.trace);
}

/* clang-format on */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_renumbered_and_the_default_stays),
        cmocka_unit_test(blocks_older_than_the_recording_come_first_by_address),
        cmocka_unit_test(late_completion_becomes_a_recorded_stream),
        cmocka_unit_test(frees_do_not_wait_where_none_was_seen_completed),
        cmocka_unit_test(memory_given_back_for_nothing_is_empty_cache),
        cmocka_unit_test(giving_back_a_fit_is_empty_cache),
        cmocka_unit_test(making_room_is_not_empty_cache),
        cmocka_unit_test(contradictions_in_a_recording_are_counted),
        cmocka_unit_test(pools_are_private_in_a_replay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
