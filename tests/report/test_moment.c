/* test_moment.c - what is there at a moment of a run: segments, what is in use
 * and pending in them, the gaps between, and who holds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "report/explain.h"
#include "report/ranks.h"
#include "support/count.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

static void at_state(struct made_run *run, uint32_t state, struct moment *m)
{
    moment_make(&run->arena, &run->l, state, m);
}

/* ---- what exists ----------------------------------------------------------- */

/* A state is what the events before it have left. */
static void an_allocation_is_in_use_then_pending_then_gone(void **state)
{
    static const uint64_t in_use[] = {0, 1024, 0, 0, 512};
    static const uint64_t pending[] = {0, 0, 1024, 0, 0};
    struct made_run run;

    (void)state;
    made_run("alloc 0 600\nfree_requested 0 600\nfree_completed 0 600\n"
             "alloc 9 100\n",
             NULL, &run);
    for (uint32_t i = 0; i < COUNT(in_use); i++) {
        struct moment m;

        at_state(&run, i, &m);
        assert_int_equal(m.allocated, in_use[i]);
        assert_int_equal(m.pending, pending[i]);
        assert_int_equal(m.requested, i == 1 ? 600 : i == 4 ? 100 : 0);
        assert_int_equal(m.outside, in_use[i] + pending[i]);
        assert_int_equal(m.live_count, in_use[i] + pending[i] > 0);
    }
    made_run_free(&run);
}

static void a_segment_is_there_until_it_is_released(void **state)
{
    static const uint64_t reserved[] = {0, MIB(20), MIB(22), MIB(2), 0};
    struct made_run run;

    (void)state;
    made_run("segment_alloc 50 20MiB\nsegment_map 0 2MiB\n"
             "segment_free 50 20MiB\nsegment_unmap 0 2MiB\n",
             NULL, &run);
    for (uint32_t i = 0; i < COUNT(reserved); i++) {
        struct moment m;

        at_state(&run, i, &m);
        assert_int_equal(m.reserved, reserved[i]);
    }
    made_run_free(&run);
}

/* ---- segments -------------------------------------------------------------- */

/* Only pages of an expandable segment of one stream grow together. */
static void adjacent_pages_of_a_stream_are_one_area(void **state)
{
    static const struct {
        uint64_t address, size;
    } areas[] = {
        {0, 6}, {6, 4}, {12, 2}, {14, 2}, {16, 2}, {18, 2},
    };
    struct made_run run;
    struct moment m;

    (void)state;
    made_run("segment_map 18 2MiB 7\nsegment_alloc 16 2MiB 7\n"
             "segment_alloc 14 2MiB 7\nsegment_map 12 2MiB 7\n"
             "segment_map 8 2MiB 7\nsegment_map 6 2MiB 7\n"
             "segment_map 4 2MiB\nsegment_map 0 2MiB\nsegment_map 2 2MiB\n",
             NULL, &run);
    at_state(&run, 9, &m);
    assert_int_equal(m.reserved, MIB(18));
    assert_int_equal(m.area_count, COUNT(areas));
    for (size_t i = 0; i < COUNT(areas); i++) {
        assert_int_equal(m.areas[i].address, MIB(areas[i].address));
        assert_int_equal(m.areas[i].size, MIB(areas[i].size));
    }
    made_run_free(&run);
}

