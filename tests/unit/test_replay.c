/* test_replay.c - what a replay places, counts and writes. */
#include "base/host.h"
#include "unit/replay_rig.h"

/* The placements of a replay, for the caller to free. */
static char *placements_of(const char *text, const char *device)
{
    struct replay_options o = pytorch_on(device);
    struct replay_result result;
    char *lines;
    size_t count;

    o.placements = open_memstream(&lines, &count);
    assert_non_null(o.placements);
    result = run(text, &o);
    fclose(o.placements);
    replay_result_free(&result);
    return lines;
}

static void expect_placements(const char *text, const char *device,
                              const char *expected)
{
    char *lines = placements_of(text, device);

    assert_string_equal(lines, expected);
    free(lines);
}

/* ---- placements and counts --------------------------------------------- */

static void placements_are_relative_to_the_first_region(void **state)
{
    (void)state;
    expect_placements("a 0 512\na 1 512\na 2 4194304\n", NULL,
                      "p 0 0\np 1 512\np 2 2097152\n");
}

static void nothing_is_placed_for_no_bytes(void **state)
{
    (void)state;
    expect_placements("a 0 0\nr 0 1\nf 0\na 1 1\n", NULL, "p 0 null\np 1 0\n");
}

static void operations_on_a_failed_allocation_are_ignored(void **state)
{
    (void)state;
    expect_placements("a 0 99999999\nr 0 1\nf 0\na 1 1\n", "sim:4MiB",
                      "p 0 oom\np 1 0\n");
}

static void recording_the_own_stream_changes_nothing(void **state)
{
    (void)state;
    expect_placements("a 0 512 3\nr 0 3\nf 0\na 1 512 3\n", NULL,
                      "p 0 0\np 1 0\n");
}

static void recorded_memory_waits_until_its_stream_completed(void **state)
{
    (void)state;
    expect_placements("a 0 512\nr 0 1\nf 0\na 1 512\nc 1\na 2 512\n", NULL,
                      "p 0 0\np 1 512\np 2 0\n");
}

static void immediate_events_may_be_asked_for(void **state)
{
    (void)state;
    expect_placements("a 0 512\nr 0 1\nf 0\na 1 512\n",
                      "sim:1GiB,events=immediate", "p 0 0\np 1 0\n");
}

static void failures_are_counted_and_explained(void **state)
{
    struct replay_options o = pytorch_on("sim:64MiB");
    struct replay_result r = run("m x\na 0 4194304\ne\na 1 99999999\nf 1\n"
                                 "a 2 99999999\nf 0\n",
                                 &o);

    (void)state;
    assert_int_equal(r.ops, 6);
    assert_int_equal(r.oom_op, 3);
    assert_int_equal(r.oom_count, 2);
    assert_non_null(strstr(r.oom_text, "Tried to allocate"));
    replay_result_free(&r);
}

static void requested_bytes_do_not_count_what_failed(void **state)
{
    struct replay_options o = pytorch_on("sim:64MiB");
    struct replay_result r =
        run("a 0 1000000\na 1 999999999\na 2 2000000\nf 0\na 3 500\n", &o);

    (void)state;
    assert_int_equal(r.peak_requested_bytes, 3000000);
    replay_result_free(&r);
}

static void the_driver_is_counted_in_the_cold_pass_alone(void **state)
{
    static const char text[] = "a 0 31457280\nf 0\ne\na 1 512\n";
    struct replay_options o = pytorch_on(NULL);
    struct replay_result once = run(text, &o);
    struct replay_result often;

    (void)state;
    o.repeat = 5;
    often = run(text, &o);
    assert_int_equal(once.driver_allocs, 2);
    assert_int_equal(once.driver_frees, 1);
    assert_int_equal(often.driver_allocs, 2);
    assert_int_equal(often.driver_frees, 1);
    /* 30 MiB: 60 000 ns and 28 times 100, 60 000 to free it, then 2 MiB. */
    assert_int_equal(once.driver_time_ns, 182800);
    assert_int_equal(often.driver_time_ns, once.driver_time_ns);
    assert_int_equal(once.driver_calls, 3);
    assert_true(once.ns_per_op < 0);
    assert_true(often.ns_per_op > 0);
    replay_result_free(&once);
    replay_result_free(&often);
}

