/* test_diff.c - what differs between two runs, and what makes them differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "report/report.h"
#include "report/report_words.h"
#include "support/guarded.h"

/* The comparison of two runs; the caller frees it. */
static char *compared(const char *a, const char *b, bool json, size_t top,
                      bool *same)
{
    static const char *const names[2] = {"a", "b"};
    const struct report_options opt = {.top = top};
    struct snapshot *first = made_snapshot(a, NULL);
    struct snapshot *second = made_snapshot(b, NULL);
    const struct snapshot *const runs[2] = {first, second};
    struct tool_error error;
    struct report_text t;
    char *text;

    assert_true(report_text_begin(&t));
    if (!report_write_diff(t.out, names, runs, json, &opt, same, &error))
        fail_msg("%s", error.text);
    text = report_text_take(&t);
    assert_non_null(text);
    snapshot_free(first);
    snapshot_free(second);
    return text;
}

static void has(const char *a, const char *b, bool json, size_t top,
                const char *words)
{
    bool same;
    char *text = compared(a, b, json, top, &same);

    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, text);
    free(text);
}

static void has_not(const char *a, const char *b, bool json, size_t top,
                    const char *words)
{
    bool same;
    char *text = compared(a, b, json, top, &same);

    if (strstr(text, words) != NULL)
        fail_msg("'%s' is in:\n%s", words, text);
    free(text);
}

static void is_same(const char *a, const char *b, bool wanted)
{
    bool same;

    free(compared(a, b, false, 0, &same));
    if (same != wanted)
        fail_msg("told as %s:\n%sand\n%s", same ? "the same" : "different", a,
                 b);
    free(compared(a, b, true, 0, &same));
    assert_int_equal(same, wanted);
}

/* ---- figures --------------------------------------------------------------- */

#define RUN "segment_alloc 0 20MiB\nalloc 0 9MiB\n"

static void peaks_allocations_and_failures_make_runs_differ(void **state)
{
    (void)state;
    is_same(RUN, RUN, true);
    is_same(RUN, "segment_alloc 0 22MiB\nalloc 0 9MiB\n", false);
    is_same(RUN, "segment_alloc 0 20MiB\nalloc 0 9437696\n", false);
    /* As much allocated, by one request of fewer bytes. */
    is_same(RUN, "segment_alloc 0 20MiB\nalloc 0 9437183\n", false);
    is_same(RUN, RUN "free_requested 0 9MiB\nalloc 0 1MiB\n", false);
    is_same(RUN, RUN "oom 0 90MiB\n", false);
    /* What is freed, released or where it lies does not matter. */
    is_same(RUN, RUN "free_requested 0 9MiB\nsegment_free 0 20MiB\n", true);
    is_same(RUN, "segment_alloc 50 20MiB\nalloc 50 9MiB 0 other.py:1:f\n",
            true);
}

static void figures_have_both_values_and_the_change(void **state)
{
    (void)state;
    has(RUN, "segment_alloc 0 20MiB\nalloc 0 6MiB\noom 0 90MiB\n", false, 0,
        "  peak allocated             9.00 MiB       6.00 MiB  -33.3 %\n");
    has(RUN, RUN, false, 0,
        "  peak reserved              20.0 MiB       20.0 MiB  same\n");
    has(RUN, RUN "oom 0 90MiB\n", false, 0,
        "  out of memory                     0              1  new\n");
    has(RUN "oom 0 90MiB\n", RUN, false, 0,
        "  out of memory                     1              0  -100.0 %\n");
    has(RUN,
        RUN "segment_alloc 50 2MiB\nsegment_free 50 2MiB\n"
            "segment_map 60 2MiB\nsegment_unmap 60 2MiB\n",
        false, 0,
        "  calls of the driver               1              5  +400.0 %\n");
}

/* What is in use or waits is not unused. */
static void unused_memory_is_what_is_left_of_the_reserved(void **state)
{
    (void)state;
    has(RUN,
        "segment_alloc 0 20MiB\nalloc 0 3MiB\nfree_requested 0 3MiB\n"
        "alloc 3 12MiB\n",
        true, 0, "\"unused_bytes\":[11534336,5242880]");
    has("alloc 0 3MiB\n", "segment_alloc 0 2MiB\nalloc 0 3MiB\n", true, 0,
        "\"unused_bytes\":[0,0]");
    has("segment_alloc 0 20MiB\nalloc 0 4MiB\nfree_requested 0 4MiB\n"
        "alloc 4 18MiB\n",
        RUN, true, 0, "\"unused_bytes\":[0,11534336]");
}

