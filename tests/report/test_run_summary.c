/* test_run_summary.c - the figures of a run: what its segments cost the driver,
 * its peak and the time of it, its curves, the peaks of its iterations, and what the
 * next step begins with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <larder/device.h>

#include "made_run.h"
#include "made_snapshot.h"
#include "support/count.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* ---- the driver ------------------------------------------------------------ */

static uint64_t driver_ns(const char *lines)
{
    struct made_run m;
    uint64_t ns;

    made_run(lines, NULL, &m);
    ns = m.r.driver_ns;
    made_run_free(&m);
    return ns;
}

static void a_segment_costs_a_call_and_what_is_above_2_MiB(void **state)
{
    larder_prices p;

    (void)state;
    larder_prices_init(&p);
    assert_true(p.mem_alloc > 0 && p.mem_alloc_per_mib > 0 && p.mem_free > 0);
    assert_int_equal(driver_ns("segment_alloc 0 1MiB\n"), p.mem_alloc);
    assert_int_equal(driver_ns("segment_alloc 0 2MiB\n"), p.mem_alloc);
    assert_int_equal(driver_ns("segment_alloc 0 3MiB\n"),
                     p.mem_alloc + p.mem_alloc_per_mib);
    assert_int_equal(driver_ns("segment_alloc 0 20MiB\n"),
                     p.mem_alloc + 18 * p.mem_alloc_per_mib);
    assert_int_equal(driver_ns("segment_alloc 0 2MiB\nsegment_free 0 2MiB\n"),
                     p.mem_alloc + p.mem_free);
}

/* Large segments grow by pages of 20 MiB, small ones by pages of 2 MiB, and a
 * page that is not full costs as one that is. */
static void mapped_memory_costs_by_the_page(void **state)
{
    static const struct {
        const char *size;
        uint64_t pages, more_mib;
    } maps[] = {
        {"1", 1, 0},         {"2097151", 1, 0}, {"2097152", 1, 0},
        {"2097153", 2, 0},   {"4MiB", 2, 0},    {"18MiB", 9, 0},
        {"20971519", 10, 0}, {"20MiB", 1, 18},  {"20971521", 11, 0},
        {"22MiB", 11, 0},    {"40MiB", 2, 36},  {"100MiB", 5, 90},
    };
    larder_prices p;

    (void)state;
    larder_prices_init(&p);
    assert_true(p.page_create > 0 && p.map > 0 && p.page_create_per_mib > 0 &&
                p.set_access > 0 && p.unmap > 0 && p.page_release > 0);
    for (size_t i = 0; i < COUNT(maps); i++) {
        char lines[128];
        uint64_t mapped = maps[i].pages * (p.page_create + p.map) +
                          maps[i].more_mib * p.page_create_per_mib +
                          p.set_access;

        snprintf(lines, sizeof lines, "segment_map 0 %s\n", maps[i].size);
        if (driver_ns(lines) != mapped)
            fail_msg("%s takes %ju ns, expected %ju", lines,
                     (uintmax_t)driver_ns(lines), (uintmax_t)mapped);
        snprintf(lines, sizeof lines, "segment_map 0 %s\nsegment_unmap 0 %s\n",
                 maps[i].size, maps[i].size);
        if (driver_ns(lines) !=
            mapped + p.unmap + maps[i].pages * p.page_release)
            fail_msg("%s takes %ju ns", lines, (uintmax_t)driver_ns(lines));
    }
}

static void other_events_cost_the_driver_nothing(void **state)
{
    (void)state;
    assert_int_equal(driver_ns("alloc 0 4MiB\nfree_requested 0 4MiB\n"
                               "free_completed 0 4MiB\noom 1MiB 90MiB\n"),
                     0);
}

/* ---- times ----------------------------------------------------------------- */

enum { NO_TIME = -1 };

/* In September 2020, in microseconds. */
#define NOON INT64_C(1600000000000000)

/* Events of 1 MiB each, so many microseconds after noon. */
static struct snapshot *at_times(const int64_t *times, const char *lines)
{
    struct snapshot *s = made_snapshot(lines, NULL);

    for (size_t i = 0; i < s->event_count; i++) {
        s->events[i].time_us = NOON + times[i];
        if (times[i] == NO_TIME)
            s->events[i].has &= (uint8_t)~SNAPSHOT_HAS_TIME;
    }
    return s;
}