static void fragmentation_is_that_of_the_highest_allocated(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r;

    (void)state;
    /* At most 15 of 20 MiB are allocated; neither the moment when all were
     * reserved for the first 5 nor what comes later counts. */
    r = run("a 0 5242880\na 1 10485760\nf 0\na 2 30\n", &o);
    assert_float_equal(r.peak_fragmentation, 0.25, 1e-9);
    replay_result_free(&r);
    r = run("e\n", &o);
    assert_true(r.peak_fragmentation < 0);
    replay_result_free(&r);
}

static void waits_are_counted(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r = run("a 0 512\nr 0 1\nf 0\ne\n", &o);

    (void)state;
    assert_int_equal(r.stream_syncs, 1);
    replay_result_free(&r);
}

/* Run the cold pass and two timed ones, and return the allocator's statistics
 * over all of them. */
static larder_stats stats_after_timing(const char *text, const char *device)
{
    struct replay_options o = pytorch_on(device);
    struct replay_work work = {.options = &o};
    struct replay_session session;
    struct replay_result result = {0};
    struct tool_error error;
    struct trace t;
    larder_stats st;

    o.repeat = 2;
    read_text(text, &t);
    assert_true(replay_session_open(&t, &work, 0, &session, &error));
    assert_true(replay_pass_cold(&session, &result, &error));
    if (!replay_pass_timed(&session, &result, &error))
        fail_msg("not timed: %s", error.text);
    larder_stats_init(&st);
    assert_int_equal(larder_stats_get(session.allocator, &st), LARDER_OK);
    replay_session_close(&session);
    replay_result_free(&result);
    trace_free(&t);
    return st;
}

static void every_pass_begins_with_nothing_live(void **state)
{
    /* Three quarters of the device stay live at the end of the trace. */
    larder_stats st =
        stats_after_timing("a 0 25165824\na 1 25165824\n", "sim:64MiB");

    (void)state;
    assert_int_equal(st.num_ooms, 0);
    assert_int_equal(st.num_device_alloc, 2);
    assert_int_equal(st.allocation.all.allocated, 8);
    assert_int_equal(st.allocation.all.current, 2);
}

static void every_pass_begins_with_all_work_done(void **state)
{
    /* The stream of the block that stays live was recorded: its memory is free
     * again in the next pass only if that stream has completed by then. */
    larder_stats st = stats_after_timing("a 0 25165824\nr 0 2\n", "sim:64MiB");

    (void)state;
    assert_int_equal(st.num_ooms, 0);
    assert_int_equal(st.num_device_alloc, 1);
    assert_int_equal(st.num_sync_all_streams, 0);
}

static void an_allocation_may_fail_in_a_later_pass_only(void **state)
{
    /* The cold pass ends with one segment of 30 MiB; the next one splits it for
     * the small request, and then has no room for the large one. */
    larder_stats st =
        stats_after_timing("a 0 3145728\na 1 31457280\nf 0\ne\n", "sim:50MiB");

    (void)state;
    assert_true(st.num_ooms > 0);
}

