/* test_findings_time.c - what stands out over the time of a run: leaks, growth,
 * late frees, and calls of the driver; at the limit of each rule and just beyond
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "findings_rig.h"
#include "put_lines.h"
#include "support/guarded.h"

/* ---- leaks ----------------------------------------------------------------- */

#define LEAK "Each iteration leaves"

/* A marked iteration that keeps `kept`, unless it is NULL, and frees the
 * rest. */
static void put_iteration(const char *kept, const char *freed)
{
    put("mark step START\n");
    if (kept != NULL)
        put("alloc + %s 0 train.py:9:forward\n", kept);
    put("alloc 0 %s 0 m.py:7:layer\nfree_requested 0 %s\n", freed, freed);
}

/* Iterations that keep these many MiB each, a digit for each; after something
 * that is older than the recording. */
static const char *keeping(const char *mib, const char *freed)
{
    lines[0] = '\0';
    put("free_requested 900 1MiB\n");
    for (; *mib != '\0'; mib++) {
        char kept[] = {*mib, 'M', 'i', 'B', '\0'};

        put_iteration(*mib == '0' ? NULL : kept, freed);
    }
    return lines;
}

static void six_iterations_show_a_leak(void **state)
{
    (void)state;
    is_not_told(keeping("33333", "30MiB"), LEAK);
    is_told(
        keeping("333333", "30MiB"), LEAK " 3.00 MiB behind",
        "of 3 iterations at least that much is never freed; the largest such "
        "allocation of the last one: 3.00 MiB from train.py:9 forward.");
    is_told(keeping("33333333", "30MiB"), LEAK, "each of 5 iterations");
}

/* The first iteration makes state, and the last two may not be complete. */
static void every_iteration_between_has_to_leak(void **state)
{
    (void)state;
    is_told(keeping("033300", "30MiB"), LEAK " 3.00 MiB", "");
    is_not_told(keeping("303333", "30MiB"), LEAK);
    is_not_told(keeping("330333", "30MiB"), LEAK);
    is_not_told(keeping("333033", "30MiB"), LEAK);
    is_told(keeping("924399", "99MiB"), LEAK " 2.00 MiB", "3.00 MiB from");
    is_told(keeping("942399", "99MiB"), LEAK " 2.00 MiB", "3.00 MiB from");
    is_told(keeping("943299", "99MiB"), LEAK " 2.00 MiB", "2.00 MiB from");
}

/* What stays on purpose is more than a fifth of what was allocated. */
static void a_fifth_that_stays_is_a_leak_and_more_is_not(void **state)
{
    (void)state;
    is_told(keeping("333333", "12MiB"), LEAK " 3.00 MiB", "");
    is_not_told(keeping("333333", "12582400"), LEAK);
}

static void the_largest_that_leaks_is_named(void **state)
{
    (void)state;
    lines[0] = '\0';
    for (int i = 0; i < 6; i++) {
        put_iteration(NULL, "90MiB");
        put("alloc + 1MiB 0 a.py:1:forward\nalloc + 2MiB 0 /home/b.py:2:main\n"
            "alloc + 2MiB 0 c.py:3:forward\nalloc + 9MiB 0 d.py:4:__init__\n");
    }
    is_told(lines, LEAK " 5.00 MiB", ": 2.00 MiB from b.py:2 main.");
}

/* Twelve iterations without a mark, with a working set and, if `leak`, something
 * kept from each. */
static const char *twelve_iterations(bool leak)
{
    lines[0] = '\0';
    put("segment_alloc 0 4GiB\n");
    for (int i = 0; i < 12; i++) {
        put_working_set();
        if (leak)
            put("alloc %d 3MiB 0 train.py:9:forward\n", 100 + i * 4);
        put("free_requested 0 8MiB\nfree_completed 0 8MiB\n");
    }
    return lines;
}