/* As in a report: JSON's readers know signed numbers only. */
static void figures_too_large_for_json_are_its_largest(void **state)
{
    static const char a[] = "alloc 0 9223372036854775808 0 a.py:1:f\n";

    (void)state;
    has(a, RUN, true, 0,
        "\"peak_requested_bytes\":[9223372036854775807,9437184]");
    has(a, RUN, true, 0,
        "{\"frame\":\"a.py:1 f\",\"bytes\":[9223372036854775807,0]}");
}

/* ---- lines ----------------------------------------------------------------- */

static void lines_are_listed_by_how_much_they_differ(void **state)
{
    static const char a[] = "alloc 0 600 0 c.py:1:f\nalloc 1 1100 0 a.py:1:f\n"
                            "alloc 2 100 0 same.py:1:f\n"
                            "alloc 3 5000 0 b.py:1:f\n";
    static const char b[] = "alloc 2 100 0 same.py:1:f\n"
                            "alloc 1 2600 0 a.py:1:f\nalloc 3 5000 0 d.py:1:f\n"
                            "alloc 0 1100 0 c.py:1:f\n";

    (void)state;
    has(a, b, false, 0,
        "  held at the peak, by line, the most different first\n"
        "    5.00 KiB ->        0 B  b.py:1 f\n"
        "         0 B ->   5.00 KiB  d.py:1 f\n"
        "    1.50 KiB ->   3.00 KiB  a.py:1 f\n"
        "    1.00 KiB ->   1.50 KiB  c.py:1 f\n");
    has_not(a, b, false, 0, "same.py");
    has(a, b, false, 2, "d.py:1 f\n");
    has_not(a, b, false, 2, "a.py");
    has(a, b, false, 1, "b.py:1 f\n");
    has_not(a, b, false, 1, "d.py");
    has(a, b, true, 2,
        "\"lines\":[{\"frame\":\"b.py:1 f\",\"bytes\":[5120,0]},"
        "{\"frame\":\"d.py:1 f\",\"bytes\":[0,5120]}]");
    has(a, b, true, 1,
        "\"lines\":[{\"frame\":\"b.py:1 f\",\"bytes\":[5120,0]}]");
    has_not(a, b, true, 0, "same.py");
    has(a, a, true, 0, "\"lines\":[]");
    has_not(a, a, false, 0, "held at the peak");
    has_not("oom 0 5MiB\n", "oom 0 5MiB\n", false, 0, "held at the peak");
}

static void ten_lines_are_listed_if_none_are_asked_for(void **state)
{
    char lines[1024] = "";

    (void)state;
    for (int i = 0; i < 11; i++)
        sprintf(lines + strlen(lines), "alloc + %d 0 a%02d.py:1:f\n",
                512 * (20 - i), i);
    has(lines, "oom 0 5MiB\n", false, 0, "a09.py");
    has_not(lines, "oom 0 5MiB\n", false, 0, "a10.py");
    has(lines, "oom 0 5MiB\n", false, 11, "a10.py");
}

/* ---- devices --------------------------------------------------------------- */

/* Devices without a figure of either run are left out. */
static void a_device_of_either_run_is_compared(void **state)
{
    (void)state;
    has(RUN "device 1\nalloc 0 4MiB\n", RUN, false, 0, "\ndevice 1\n");
    has(RUN, RUN "device 1\nalloc 0 4MiB\n", false, 0, "\ndevice 1\n");
    has(RUN "device 1\nalloc 0 4MiB\n", RUN, true, 0, "{\"device\":1,");
    has_not("", "", false, 0, "device");
    has("", "", true, 0, "\"devices\":[]");
    has_not(RUN, RUN, false, 0, "device 1");
    is_same(RUN "device 1\nalloc 0 4MiB\n", RUN, false);
    is_same("", "", true);
    /* One difference is enough, on whichever device. */
    is_same(RUN "device 1\nalloc 0 4MiB\n",
            "alloc 0 1MiB\ndevice 1\n"
            "alloc 0 4MiB\n",
            false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_allocations_and_failures_make_runs_differ),
        cmocka_unit_test(figures_have_both_values_and_the_change),
        cmocka_unit_test(unused_memory_is_what_is_left_of_the_reserved),
        cmocka_unit_test(figures_too_large_for_json_are_its_largest),
        cmocka_unit_test(lines_are_listed_by_how_much_they_differ),
        cmocka_unit_test(ten_lines_are_listed_if_none_are_asked_for),
        cmocka_unit_test(a_device_of_either_run_is_compared),
    };

    return run_guarded_tests(tests);
}
