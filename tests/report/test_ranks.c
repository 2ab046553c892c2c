/* test_ranks.c - the ranks of one job side by side: their figures, the worst, how
 * far they lie apart, outliers, what they have in common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "report/ranks.h"
#include "support/count.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* ---- of a snapshot --------------------------------------------------------- */

static struct report_ranks ranks_of(const char *lines)
{
    struct snapshot *s = made_snapshot(lines, NULL);
    struct report_ranks ranks = {0};
    struct tool_error error;

    assert_true(report_ranks_add(&ranks, "run", s, &error));
    snapshot_free(s);
    return ranks;
}

static void each_device_is_a_rank_with_its_figures(void **state)
{
    struct report_ranks ranks =
        ranks_of("segment_alloc 0 20MiB\nalloc 0 4MiB 0 a.py:1:f\n"
                 "alloc 4 2MiB 0 b.py:2:g\ndevice 1\nalloc 0 1MiB\n");
    const struct report_rank *r = ranks.items;

    (void)state;
    assert_int_equal(ranks.count, 2);
    assert_string_equal(r[0].file, "run");
    assert_int_equal(r[0].device, 0);
    assert_int_equal(r[0].events, 3);
    assert_int_equal(r[0].peak_allocated, MIB(6));
    assert_int_equal(r[0].peak_reserved, MIB(20));
    assert_int_equal(r[0].asked, 0);
    assert_int_equal(r[0].holder_count, 2);
    assert_string_equal(r[0].holders[1].frame, "b.py:2 g");
    assert_int_equal(r[0].holders[1].bytes, MIB(2));
    assert_int_equal(r[1].device, 1);
    assert_int_equal(r[1].peak_allocated, MIB(1));
    report_ranks_free(&ranks);
}

/* A request of unknown size counts as a failure too. */
static void the_last_failure_is_kept(void **state)
{
    struct report_ranks ranks =
        ranks_of("alloc 0 4MiB\noom 0 3MiB\noom 0 9MiB 0 a.py:1:f\n"
                 "device 1\nalloc 0 4MiB\noom 0 0\n");

    (void)state;
    assert_int_equal(ranks.items[0].asked, MIB(9));
    assert_string_equal(ranks.items[0].cause, "not enough memory");
    assert_string_equal(ranks.items[0].requester, "by a.py:1 f");
    assert_int_equal(ranks.items[1].asked, 1);
    assert_string_equal(ranks.items[1].requester, "");
    report_ranks_free(&ranks);
}

/* ---- of peaks -------------------------------------------------------------- */

static struct report_rank items[8];

/* Ranks that allocated so much at their peaks, up to the first 0. */
static struct report_ranks peaks(const uint64_t *allocated)
{
    struct report_ranks ranks = {.items = items};

    memset(items, 0, sizeof items);
    for (; ranks.count < COUNT(items) && allocated[ranks.count] != 0;
         ranks.count++)
        items[ranks.count].peak_allocated = allocated[ranks.count];
    return ranks;
}

#define PEAKS(...) peaks((const uint64_t[9]){__VA_ARGS__})

static void a_failure_is_worse_than_the_highest_peak(void **state)
{
    struct report_ranks ranks = PEAKS(5, 9, 9, 7);

    (void)state;
    assert_int_equal(report_ranks_worst(&ranks), 1);
    assert_int_equal(report_ranks_failed(&ranks), 0);
    items[3].asked = 1;
    assert_int_equal(report_ranks_worst(&ranks), 3);
    items[0].asked = 1;
    assert_int_equal(report_ranks_worst(&ranks), 3);
    assert_int_equal(report_ranks_failed(&ranks), 2);
}

static void of_an_even_number_the_lower_one_is_the_median(void **state)
{
    struct report_ranks ranks = PEAKS(8, 2, 6, 4);
    struct report_spread s = report_ranks_allocated(&ranks);

    (void)state;
    assert_int_equal(s.min, 2);
    assert_int_equal(s.median, 4);
    assert_int_equal(s.max, 8);
    ranks = PEAKS(7, 7, 1);
    assert_int_equal(report_ranks_allocated(&ranks).median, 7);
    items[1].peak_reserved = 3;
    s = report_ranks_reserved(&ranks);
    assert_int_equal(s.min, 0);
    assert_int_equal(s.median, 0);
    assert_int_equal(s.max, 3);
}

/* ---- outliers -------------------------------------------------------------- */

static bool stands_out(const struct report_ranks *ranks, size_t rank,
                       struct report_outlier *out)
{
    struct report_middle middle = report_ranks_middle(ranks);

    return report_ranks_outlier(ranks, &middle, rank, out);
}

static void an_outlier_is_beyond_three_times_what_is_usual(void **state)
{
    struct report_outlier out;
    struct report_ranks ranks = PEAKS(100, 98, 102, 100, 108);

    (void)state;
    assert_int_equal(report_ranks_middle(&ranks).usual, 2);
    assert_false(stands_out(&ranks, 4, &out));
    items[4].peak_allocated = 109;
    assert_true(stands_out(&ranks, 4, &out));
    assert_int_equal(out.rank, 4);
    assert_true(out.over);
    assert_int_equal(out.by, 9);
    assert_null(out.frame);
    items[4].peak_allocated = 91;
    assert_true(stands_out(&ranks, 4, &out));
    assert_false(out.over);
    assert_int_equal(out.by, 9);
}