static void a_leak_needs_no_marks(void **state)
{
    (void)state;
    is_told(twelve_iterations(true), LEAK " 3.00 MiB behind", "");
    is_not_told(twelve_iterations(false), LEAK);
}

/* ---- requests that grow ---------------------------------------------------- */

#define GROWTH "Requests that grow"

/* From 20 000 KiB on, each so much more than the one before. */
static void put_growing(int count, int step_kib, const char *frame)
{
    for (int i = 0; i < count; i++)
        put("alloc + %dKiB 0 %s\n", 20000 + i * step_kib, frame);
}

static void eight_steps_are_growth(void **state)
{
    (void)state;
    lines[0] = '\0';
    put_growing(8, 100, "a.py:1:cat");
    is_not_told(lines, GROWTH);
    lines[0] = '\0';
    put_growing(9, 100, "/home/a.py:1:cat");
    is_told(lines, GROWTH ": from 19.5 MiB to 20.3 MiB",
            "\na.py:1 cat requested 8 times a little more");
}

/* An equal size is not a step, and not an end. */
static void a_request_of_the_same_size_changes_nothing(void **state)
{
    (void)state;
    lines[0] = '\0';
    put_growing(8, 100, "a.py:1:cat");
    put("alloc + 20700KiB 0 a.py:1:cat\n");
    is_not_told(lines, GROWTH);
    put("alloc + 20800KiB 0 a.py:1:cat\n");
    is_told(lines, GROWTH, "requested 8 times");
}

static void a_step_of_more_than_an_eighth_begins_anew(void **state)
{
    static const char *const second[] = {"9437184", "9437185"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        lines[0] = '\0';
        put("alloc + 8MiB 0 a.py:1:cat\nalloc + %s 0 a.py:1:cat\n", second[i]);
        for (int k = 1; k <= 7; k++)
            put("alloc + %d 0 a.py:1:cat\n", (9 << 20) + k * 1024);
        if (i == 0)
            is_told(lines, GROWTH ": from 8.00 MiB to 9.01 MiB", "8 times");
        else
            is_not_told(lines, GROWTH);
    }
}

static void the_longest_growth_of_a_place_counts(void **state)
{
    (void)state;
    lines[0] = '\0';
    put_growing(10, 100, "a.py:1:cat");
    put_growing(9, 1000, "a.py:1:cat");
    is_told(lines, GROWTH ": from 19.5 MiB to 20.4 MiB", "9 times");
    lines[0] = '\0';
    put_growing(3, 100, "a.py:1:cat");
    put_growing(10, 100, "a.py:1:cat");
    is_told(lines, GROWTH ": from 19.5 MiB to 20.4 MiB", "9 times");
}

static void the_place_that_grew_most_is_named(void **state)
{
    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        lines[0] = '\0';
        put_growing(9, larger == 0 ? 200 : 100, "a.py:1:cat");
        put_growing(9, larger == 0 ? 100 : 200, "b.py:2:cat");
        is_told(lines, GROWTH ": from 19.5 MiB to 21.1 MiB",
                larger == 0 ? "a.py:1" : "b.py:2");
    }
}

static void growth_without_a_call_path_is_not_reported(void **state)
{
    (void)state;
    lines[0] = '\0';
    for (int i = 0; i < 9; i++)
        put("alloc + %dKiB\n", 20000 + i * 100);
    is_not_told(lines, GROWTH);
}

static void growing_requests_are_found(void **state)
{
    (void)state;
    lines[0] = '\0';
    put("segment_alloc 0 4GiB\n");
    for (int i = 0; i < 20; i++)
        put("alloc %d %dKiB 0 cache.py:3:cat\n", i * 40, 20000 + i * 100);
    is_told(lines, GROWTH ": from 19.5 MiB to ", "");
    lines[0] = '\0';
    put("segment_alloc 0 4GiB\n");
    for (int i = 0; i < 20; i++)
        put("alloc %d %dKiB 0 cache.py:3:cat\n", i * 40,
            20000 + i * 100 - i % 4 * 400);
    is_not_told(lines, GROWTH);
}