static void statistics_are_written_at_intervals_and_at_the_end(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r;
    char *lines;
    size_t count;
    const char *second;

    (void)state;
    o.stats = open_memstream(&lines, &count);
    o.stats_every = 2;
    r = run("a 0 512\nm x\na 1 700\nf 0\n", &o);
    fclose(o.stats);
    assert_int_equal(strncmp(lines, "s 2 allocation.all=2/2/2/0 ", 27), 0);
    assert_non_null(strstr(lines, " requested_bytes.all=1212/1212/1212/0 "));
    second = strchr(lines, '\n');
    assert_non_null(second);
    assert_int_equal(strncmp(second, "\ns 3 allocation.all=1/2/2/1 ", 28), 0);
    assert_non_null(strstr(second, " num_device_free=0"));
    assert_int_equal(lines[count - 1], '\n');
#define X(name, text)                                                          \
    assert_non_null(strstr(second, " " #name ".all="));                        \
    assert_non_null(strstr(second, " " #name ".small_pool="));                 \
    assert_non_null(strstr(second, " " #name ".large_pool="));
    LARDER_METRIC_MAP(X)
#undef X
    assert_non_null(strstr(second, " oversize_allocations=0/0/0/0 "));
    assert_non_null(strstr(second, " oversize_segments=0/0/0/0 "));
    replay_result_free(&r);
    free(lines);
}

static void the_last_statistics_are_written_once(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r;
    char *lines;
    size_t count;

    (void)state;
    o.stats = open_memstream(&lines, &count);
    o.stats_every = 2;
    r = run("a 0 512\nf 0\n", &o);
    fclose(o.stats);
    assert_ptr_equal(strchr(lines, '\n'), lines + count - 1);
    replay_result_free(&r);
    free(lines);
}

struct told {
    uint64_t to_do;
    uint64_t done;
    uint64_t most; /* at once */
};

static void add_told(void *ctx, uint64_t more_to_do, uint64_t more_done)
{
    struct told *told = ctx;

    told->to_do += more_to_do;
    told->done += more_done;
    told->most = more_done > told->most ? more_done : told->most;
    assert_true(told->done <= told->to_do);
}

/* Current, peak, allocated and freed, of all, small and large. */
static void statistics_are_written_in_order(void **state)
{
    larder_stats st;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    larder_stats_init(&st);
    st.allocation.all = (larder_stat){1, 2, 3, 4};
    st.allocation.small_pool = (larder_stat){5, 6, 7, 8};
    st.allocation.large_pool = (larder_stat){9, 10, 11, 12};
    st.oversize_allocations = (larder_stat){13, 14, 15, 16};
    st.oversize_segments = (larder_stat){17, 18, 19, 20};
    st.num_ooms = 21;
    assert_true(replay_stats_write(out, 22, &st));
    assert_int_equal(fclose(out), 0);
    assert_memory_equal(text, "s 22 ", 5);
    assert_non_null(strstr(text, " allocation.all=1/2/3/4 "
                                 "allocation.small_pool=5/6/7/8 "
                                 "allocation.large_pool=9/10/11/12 "));
    assert_non_null(strstr(text, " oversize_allocations=13/14/15/16 "
                                 "oversize_segments=17/18/19/20 "));
    assert_non_null(strstr(text, " num_ooms=21"));
    assert_int_equal(strcspn(text, "\n"), size - 1);
    free(text);
}

static void progress_ends_with_all_done(void **state)
{
    struct told told = {0};
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r;

    (void)state;
    o.repeat = 3;
    o.progress = add_told;
    o.progress_ctx = &told;
    r = run("a 0 512\nf 0\n", &o);
    assert_int_equal(told.to_do, 2 * (1 + 1 + 3)); /* cold, warm and timed */
    assert_int_equal(told.done, told.to_do);
    assert_int_equal(told.most, 2); /* a pass */
    replay_result_free(&r);
    for (unsigned repeat = 0; repeat < 2; repeat++) {
        told = (struct told){0};
        o.repeat = repeat;
        r = run("a 0 512\nf 0\n", &o);
        assert_int_equal(told.to_do, repeat == 0 ? 2 : 2 * (1 + 1 + 1));
        assert_int_equal(told.done, told.to_do);
        replay_result_free(&r);
    }
    told = (struct told){0};
    o.repeat = 3;
    o.min_capacity = true;
    r = run("a 0 512\nf 0\n", &o);
    assert_true(told.to_do >= 2 * (1 + 1 + 3 + 2)); /* and some probes */
    assert_int_equal(told.done, told.to_do);
    replay_result_free(&r);
}

static void a_full_disk_ends_a_replay(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    struct replay_result r;
    struct tool_error error;
    struct trace t;

    (void)state;
    o.placements = fopen("/dev/full", "w");
    if (o.placements == NULL)
        skip();
    read_text("a 0 1\n", &t);
    assert_false(replay_run(&t, &o, &r, &error));
    assert_string_equal(error.text, "placements cannot be written: No space "
                                    "left on device");
    fclose(o.placements);
    trace_free(&t);
}

/* Only the first write is refused. */
static ssize_t refuse_once(void *cookie, const char *bytes, size_t count)
{
    int *writes = cookie;

    (void)bytes;
    return (*writes)++ == 0 ? -1 : (ssize_t)count;
}

static void statistics_with_a_hole_end_a_replay(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    int writes = 0;
    struct replay_result r;
    struct tool_error error;
    struct trace t;

    (void)state;
    o.stats = fopencookie(&writes, "w",
                          (cookie_io_functions_t){.write = refuse_once});
    assert_non_null(o.stats);
    assert_int_equal(setvbuf(o.stats, NULL, _IONBF, 0), 0);
    read_text("a 0 1\n", &t);
    assert_false(replay_run(&t, &o, &r, &error));
    assert_non_null(strstr(error.text, "statistics cannot be written"));
    assert_true(writes > 1);
    fclose(o.stats);
    trace_free(&t);
}

/* Marks are not operations. */
static void an_error_names_its_operation(void **state)
{
    struct replay_options o = pytorch_on("sim:1GiB");
    struct replay_result r;
    struct tool_error error;
    struct trace t;
    unsigned seen = 0;
    bool ok = false;

    (void)state;
    read_text("a 0 512\nm step\na 1 512 7\nm step\n", &t);
    for (unsigned long nth = 1; !ok; nth++) {
        unsigned operation = 0;

        larder__host_fail(nth, 1);
        ok = replay_run(&t, &o, &r, &error);
        larder__host_fail(0, 0);
        if (ok)
            replay_result_free(&r);
        else if (sscanf(error.text, "operation %u:", &operation) == 1)
            seen |= 1u << operation;
    }
    assert_int_equal(seen, 1u << 1 | 1u << 2);
    trace_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placements_are_relative_to_the_first_region),
        cmocka_unit_test(nothing_is_placed_for_no_bytes),
        cmocka_unit_test(operations_on_a_failed_allocation_are_ignored),
        cmocka_unit_test(recording_the_own_stream_changes_nothing),
        cmocka_unit_test(recorded_memory_waits_until_its_stream_completed),
        cmocka_unit_test(immediate_events_may_be_asked_for),
        cmocka_unit_test(failures_are_counted_and_explained),
        cmocka_unit_test(requested_bytes_do_not_count_what_failed),
        cmocka_unit_test(the_driver_is_counted_in_the_cold_pass_alone),
        cmocka_unit_test(fragmentation_is_that_of_the_highest_allocated),
        cmocka_unit_test(waits_are_counted),
        cmocka_unit_test(every_pass_begins_with_nothing_live),
        cmocka_unit_test(every_pass_begins_with_all_work_done),
        cmocka_unit_test(an_allocation_may_fail_in_a_later_pass_only),
        cmocka_unit_test(statistics_are_written_at_intervals_and_at_the_end),
        cmocka_unit_test(the_last_statistics_are_written_once),
        cmocka_unit_test(statistics_are_written_in_order),
        cmocka_unit_test(progress_ends_with_all_done),
        cmocka_unit_test(a_full_disk_ends_a_replay),
        cmocka_unit_test(statistics_with_a_hole_end_a_replay),
        cmocka_unit_test(an_error_names_its_operation),
    };

    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
