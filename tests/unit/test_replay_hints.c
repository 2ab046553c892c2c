/* test_replay_hints.c - lifetime hints derived from a trace. */
#include "unit/replay_rig.h"

/* The hint derived for each of the trace's allocations: L or S. */
static void expect_hints(const char *text, uint64_t after, const char *expected)
{
    char got[16] = "";
    struct trace t;
    struct replay_session s = {.trace = &t};

    read_text(text, &t);
    assert_true(replay_make_hints(&s, after));
    for (size_t id = 0; s.is_long != NULL && id < t.id_count; id++)
        got[id] = s.is_long[id] ? 'L' : 'S';
    assert_string_equal(got, expected);
    replay_session_close(&s);
    assert_null(s.is_long);
    trace_free(&t);
}

static void allocations_before_the_free_are_counted(void **state)
{
    static const char text[] = "a 0 512\na 1 512\nf 1\na 2 512\nf 0\n"
                               "m mark\na 3 512\nf 3\nf 2\n";

    (void)state;
    expect_hints(text, 1, "LSLS");
    expect_hints(text, 2, "LSSS");
    expect_hints(text, 3, "SSSS");
}

static void allocations_never_freed_live_to_the_end(void **state)
{
    (void)state;
    expect_hints("a 0 512\na 1 512\na 2 512\n", 1, "LLS");
    expect_hints("a 0 512\na 1 512\na 2 512\n", 2, "LSS");
}

static void without_a_number_there_are_no_hints(void **state)
{
    (void)state;
    expect_hints("a 0 512\na 1 512\n", 0, "");
}

/* The policy `larder` uses the hints on a device that is nearly full: 150 MB of
 * long-lived memory between short-lived blocks. */
static uint64_t least_for(larder_policy policy, uint64_t after)
{
    struct replay_options o = {
        .policy = policy,
        .conf = "lifetimes:hints",
        .min_capacity = true,
        .hints_after = after,
    };
    struct replay_result r;
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    fprintf(f, "a 0 20971520\nf 0\n");
    for (unsigned i = 0; i < 100; i++) {
        fprintf(f, "a %u %u\na %u 1500000\n", 2 * i + 1,
                (2048 + 400 * (i % 5)) * 1024, 2 * i + 2);
        if (i >= 3)
            fprintf(f, "f %u\n", 2 * i - 5);
    }
    fprintf(f, "f 195\nf 197\nf 199\na 201 209715200\n");
    fclose(f);
    r = run(text, &o);
    free(text);
    assert_int_equal(r.oom_count, 0);
    size = r.min_capacity_bytes;
    replay_result_free(&r);
    return size;
}

static void hints_reach_the_allocator(void **state)
{
    (void)state;
    assert_true(least_for(LARDER_POLICY_LARDER, 20) <
                least_for(LARDER_POLICY_LARDER, 0));
    assert_int_equal(least_for(LARDER_POLICY_PYTORCH, 20),
                     least_for(LARDER_POLICY_PYTORCH, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_before_the_free_are_counted),
        cmocka_unit_test(allocations_never_freed_live_to_the_end),
        cmocka_unit_test(without_a_number_there_are_no_hints),
        cmocka_unit_test(hints_reach_the_allocator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