/* ---- late frees ------------------------------------------------------------ */

#define LATE "was freed more than an iteration"

/* One that outlives its iteration. */
struct keeper {
    int alloc, free; /* events; no free: -1 */
    const char *size, *frame;
};

/* Three iterations of 40 events each; in the second `spike` more is in use from
 * the 20th event on. */
static const char *three_of_40(const struct keeper *keepers, size_t count,
                               const char *spike)
{
    lines[0] = '\0';
    for (int i = 0; i < 120; i++) {
        const char *at = "segment_alloc + 2MiB\n";
        char line[128];

        if (i % 40 == 0)
            put("mark step START\n");
        if (i == 60 || i == 61) {
            snprintf(line, sizeof line, "%s 500 %s\n",
                     i == 60 ? "alloc" : "free_requested", spike);
            at = line;
        }
        for (size_t k = 0; k < count; k++) {
            if (i == keepers[k].alloc || i == keepers[k].free) {
                snprintf(line, sizeof line, "%s %zu %s 0 %s\n",
                         i == keepers[k].alloc ? "alloc" : "free_requested",
                         600 + 100 * k, keepers[k].size, keepers[k].frame);
                at = line;
            }
        }
        put("%s", at);
    }
    return lines;
}

static void longer_than_an_iteration_is_late(void **state)
{
    static const struct keeper just = {45, 85, "3MiB", "a.py:1:f"};
    static const struct keeper late = {45, 86, "3MiB", "/home/a.py:1:f"};
    static const struct keeper kept = {45, -1, "3MiB", "a.py:1:f"};
    static const struct keeper state_of_adam = {45, 86, "3MiB",
                                                "torch/optim/adam.py:1:step"};
    static const struct keeper gone = {15, 56, "3MiB", "a.py:1:f"};

    (void)state;
    is_not_told(three_of_40(&just, 1, "50MiB"), LATE);
    is_told(three_of_40(&late, 1, "50MiB"), "3.00 MiB at the peak " LATE,
            "The largest is 3.00 MiB from a.py:1 f");
    is_not_told(three_of_40(&kept, 1, "50MiB"), LATE);
    is_not_told(three_of_40(&state_of_adam, 1, "50MiB"), LATE);
    is_not_told(three_of_40(&gone, 1, "50MiB"), LATE);
}

/* What the whole run keeps is of another kind than activations are. */
static void what_lives_for_most_of_the_run_can_be_late(void **state)
{
    static const struct keeper most = {5, 86, "3MiB", "main.py:1:main"};
    static const struct keeper weights = {5, 86, "3MiB", "m.py:1:__init__"};

    (void)state;
    is_told(three_of_40(&most, 1, "50MiB"), LATE, "main.py:1 main");
    is_not_told(three_of_40(&weights, 1, "50MiB"), LATE);
}

static void late_frees_are_reported_from_a_twentieth_on(void **state)
{
    static const struct keeper late = {45, 86, "3MiB", "a.py:1:f"};

    (void)state;
    is_told(three_of_40(&late, 1, "57MiB"), LATE, "");
    is_not_told(three_of_40(&late, 1, "59769856"), LATE);
}

static void what_is_late_is_summed_and_the_largest_is_named(void **state)
{
    static const struct keeper three[] = {{45, 86, "1MiB", "a.py:1:f"},
                                          {46, 88, "2MiB", "b.py:2:g"},
                                          {47, 90, "2MiB", "c.py:3:h"}};

    (void)state;
    is_told(three_of_40(three, 3, "50MiB"), "5.00 MiB at the peak " LATE,
            "The largest is 2.00 MiB from b.py:2 g");
}