static void times_are(const int64_t *times, const char *lines, int64_t peak_us,
                      int64_t duration_us)
{
    struct made_run m;

    made_run_of(at_times(times, lines), &m);
    assert_int_equal(m.r.peak_us, peak_us);
    assert_int_equal(m.r.duration_us, duration_us);
    made_run_free(&m);
}

static void the_peak_has_its_time_since_the_first_event(void **state)
{
    static const char run[] = "alloc 0 1MiB\nalloc 1 1MiB\n"
                              "free_requested 0 1MiB\nalloc 2 512\n";

    (void)state;
    times_are((const int64_t[]){50, 57, 60, 69}, run, 7, 19);
    /* The first event, and the last. */
    times_are((const int64_t[]){50, 57, 60},
              "alloc 0 1MiB\nfree_requested 0 "
              "1MiB\nalloc 2 512\n",
              0, 10);
    times_are((const int64_t[]){50, 57}, "alloc 0 1MiB\nalloc 1 1MiB\n", 7, 7);
    times_are((const int64_t[]){50}, "alloc 0 1MiB\n", 0, 0);
}

static void a_clock_that_steps_back_ends_nothing(void **state)
{
    static const char run[] = "alloc 0 1MiB\nalloc 1 1MiB\nalloc 2 1MiB\n"
                              "free_requested 0 1MiB\n";

    (void)state;
    times_are((const int64_t[]){50, 90, 70, 60}, run, 40, 40);
    times_are((const int64_t[]){50, 20, 30, 40}, run, 0, 0);
}

static void events_without_a_time_are_passed_over(void **state)
{
    static const char run[] = "alloc 0 1MiB\nalloc 1 1MiB\nalloc 2 1MiB\n"
                              "free_requested 0 1MiB\n";

    (void)state;
    times_are((const int64_t[]){NO_TIME, 50, 57, 60}, run, 7, 10);
    times_are((const int64_t[]){50, 57, NO_TIME, 60}, run, 0, 10);
    times_are((const int64_t[]){NO_TIME, NO_TIME, NO_TIME, NO_TIME}, run, 0, 0);
}

static void numbers_of_events_are_not_times(void **state)
{
    static const char run[] = "alloc 0 1MiB\nalloc 1 1MiB\n";

    (void)state;
    times_are((const int64_t[]){1 - NOON, 2 - NOON}, run, 0, 0);
}

/* ---- curves ---------------------------------------------------------------- */

/* The first of equal peaks. */
static void each_peak_is_that_of_its_own_curve(void **state)
{
    struct made_run m;

    (void)state;
    made_run("segment_alloc 0 20MiB\nalloc 0 8MiB\nsegment_free 0 20MiB\n"
             "free_requested 0 8MiB\nalloc 0 9MiB\nfree_requested 0 9MiB\n"
             "alloc 0 9MiB\n",
             NULL, &m);
    assert_int_equal(m.r.peak_reserved, MIB(20));
    assert_int_equal(m.r.peak_allocated, MIB(9));
    assert_int_equal(m.r.peak_requested, MIB(9));
    assert_int_equal(m.r.peak_state, 5);
    made_run_free(&m);
}

/* Each state of the run appears in one column, in proportion. */
static void columns_cover_the_run(void **state)
{
    enum { EVENTS = 100 };
    char lines[8192] = "";
    uint64_t expected[RUN_COLUMNS] = {0};
    struct made_run m;

    (void)state;
    for (int i = 0; i < EVENTS; i++)
        sprintf(lines + strlen(lines), "alloc %d 1MiB 0 m.py:7:layer\n", i);
    for (int i = 0; i <= EVENTS; i++)
        expected[i * RUN_COLUMNS / (EVENTS + 1)] = MIB(i);
    made_run(lines, NULL, &m);
    for (int i = 0; i < RUN_COLUMNS; i++)
        assert_int_equal(m.r.allocated[i], expected[i]);
    assert_int_equal(m.r.peak_state, EVENTS);
    made_run_free(&m);
}

/* A column for each state: nothing is between them. */
static void as_many_states_as_columns_have_one_each(void **state)
{
    char lines[8192] = "";
    struct made_run m;

    (void)state;
    for (int i = 0; i + 1 < RUN_COLUMNS; i++)
        strcat(lines,
               i % 2 == 0 ? "alloc 0 1MiB\n" : "free_requested 0 1MiB\n");
    made_run(lines, NULL, &m);
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        assert_int_equal(m.r.allocated[i], MIB(i % 2));
        assert_int_equal(m.r.requested[i], MIB(i % 2));
        assert_int_equal(m.r.reserved[i], 0);
    }
    made_run_free(&m);
}