static void an_outlier_is_off_by_a_twentieth(void **state)
{
    struct report_outlier out;
    struct report_ranks ranks = PEAKS(100, 100, 100, 104);

    (void)state;
    assert_false(stands_out(&ranks, 3, &out));
    items[3].peak_allocated = 105;
    assert_true(stands_out(&ranks, 3, &out));
}

static void holds(struct report_rank *rank, const char *frame, uint64_t bytes)
{
    struct report_holder *h = &rank->holders[rank->holder_count++];

    snprintf(h->frame, sizeof h->frame, "%s", frame);
    h->bytes = bytes;
}

static void the_line_with_most_of_the_difference_is_named(void **state)
{
    struct report_outlier out;
    struct report_ranks ranks = PEAKS(100, 100, 100, 160);

    (void)state;
    holds(&items[1], "a", 50);
    holds(&items[1], "b", 30);
    holds(&items[3], "a", 60);
    holds(&items[3], "b", 55);
    holds(&items[3], "c", 20);
    assert_true(stands_out(&ranks, 3, &out));
    assert_string_equal(out.frame, "b");
    assert_int_equal(out.frame_by, 25);
    /* Of one that holds less, what is missing there; another is the median. */
    items[0] = items[1];
    items[3].peak_allocated = 40;
    items[3].holder_count = 1;
    assert_true(stands_out(&ranks, 3, &out));
    assert_string_equal(out.frame, "b");
    assert_int_equal(out.frame_by, 30);
}

/* What a full list does not name is no more than its last. */
static void a_line_that_is_not_listed_may_hold_what_the_last_does(void **state)
{
    struct report_outlier out;
    struct report_ranks ranks = PEAKS(100, 100, 100, 160);

    (void)state;
    for (int i = 0; i < RANK_HOLDERS; i++)
        holds(&items[1], (const char[]){(char)('a' + i), '\0'}, 10);
    holds(&items[3], "z", 60);
    assert_true(stands_out(&ranks, 3, &out));
    assert_int_equal(out.frame_by, 50);
    items[1].holder_count--;
    assert_true(stands_out(&ranks, 3, &out));
    assert_int_equal(out.frame_by, 60);
}

/* ---- in common ------------------------------------------------------------- */

static void fails(struct report_rank *rank, const char *cause,
                  const char *requester)
{
    rank->asked = 1;
    rank->cause = report_rank_cause(cause);
    assert_non_null(rank->cause);
    snprintf(rank->requester, sizeof rank->requester, "%s", requester);
}

static void failures_are_alike_in_cause_and_requester(void **state)
{
    struct report_ranks ranks = PEAKS(1, 1, 1, 1, 1);

    (void)state;
    assert_int_equal(report_ranks_cause(&ranks).count, 0);
    fails(&items[1], "not enough memory", "f");
    assert_int_equal(report_ranks_cause(&ranks).rank, 1);
    assert_int_equal(report_ranks_cause(&ranks).count, 1);
    fails(&items[2], "not enough memory", "g");
    fails(&items[3], "fragmentation", "g");
    assert_int_equal(report_ranks_cause(&ranks).count, 1);
    fails(&items[4], "not enough memory", "g");
    assert_int_equal(report_ranks_cause(&ranks).rank, 2);
    assert_int_equal(report_ranks_cause(&ranks).count, 2);
    assert_null(report_rank_cause("no cause"));
}

static void holders_are_alike_in_the_first(void **state)
{
    struct report_ranks ranks = PEAKS(1, 1, 1, 1);

    (void)state;
    assert_int_equal(report_ranks_holder(&ranks).count, 0);
    holds(&items[1], "a", 1);
    holds(&items[1], "b", 1);
    holds(&items[2], "b", 1);
    assert_int_equal(report_ranks_holder(&ranks).count, 1);
    assert_int_equal(report_ranks_holder(&ranks).rank, 1);
    holds(&items[3], "b", 1);
    assert_int_equal(report_ranks_holder(&ranks).count, 2);
    assert_int_equal(report_ranks_holder(&ranks).rank, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_is_a_rank_with_its_figures),
        cmocka_unit_test(the_last_failure_is_kept),
        cmocka_unit_test(a_failure_is_worse_than_the_highest_peak),
        cmocka_unit_test(of_an_even_number_the_lower_one_is_the_median),
        cmocka_unit_test(an_outlier_is_beyond_three_times_what_is_usual),
        cmocka_unit_test(an_outlier_is_off_by_a_twentieth),
        cmocka_unit_test(the_line_with_most_of_the_difference_is_named),
        cmocka_unit_test(a_line_that_is_not_listed_may_hold_what_the_last_does),
        cmocka_unit_test(failures_are_alike_in_cause_and_requester),
        cmocka_unit_test(holders_are_alike_in_the_first),
    };

    return run_guarded_tests(tests);
}