/* Then what repeats may be layers. */
static void nothing_is_late_in_a_run_that_is_not_steady(void **state)
{
    static const struct keeper large = {45, 86, "20MiB", "a.py:1:f"};

    (void)state;
    is_told(three_of_40(&large, 1, "80MiB"), LATE, "");
    is_not_told(three_of_40(&large, 1, "79MiB"), LATE);
}

/* A value that a name keeps until the next iteration rebinds it. */
static void late_frees_are_found(void **state)
{
    (void)state;
    lines[0] = '\0';
    put("segment_alloc 0 4GiB\n");
    for (int i = 0; i < 8; i++) {
        put("alloc %d 40MiB 0 train.py:9:forward\n", i % 2 * 50);
        for (int k = 0; k < 12; k++)
            put("alloc 200 60MiB 0 m.py:7:layer\nfree_requested 200 60MiB\n");
        if (i > 0)
            put("free_requested %d 40MiB\n", (i - 1) % 2 * 50);
    }
    put("free_requested 50 40MiB\n");
    is_told(lines, "80.0 MiB at the peak was freed more", "");
}

/* ---- the driver ------------------------------------------------------------ */

#define DRIVER "Memory was released to the driver"

static void a_hundred_releases_are_reported(void **state)
{
    (void)state;
    is_not_told("repeat 99\nsegment_alloc 0 2MiB\nsegment_free 0 2MiB\nend\n",
                DRIVER);
    is_told("repeat 100\nsegment_alloc 0 2MiB\nsegment_free 0 2MiB\nend\n",
            DRIVER " 100 times", "200 driver calls in total");
    is_told("segment_map 4 2MiB\nalloc 0 1MiB\n"
            "repeat 50\nsegment_alloc 0 2MiB\nsegment_free 0 2MiB\n"
            "segment_map 2 2MiB\nsegment_unmap 2 2MiB\nend\n",
            DRIVER " 100 times", "201 driver calls in total");
}

static void releases_of_one_burst_are_no_loop(void **state)
{
    (void)state;
    lines[0] = '\0';
    for (int i = 0; i < 100; i++)
        put("segment_alloc %d 2MiB\n", 2 * i);
    for (int i = 0; i < 100; i++)
        put("segment_free %d 2MiB\n", 2 * i);
    is_told(lines, DRIVER " 100 times, in 1 burst",
            "A burst is one empty_cache");
    is_told("repeat 100\nsegment_alloc 0 2MiB\nsegment_free 0 2MiB\nend\n",
            DRIVER " 100 times, in 100 bursts", "empty_cache in a loop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_iterations_show_a_leak),
        cmocka_unit_test(every_iteration_between_has_to_leak),
        cmocka_unit_test(a_fifth_that_stays_is_a_leak_and_more_is_not),
        cmocka_unit_test(the_largest_that_leaks_is_named),
        cmocka_unit_test(a_leak_needs_no_marks),
        cmocka_unit_test(eight_steps_are_growth),
        cmocka_unit_test(a_request_of_the_same_size_changes_nothing),
        cmocka_unit_test(a_step_of_more_than_an_eighth_begins_anew),
        cmocka_unit_test(the_longest_growth_of_a_place_counts),
        cmocka_unit_test(the_place_that_grew_most_is_named),
        cmocka_unit_test(growth_without_a_call_path_is_not_reported),
        cmocka_unit_test(growing_requests_are_found),
        cmocka_unit_test(longer_than_an_iteration_is_late),
        cmocka_unit_test(what_lives_for_most_of_the_run_can_be_late),
        cmocka_unit_test(late_frees_are_reported_from_a_twentieth_on),
        cmocka_unit_test(what_is_late_is_summed_and_the_largest_is_named),
        cmocka_unit_test(nothing_is_late_in_a_run_that_is_not_steady),
        cmocka_unit_test(late_frees_are_found),
        cmocka_unit_test(a_hundred_releases_are_reported),
        cmocka_unit_test(releases_of_one_burst_are_no_loop),
    };

    return run_guarded_tests(tests);
}