/* The first state has a column too, and what is older than the recording. */
static void a_run_may_begin_at_its_peak(void **state)
{
    struct made_run m;

    (void)state;
    made_run("free_requested 0 8MiB\nalloc 0 3MiB\n", NULL, &m);
    assert_int_equal(m.r.peak_state, 0);
    assert_int_equal(m.r.peak_allocated, MIB(8));
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(m.r.allocated[i], MIB(8));
    made_run_free(&m);
}

/* With one state less than columns the last repeats the one before. */
static void no_column_is_empty_for_want_of_a_state(void **state)
{
    char lines[4096] = "";
    struct made_run m;

    (void)state;
    for (int i = 0; i < RUN_COLUMNS - 2; i++)
        strcat(lines, "alloc + 512\n");
    made_run(lines, NULL, &m);
    for (size_t i = 0; i + 1 < RUN_COLUMNS; i++)
        assert_int_equal(m.r.requested[i], i * 512);
    assert_int_equal(m.r.requested[RUN_COLUMNS - 1], (RUN_COLUMNS - 2) * 512);
    made_run_free(&m);
}

/* Five states over sixty columns, twelve each: also of one in which nothing is
 * left. */
static void few_states_have_several_columns_each(void **state)
{
    static const uint64_t reserved[] = {0, MIB(20), MIB(20), MIB(20), 0};
    static const uint64_t allocated[] = {0, 0, MIB(8), 0, 0};
    struct made_run m;

    (void)state;
    made_run("segment_alloc 0 20MiB\nalloc 0 8MiB\nfree_requested 0 8MiB\n"
             "segment_free 0 20MiB\n",
             NULL, &m);
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        assert_int_equal(m.r.reserved[i], reserved[i / 12]);
        assert_int_equal(m.r.allocated[i], allocated[i / 12]);
        assert_int_equal(m.r.requested[i], allocated[i / 12]);
    }
    made_run_free(&m);
}

/* ---- iterations ------------------------------------------------------------ */

static void assert_steady(const char *lines, bool wanted)
{
    struct made_run m;

    made_run(lines, NULL, &m);
    assert_int_equal(m.r.steady, wanted);
    made_run_free(&m);
}

/* Three iterations that need 40 MiB, of which the last begins with `kept` more
 * than the second. */
static const char *three_of_40_MiB(uint64_t kept)
{
    static char lines[1024];

    snprintf(lines, sizeof lines,
             "mark step START\nalloc 0 7MiB\n"
             "mark step START\nalloc 100 40MiB\nfree_requested 100 40MiB\n"
             "alloc 200 %ju\n"
             "mark step START\nalloc 100 1MiB\nfree_requested 100 1MiB\n",
             (uintmax_t)kept);
    return lines;
}

/* At most a quarter of what an iteration allocates on top; the first iteration
 * makes what stays. */
static void iterations_that_begin_alike_are_steady(void **state)
{
    (void)state;
    assert_steady("alloc 0 1MiB\n", false);
    /* 47 MiB at most, 7 MiB and `kept` at the last beginning. */
    assert_steady(three_of_40_MiB(512), true);
    assert_steady(three_of_40_MiB(MIB(8)), true);
    assert_steady(three_of_40_MiB(MIB(8) + 512), false);
    assert_steady(three_of_40_MiB(MIB(40)), false);
}

/* However little it is. */
static void iterations_of_a_few_bytes_are_steady(void **state)
{
    struct made_run m;

    (void)state;
    made_run("mark step START\nalloc 0 1\nfree_requested 0 1\n"
             "mark step START\nalloc 0 1\nfree_requested 0 1\n"
             "mark step START\nalloc 0 1\nfree_requested 0 1\n",
             NULL, &m);
    assert_true(m.r.steady);
    made_run_free(&m);
}

static void iterations_that_need_nothing_are_not_steady(void **state)
{
    (void)state;
    assert_steady("alloc 0 8MiB\n"
                  "mark step START\nfree_requested 0 8MiB\nalloc 0 8MiB\n"
                  "mark step START\nfree_requested 0 8MiB\nalloc 0 8MiB\n"
                  "mark step START\nfree_requested 0 8MiB\n",
                  false);
}

