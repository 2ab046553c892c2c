/* test_shortage.c - why a request failed, at the size where the answer
 * changes and one byte beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "report/shortage.h"
#include "support/count.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

static struct tool_error why;
static struct arena arena = {.error = &why};

static void make(const char *lines, struct snapshot **s, struct lifetimes *l,
                 struct shortage *out)
{
    struct tool_error error;

    *s = made_snapshot(lines, NULL);
    assert_true(lifetimes_make(*s, 0, l, &error));
    shortage_make(&arena, l, l->event_count - 1, out);
}

static void unmake(struct snapshot *s, struct lifetimes *l)
{
    arena_end(&arena, true);
    lifetimes_free(l);
    snapshot_free(s);
}

static void cause_is(const char *before, const char *oom,
                     enum shortage_cause cause)
{
    char lines[512];
    struct snapshot *s;
    struct lifetimes l;
    struct shortage shortage;

    snprintf(lines, sizeof lines, "%soom %s\n", before, oom);
    make(lines, &s, &l, &shortage);
    if (shortage.cause != cause)
        fail_msg("%s has cause %d, expected %d", lines, (int)shortage.cause,
                 (int)cause);
    unmake(s, &l);
}

/* Small requests take segments of 2 MiB, medium ones of 20 MiB, large ones what
 * they need in pages of 2 MiB. */
static void a_limit_is_to_blame_if_the_driver_had_a_segment(void **state)
{
    static const struct {
        const char *enough, *too_little; /* of the driver, and asked */
        enum shortage_cause cause;
    } requests[] = {
        {"2MiB 512", "2097151 512", SHORTAGE_PIECES},
        {"2MiB 1MiB", "2097151 1MiB", SHORTAGE_PIECES},
        {"20MiB 1048577", "20971519 1048577", SHORTAGE_PIECES},
        {"20MiB 10485248", "20971519 10485248", SHORTAGE_PIECES},
        {"10MiB 10485249", "10485759 10485249", SHORTAGE_PIECES},
        {"10MiB 10MiB", "10485759 10MiB", SHORTAGE_TOO_MUCH},
        {"12MiB 10485761", "12582911 10485761", SHORTAGE_PIECES},
        {"12MiB 12MiB", "12582911 12MiB", SHORTAGE_TOO_MUCH},
        {"14MiB 12582913", "14680063 12582913", SHORTAGE_PIECES},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        cause_is("", requests[i].enough, SHORTAGE_LIMIT);
        cause_is("", requests[i].too_little, requests[i].cause);
    }
}

#define HALF_USED                                                              \
    "segment_alloc 0 20MiB\nalloc 0 9MiB\n" /* 11 MiB of it are free */

static void what_would_have_fitted_decides(void **state)
{
    (void)state;
    cause_is(HALF_USED, "0 11MiB", SHORTAGE_REFUSED);
    cause_is(HALF_USED, "0 11534337", SHORTAGE_TOO_MUCH);
    cause_is(HALF_USED, "1MiB 12MiB", SHORTAGE_PIECES);
    cause_is(HALF_USED, "1MiB 12582913", SHORTAGE_TOO_MUCH);
    cause_is(HALF_USED, "0 11MiB 7", SHORTAGE_STREAMS);
    cause_is(HALF_USED, "0 11534337 7", SHORTAGE_TOO_MUCH);
    cause_is(HALF_USED, "0 1MiB", SHORTAGE_POOLS);
    cause_is(HALF_USED, "0 1048577", SHORTAGE_REFUSED);
}

/* Of a pool of small requests, 2 MiB of which half are free. */
static void a_small_segment_is_for_small_requests(void **state)
{
    static const char small[] = "segment_alloc 0 2MiB\nalloc 0 1MiB\n";

    (void)state;
    cause_is(small, "0 1MiB", SHORTAGE_REFUSED);
    cause_is("segment_alloc 0 2MiB\nalloc 0 1048064\n", "0 1048577",
             SHORTAGE_POOLS);
    cause_is("segment_alloc 0 2MiB\n", "0 2MiB", SHORTAGE_POOLS);
    cause_is("segment_alloc 0 2MiB\n", "0 2097153", SHORTAGE_TOO_MUCH);
    /* Pages do not tell their pool. */
    cause_is("segment_map 0 20MiB\n", "0 1MiB", SHORTAGE_REFUSED);
    cause_is("segment_map 0 20MiB\n", "0 20MiB", SHORTAGE_REFUSED);
}

static void what_waits_counts_if_it_had_been_enough(void **state)
{
    static const char waiting[] = "segment_alloc 0 20MiB\nalloc 0 9MiB\n"
                                  "alloc 12 3MiB\nfree_requested 12 3MiB\n";

    (void)state;
    cause_is(waiting, "0 8MiB", SHORTAGE_PIECES);
    cause_is(waiting, "0 8388609", SHORTAGE_PENDING);
    cause_is(waiting, "1MiB 12MiB", SHORTAGE_PENDING);
    cause_is(waiting, "1MiB 12582913", SHORTAGE_TOO_MUCH);
}