static void gaps_are_what_lies_between(void **state)
{
    static const struct moment_gap gaps[] = {
        {MIB(20), MIB(1), 0},
        {MIB(22), MIB(3), 0},
        {MIB(27), MIB(2), 0},
        {MIB(50), MIB(2), 1},
    };
    struct made_run run;
    struct moment m;

    (void)state;
    made_run("segment_alloc 50 2MiB\nsegment_alloc 20 10MiB\n"
             "alloc 29 1MiB\nalloc 26 1MiB\nalloc 25 1MiB\nalloc 21 1MiB\n"
             "alloc 60 3MiB\nalloc 40 512\nalloc 10 2MiB\n"
             "free_requested 26 1MiB\n",
             NULL, &run);
    at_state(&run, 10, &m);
    assert_int_equal(m.area_count, 2);
    assert_int_equal(m.gap_count, COUNT(gaps));
    for (size_t i = 0; i < COUNT(gaps); i++) {
        assert_int_equal(m.gaps[i].address, gaps[i].address);
        assert_int_equal(m.gaps[i].size, gaps[i].size);
        assert_int_equal(m.gaps[i].area, gaps[i].area);
    }
    assert_int_equal(m.areas[0].largest_gap, MIB(3));
    assert_int_equal(m.areas[1].largest_gap, MIB(2));
    assert_int_equal(m.areas[0].first, 1);
    assert_int_equal(m.areas[0].count, 4);
    assert_int_equal(m.areas[1].count, 0);
    assert_int_equal(m.areas[0].allocated, MIB(3));
    assert_int_equal(m.areas[0].pending, MIB(1));
    assert_int_equal(m.areas[1].allocated + m.areas[1].pending, 0);
    /* Before, between and behind the segments. */
    assert_int_equal(m.outside, MIB(5) + 512);
    assert_int_equal(m.allocated, MIB(8) + 512);
    assert_int_equal(m.pending, MIB(1));
    assert_int_equal(m.live_count, 7);
    for (size_t i = 1; i < m.live_count; i++)
        assert_true(run.l.allocs[m.live[i - 1]].address <
                    run.l.allocs[m.live[i]].address);
    made_run_free(&run);
}

/* A recording that lost events can have one in another. */
static void what_overlaps_leaves_no_gap(void **state)
{
    struct made_run run;
    struct moment m;

    (void)state;
    made_run("segment_alloc 0 20MiB\nalloc 0 10MiB\nalloc 2 1MiB\n", NULL,
             &run);
    at_state(&run, 3, &m);
    assert_int_equal(m.gap_count, 1);
    assert_int_equal(m.gaps[0].address, MIB(10));
    assert_int_equal(m.gaps[0].size, MIB(10));
    made_run_free(&run);
}

/* ---- holders --------------------------------------------------------------- */

struct wanted_group {
    const char *line; /* NULL: no path was recorded */
    uint64_t bytes, requested, count;
    uint64_t largest; /* its address in MiB */
};

static void the_groups_are(const struct made_run *run,
                           const struct wanted_group *wanted, size_t count)
{
    assert_int_equal(run->r.lines.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct report_group *g = &run->r.lines.items[i];
        char frame[REPORT_FRAME];

        if (wanted[i].line == NULL)
            assert_int_equal(g->key, UINT32_MAX);
        else
            assert_string_equal(report_frame_in(run->s, g->key, false, frame),
                                wanted[i].line);
        assert_int_equal(g->bytes, wanted[i].bytes);
        assert_int_equal(g->requested, wanted[i].requested);
        assert_int_equal(g->count, wanted[i].count);
        assert_int_equal(run->l.allocs[g->largest].address,
                         MIB(wanted[i].largest));
    }
}

/* What is pending counts no more. */
static void lines_hold_sums_of_what_is_in_use(void **state)
{
    static const struct wanted_group wanted[] = {
        {"a.py:1 f", 3072, 2000, 3, 12}, {"b.py:2 g", 2048, 1700, 1, 0},
        {NULL, 1024, 100 + 200, 2, 30},  {"c.py:3 h", 512, 1, 1, 20},
        {"d.py:4 i", 512, 1, 1, 24},
    };
    struct made_run run;

    (void)state;
    made_run("alloc 50 1MiB 0 b.py:2:g\nfree_requested 50 1MiB\n"
             "alloc 0 1700 0 b.py:2:g\nalloc 12 1200 0 a.py:1:f\n"
             "alloc 10 700 0 a.py:1:f\nalloc 14 100 0 a.py:1:f\n"
             "alloc 30 100\nalloc 31 200\n"
             "alloc 20 1 0 c.py:3:h\nalloc 24 1 0 d.py:4:i\n",
             NULL, &run);
    /* The peak is the first event: look at the end instead. */
    at_state(&run, run.l.event_count, &run.r.peak);
    run.r.lines =
        report_groups_make(&run.arena, &run.r.peak, GROUP_BY_LINE, NULL);
    the_groups_are(&run, wanted, COUNT(wanted));
    made_run_free(&run);
}