/* From its first state to the first of the next, or to the end. */
static void an_iterations_peak_counts_all_its_events(void **state)
{
    static const uint64_t peaks[] = {MIB(9), MIB(11), MIB(5), MIB(6)};
    struct made_run m;

    (void)state;
    made_run("alloc 0 9MiB\n"
             "mark step START\nfree_requested 0 9MiB\nalloc 0 3MiB\n"
             "mark step START\nalloc 10 8MiB\nfree_requested 10 8MiB\n"
             "mark step START\nalloc 20 2MiB\n"
             "mark step START\nalloc 30 1MiB\n",
             NULL, &m);
    assert_int_equal(m.r.iterations.count, COUNT(peaks));
    for (size_t i = 0; i < COUNT(peaks); i++)
        assert_int_equal(m.r.iteration_peaks[i], peaks[i]);
    made_run_free(&m);
}

/* ---- the next step --------------------------------------------------------- */

/* What begins before these calls lives long. */
#define CALLS                                                                  \
    "repeat 40\nalloc 9000 50KiB 0 h.py:1:h\nfree_requested 9000 50KiB\nend\n"
/* Weights and a pass: with a call's, a hundred times 1 MiB and 512 bytes. */
#define PASS                                                                   \
    "alloc 0 60MiB 0 m.py:1:__init__\nalloc 100 40MiB 0 "                      \
    "m.py:2:forward\n" CALLS "free_requested 100 40MiB\n"
#define STATE(address, size)                                                   \
    "alloc " address " " size " 0 a/optim/o.py:1:step\n"

static void next_is(const char *lines, uint64_t bytes)
{
    struct made_run m;

    made_run(lines, NULL, &m);
    assert_int_equal(report_next_step(&m.r), bytes);
    made_run_free(&m);
}

static void the_next_step_begins_with_the_state_that_stays(void **state)
{
    (void)state;
    next_is(PASS STATE("200", "30MiB") CALLS, MIB(30));
    next_is(STATE("300", "5MiB") PASS STATE("200", "30MiB") CALLS, MIB(30));
    next_is(PASS STATE("300", "5MiB") CALLS
            "free_requested 300 5MiB\n" STATE("200", "30MiB") CALLS,
            MIB(30));
    next_is(STATE("200", "30MiB") PASS CALLS, 0);
    next_is(STATE("200", "30MiB")
                PASS STATE("300", "5MiB") "free_requested 200 30MiB\n",
            0);
}

static void the_next_step_is_known_where_it_is_recorded(void **state)
{
    (void)state;
    next_is(
        PASS STATE("200", "30MiB") "alloc 100 1049088 0 m.py:2:forward\n" CALLS,
        MIB(30));
    next_is(
        PASS STATE("200", "30MiB") "alloc 100 1049600 0 m.py:2:forward\n" CALLS,
        0);
    next_is(PASS STATE("200", "30MiB") CALLS "oom 0 4MiB\n", 0);
}

static void a_hundredth_of_the_peak_is_no_state(void **state)
{
    (void)state;
    next_is(PASS STATE("200", "1049088") CALLS, 0);
    next_is(PASS STATE("200", "1049600") CALLS, MIB(1) + 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_costs_a_call_and_what_is_above_2_MiB),
        cmocka_unit_test(mapped_memory_costs_by_the_page),
        cmocka_unit_test(other_events_cost_the_driver_nothing),
        cmocka_unit_test(the_peak_has_its_time_since_the_first_event),
        cmocka_unit_test(a_clock_that_steps_back_ends_nothing),
        cmocka_unit_test(events_without_a_time_are_passed_over),
        cmocka_unit_test(numbers_of_events_are_not_times),
        cmocka_unit_test(each_peak_is_that_of_its_own_curve),
        cmocka_unit_test(columns_cover_the_run),
        cmocka_unit_test(as_many_states_as_columns_have_one_each),
        cmocka_unit_test(a_run_may_begin_at_its_peak),
        cmocka_unit_test(no_column_is_empty_for_want_of_a_state),
        cmocka_unit_test(few_states_have_several_columns_each),
        cmocka_unit_test(iterations_that_begin_alike_are_steady),
        cmocka_unit_test(iterations_of_a_few_bytes_are_steady),
        cmocka_unit_test(iterations_that_need_nothing_are_not_steady),
        cmocka_unit_test(an_iterations_peak_counts_all_its_events),
        cmocka_unit_test(the_next_step_begins_with_the_state_that_stays),
        cmocka_unit_test(the_next_step_is_known_where_it_is_recorded),
        cmocka_unit_test(a_hundredth_of_the_peak_is_no_state),
    };

    return run_guarded_tests(tests);
}