static void memory_is_counted_by_owner(void **state)
{
    struct snapshot *s;
    struct lifetimes l;
    struct shortage shortage;

    (void)state;
    make("segment_alloc 0 20MiB\nalloc 3 9MiB\n"       /* 3 and 8 free */
         "segment_alloc 30 20MiB\nalloc 32 1MiB\n"     /* 2 and 17 free */
         "segment_alloc 60 20MiB 7\nalloc 60 5MiB 7\n" /* 15 free */
         "segment_alloc 90 22MiB 7\nalloc 90 8MiB 7\n" /* 14 free */
         "segment_alloc 120 2MiB\nalloc 120 512KiB\n"  /* 1.5 free */
         "segment_alloc 130 2MiB\nalloc 130 1MiB\n"    /* 1 free */
         "segment_alloc 140 20MiB 7\nalloc 200 4MiB\n" /* 20 free, whole */
         "alloc 17 1MiB\nfree_requested 17 1MiB\n"     /* leaves 3, 5 and 2 */
         "oom 5MiB 90MiB\n",
         &s, &l, &shortage);
    assert_int_equal(shortage.own_free, MIB(10 + 19));
    assert_int_equal(shortage.own_largest, MIB(17));
    assert_int_equal(shortage.stream_largest, MIB(20));
    assert_int_equal(shortage.pool_largest, MIB(1) + (MIB(1) >> 1));
    assert_int_equal(shortage.whole_free, MIB(20));
    assert_int_equal(shortage.free_bytes,
                     MIB(10 + 19 + 15 + 14 + 2 + 20) + (MIB(1) >> 1));
    /* 106 MiB of segments, more than is in use. */
    assert_int_equal(shortage.attainable, MIB(106 + 5));
    /* The driver's 5 MiB are two pages. */
    assert_int_equal(shortage.would_fit, MIB(17));
    assert_true(shortage.driver_known);
    assert_false(shortage.expandable);
    assert_false(shortage.small);
    unmake(s, &l);
}

/* Pages of 2 MiB, if that is more than what is free already. */
static void what_would_fit_is_the_larger_of_two(void **state)
{
    static const struct {
        const char *driver_free;
        uint64_t fits;
    } drivers[] = {
        {"11MiB", MIB(11)}, {"12582911", MIB(11)}, {"12MiB", MIB(12)},
        {"13MiB", MIB(12)}, {"0", MIB(11)},        {"14MiB", MIB(14)},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(drivers); i++) {
        char lines[256];
        struct snapshot *s;
        struct lifetimes l;
        struct shortage shortage;

        snprintf(lines, sizeof lines, HALF_USED "oom %s 900MiB\n",
                 drivers[i].driver_free);
        make(lines, &s, &l, &shortage);
        assert_int_equal(shortage.would_fit, drivers[i].fits);
        unmake(s, &l);
    }
}

/* Segments may not be recorded. */
static void memory_in_unknown_segments_was_attainable(void **state)
{
    struct snapshot *s;
    struct lifetimes l;
    struct shortage shortage;

    (void)state;
    make("segment_alloc 0 20MiB\nalloc 0 19MiB\nalloc 50 3MiB\n"
         "alloc 60 2MiB\nfree_requested 60 2MiB\noom 4MiB 90MiB\n",
         &s, &l, &shortage);
    assert_int_equal(shortage.attainable, MIB(19 + 3 + 2 + 4));
    unmake(s, &l);
}

/* Snapshots of old versions do not say what the driver had. */
static void what_the_driver_had_may_be_unknown(void **state)
{
    struct snapshot *s = made_snapshot(HALF_USED "oom 4MiB 13MiB\n", NULL);
    struct lifetimes l;
    struct shortage shortage;
    struct tool_error error;

    (void)state;
    s->events[2].has &= (uint8_t)~SNAPSHOT_HAS_ADDRESS;
    assert_true(lifetimes_make(s, 0, &l, &error));
    shortage_make(&arena, &l, 2, &shortage);
    assert_false(shortage.driver_known);
    assert_int_equal(shortage.driver_free, 0);
    assert_int_equal(shortage.attainable, MIB(20));
    assert_int_equal(shortage.cause, SHORTAGE_TOO_MUCH);
    unmake(s, &l);
}

static void pages_that_grew_together_count_once(void **state)
{
    struct snapshot *s;
    struct lifetimes l;
    struct shortage shortage;

    (void)state;
    make("segment_map 0 2MiB\nsegment_map 2 2MiB\nalloc 0 3MiB\n"
         "oom 0 90MiB\n",
         &s, &l, &shortage);
    assert_int_equal(shortage.free_bytes, MIB(1));
    assert_int_equal(shortage.whole_free, 0);
    assert_true(shortage.expandable);
    unmake(s, &l);
}

/* More is in it than it holds, if the recording lost events. */
static void an_overfull_segment_has_nothing_free(void **state)
{
    struct snapshot *s;
    struct lifetimes l;
    struct shortage shortage;

    (void)state;
    make("segment_alloc 0 20MiB\nalloc 0 19MiB\nalloc 2 3MiB\n"
         "oom 0 90MiB\n",
         &s, &l, &shortage);
    assert_int_equal(shortage.free_bytes, 0);
    assert_int_equal(shortage.own_free, 0);
    unmake(s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_to_blame_if_the_driver_had_a_segment),
        cmocka_unit_test(what_would_have_fitted_decides),
        cmocka_unit_test(a_small_segment_is_for_small_requests),
        cmocka_unit_test(what_waits_counts_if_it_had_been_enough),
        cmocka_unit_test(memory_is_counted_by_owner),
        cmocka_unit_test(what_would_fit_is_the_larger_of_two),
        cmocka_unit_test(memory_in_unknown_segments_was_attainable),
        cmocka_unit_test(what_the_driver_had_may_be_unknown),
        cmocka_unit_test(pages_that_grew_together_count_once),
        cmocka_unit_test(an_overfull_segment_has_nothing_free),
    };

    return run_guarded_tests(tests);
}