/* 1536, 1024 and 512 bytes, in which the last two of the three are equal to the
 * last of the first. */
static void the_first_of_equals_is_the_largest(void **state)
{
    static const struct wanted_group wanted[] = {
        {"a.py:1 f", 3072, 2100, 3, 4}};
    struct made_run run;

    (void)state;
    made_run("alloc 4 700 0 a.py:1:f\nalloc 6 700 0 a.py:1:f\n"
             "alloc 8 700 0 a.py:1:f\n",
             NULL, &run);
    the_groups_are(&run, wanted, COUNT(wanted));
    made_run_free(&run);
}

static void the_main_line_is_of_one_category(void **state)
{
    struct made_run run;
    uint32_t frame;

    (void)state;
    made_run("alloc 0 8MiB 0 m.py:1:__init__\nalloc 8 1MiB 0 m.py:2:forward\n"
             "alloc 9 2MiB 0 m.py:3:forward\n",
             NULL, &run);
    frame = report_main_line(&run.arena, &run.r.peak, run.r.categories,
                             REPORT_WEIGHTS);
    assert_int_equal(run.s->frames[frame].line, 1);
    frame = report_main_line(&run.arena, &run.r.peak, run.r.categories,
                             REPORT_ACTIVATIONS);
    assert_int_equal(run.s->frames[frame].line, 3);
    frame = report_main_line(&run.arena, &run.r.peak, run.r.categories,
                             REPORT_GRADIENTS);
    assert_int_equal(frame, UINT32_MAX);
    made_run_free(&run);
}

/* No more than there is room for, largest first, in short. */
static void as_many_holders_are_listed_as_asked(void **state)
{
    struct made_run run;
    struct report_holder holders[4];
    struct tool_error error;
    size_t count = 9;

    (void)state;
    made_run("alloc 0 600 0 /home/a/b.py:2:g\nalloc 1 2300 0 /home/a/a.py:1:f\n"
             "alloc 4 600 0 /home/a/b.py:2:g\nalloc 8 100 0 /home/a/c.py:3:h\n",
             NULL, &run);
    memset(holders, 0, sizeof holders);
    assert_true(report_holders(run.s, 0, 2, holders, &count, &error));
    assert_int_equal(count, 2);
    assert_string_equal(holders[0].frame, "a.py:1 f");
    assert_int_equal(holders[0].bytes, 2560);
    assert_int_equal(holders[0].count, 1);
    assert_string_equal(holders[1].frame, "b.py:2 g");
    assert_int_equal(holders[1].bytes, 2048);
    assert_int_equal(holders[1].count, 2);
    assert_int_equal(holders[2].bytes, 0);
    assert_true(report_holders(run.s, 0, 4, holders, &count, &error));
    assert_int_equal(count, 3);
    assert_string_equal(holders[2].frame, "c.py:3 h");
    made_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_is_in_use_then_pending_then_gone),
        cmocka_unit_test(a_segment_is_there_until_it_is_released),
        cmocka_unit_test(adjacent_pages_of_a_stream_are_one_area),
        cmocka_unit_test(gaps_are_what_lies_between),
        cmocka_unit_test(what_overlaps_leaves_no_gap),
        cmocka_unit_test(lines_hold_sums_of_what_is_in_use),
        cmocka_unit_test(the_first_of_equals_is_the_largest),
        cmocka_unit_test(the_main_line_is_of_one_category),
        cmocka_unit_test(as_many_holders_are_listed_as_asked),
    };

    return run_guarded_tests(tests);
}
