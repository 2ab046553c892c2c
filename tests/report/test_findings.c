/* test_findings.c - what stands out in a run, at the limit of each rule and
 * just beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "put_lines.h"
#include "report/explain.h"
#include "support/libc_faults.h"

enum { WORDS_MAX = 2048 };

/* The title and the text of the finding whose title has these words; "" if
 * there is none. */
static const char *finding(const char *run, const char *settings,
                           const char *words)
{
    static char told[WORDS_MAX];
    struct report_finding *found;
    struct tool_error error;
    struct made_run m;
    size_t count;

    told[0] = '\0';
    made_run(run, settings, &m);
    assert_true(report_findings(&m.r, &found, &count, &error));
    for (size_t i = 0; i < count; i++) {
        if (strstr(found[i].title, words) != NULL)
            snprintf(told, sizeof told, "%s\n%s", found[i].title,
                     found[i].text);
    }
    report_findings_free(found, count);
    made_run_free(&m);
    return told;
}

static void is_told(const char *run, const char *title, const char *text)
{
    const char *told = finding(run, NULL, title);

    if (told[0] == '\0')
        fail_msg("'%s' is not told of:\n%s", title, run);
    if (strstr(told, text) == NULL)
        fail_msg("'%s' is not in: %s", text, told);
}

static void is_not_told(const char *run, const char *title)
{
    const char *told = finding(run, NULL, title);

    if (told[0] != '\0')
        fail_msg("told: %s", told);
}

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
    is_told(keeping("333333", "30MiB"), LEAK " 3.00 MiB behind",
            "each of 3 iterations is never freed; the largest allocation of "
            "the last: 3.00 MiB from train.py:9 forward.");
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
    is_told(lines, LEAK " 5.00 MiB", ": 2.00 MiB from /home/b.py:2 main.");
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
            "\n/home/a.py:1 cat requested 8 times a little more");
}

/* As large as before is no step, and no end. */
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

static void the_place_that_grew_most_is_told(void **state)
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

static void growth_of_no_known_place_is_not_told(void **state)
{
    (void)state;
    lines[0] = '\0';
    for (int i = 0; i < 9; i++)
        put("alloc + %dKiB\n", 20000 + i * 100);
    is_not_told(lines, GROWTH);
}

/* ---- late frees ------------------------------------------------------------ */

#define LATE "was freed later than an iteration"

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
            "The largest is 3.00 MiB from /home/a.py:1 f");
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

static void a_twentieth_that_is_late_is_worth_telling(void **state)
{
    static const struct keeper late = {45, 86, "3MiB", "a.py:1:f"};

    (void)state;
    is_told(three_of_40(&late, 1, "57MiB"), LATE, "");
    is_not_told(three_of_40(&late, 1, "59769856"), LATE);
}

static void all_that_is_late_is_told_with_the_largest(void **state)
{
    static const struct keeper three[] = {{45, 86, "1MiB", "a.py:1:f"},
                                          {46, 88, "2MiB", "b.py:2:g"},
                                          {47, 90, "2MiB", "c.py:3:h"}};

    (void)state;
    is_told(three_of_40(three, 3, "50MiB"), "5.00 MiB at the peak " LATE,
            "The largest is 2.00 MiB from b.py:2 g");
}

/* Then what repeats may be layers. */
static void of_a_run_that_is_not_steady_nothing_is_late(void **state)
{
    static const struct keeper large = {45, 86, "20MiB", "a.py:1:f"};

    (void)state;
    is_told(three_of_40(&large, 1, "80MiB"), LATE, "");
    is_not_told(three_of_40(&large, 1, "79MiB"), LATE);
}

/* ---- the driver ------------------------------------------------------------ */

#define DRIVER "Memory was released to the driver"

static void a_hundred_releases_are_told(void **state)
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

/* ---- unused memory --------------------------------------------------------- */

#define UNUSED "reserved but not in use at the peak"

static void a_twentieth_that_is_unused_is_told(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 19MiB\n", "1.00 MiB " UNUSED,
            "Of 20.0 MiB held from the driver, 5 % was unused at the peak, in "
            "1 block.\n");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 19923456\n", UNUSED);
}

/* Nor is more in use than reserved, if the recording lacks segments. */
static void what_waits_for_a_stream_is_not_unused(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 4MiB\nfree_requested 0 4MiB\n"
            "alloc 4 10MiB\n",
            "6.00 MiB " UNUSED, "in 1 block.");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 4MiB\nfree_requested 0 4MiB\n"
                "alloc 4 18MiB\n",
                UNUSED);
    is_not_told("segment_alloc 0 16\nalloc 0 16\n", UNUSED);
}

static void free_segments_are_told_apart(void **state)
{
    static const char two[] = "segment_alloc 0 20MiB\nsegment_alloc 50 20MiB\n";
    char run[256];
    const char *told;

    (void)state;
    snprintf(run, sizeof run, "%salloc 0 18MiB\n", two);
    is_told(run, "22.0 MiB " UNUSED,
            "in 2 blocks.\n20.0 MiB of it is in entirely free segments");
    is_told(run, UNUSED,
            "memory runs out.\n2.00 MiB is in segments that are "
            "partly in use; with expandable_segments:True");
    told = finding(run, "\"expandable_segments\": true", UNUSED);
    assert_non_null(strstr(told, "entirely free"));
    assert_null(strstr(told, "partly in use"));
    /* Less than a twentieth of all is not worth a setting. */
    snprintf(run, sizeof run, "%salloc 0 18874880\n", two);
    told = finding(run, NULL, UNUSED);
    assert_non_null(strstr(told, "entirely free"));
    assert_null(strstr(told, "partly in use"));
    snprintf(run, sizeof run, "%salloc 0 10MiB\nalloc 50 10MiB\n", two);
    told = finding(run, NULL, UNUSED);
    assert_null(strstr(told, "entirely free"));
    assert_non_null(strstr(told, "\n20.0 MiB is in segments that are partly"));
}

/* Two pages that grew together are one segment, which is partly in use. */
static void pages_that_are_joined_count_once(void **state)
{
    (void)state;
    assert_null(strstr(finding("segment_map 0 2MiB\nsegment_map 2 2MiB\n"
                               "alloc 0 3MiB\n",
                               NULL, UNUSED),
                       "entirely free"));
    is_not_told("segment_alloc 0 20MiB\nalloc 0 20MiB\n"
                "segment_map 200 2MiB 5\nsegment_map 202 2MiB 5\n"
                "alloc 200 3MiB 5\n",
                "stranded");
}

/* Memory in use in segments that are not shown makes up for some. */
static void no_more_is_entirely_free_than_is_unused(void **state)
{
    static const char run[] = "segment_alloc 0 20MiB\nalloc 100 5MiB\n";

    (void)state;
    is_told(run, "15.0 MiB " UNUSED, "\n15.0 MiB of it is in entirely free");
    assert_null(strstr(finding(run, NULL, UNUSED), "partly in use"));
}

/* ---- rounding -------------------------------------------------------------- */

#define ROUNDING "lost to rounding at the peak"

static void a_twentieth_lost_to_rounding_is_told(void **state)
{
    static const char eighteen[] = "repeat 18\nalloc + 512\nend\n";
    char run[128];

    (void)state;
    snprintf(run, sizeof run, "%salloc + 256\nalloc + 256\n", eighteen);
    is_told(run, "512 B " ROUNDING,
            "20 allocations were in use, on average 486 B each.");
    snprintf(run, sizeof run, "%salloc + 256\nalloc + 257\n", eighteen);
    is_not_told(run, ROUNDING);
}

/* ---- temporaries ----------------------------------------------------------- */

#define TEMPORARIES "Temporaries make"

static void a_twentieth_in_temporaries_is_told(void **state)
{
    (void)state;
    is_told(
        "alloc 0 19MiB 0 m.py:1:__init__\nalloc 50 1MiB 0 /home/a.py:2:f\n"
        "free_requested 50 1MiB\n",
        TEMPORARIES " 1.00 MiB of the peak",
        "The largest is 1.00 MiB from /home/a.py:2 f, freed after 1 event.  "
        "Doing");
    is_not_told("alloc 0 19923456 0 m.py:1:__init__\nalloc 50 1MiB 0 a.py:2:f\n"
                "free_requested 50 1MiB\n",
                TEMPORARIES);
}

/* The largest of those in use: what waits for a stream is no longer one. */
static void temporaries_in_use_are_told_with_the_largest(void **state)
{
    (void)state;
    is_told("alloc 0 9MiB 0 m.py:1:__init__\n"
            "alloc 20 3MiB 0 w.py:9:gone\nfree_requested 20 3MiB\n"
            "alloc 50 1MiB 0 a.py:2:f\nalloc 60 2MiB 0 b.py:3:g\n"
            "alloc 70 2MiB 0 c.py:4:h\nfree_requested 60 2MiB\n"
            "free_requested 50 1MiB\nfree_requested 70 2MiB\n",
            TEMPORARIES " 5.00 MiB",
            "The largest is 2.00 MiB from b.py:3 g, freed after 2 events.");
}

/* Also if it comes first, and told to the byte. */
static void temporaries_are_counted_to_the_byte(void **state)
{
    (void)state;
    is_told("alloc 0 512 0 a.py:2:f\nalloc 4 4608 0 m.py:1:__init__\n"
            "free_requested 0 512\n",
            TEMPORARIES " 512 B of the peak", "freed after 2 events");
}

/* ---- streams --------------------------------------------------------------- */

#define STRANDED "stranded on stream 5"

static void half_of_a_streams_memory_is_stranded(void **state)
{
    static const char two[] = "segment_alloc 0 180MiB 0\nalloc 0 180MiB 0\n"
                              "segment_alloc 200 20MiB 5\n";
    char run[256];

    (void)state;
    snprintf(run, sizeof run, "%salloc 200 10MiB 5\n", two);
    is_told(run, "10.0 MiB " STRANDED,
            "20.0 MiB is reserved for that stream, and most of it was free");
    snprintf(run, sizeof run, "%salloc 200 10486272 5\n", two);
    is_not_told(run, STRANDED);
}

/* The first stream that was seen, with the lowest address; what waits for
 * another stream is not free. */
static void the_first_stream_can_have_stranded_memory(void **state)
{
    static const char two[] = "segment_alloc 0 20MiB 5\nalloc 0 4MiB 5\n"
                              "free_requested 0 4MiB 5\nalloc 4 4MiB 5\n"
                              "segment_alloc 100 20MiB 0\n";
    char run[256];

    (void)state;
    snprintf(run, sizeof run, "%salloc 100 20MiB 0\n", two);
    is_told(run, "12.0 MiB " STRANDED, "");
    snprintf(run, sizeof run, "%salloc 8 3MiB 5\nalloc 100 20MiB 0\n", two);
    is_not_told(run, STRANDED);
}

/* Half of its own memory, but less than a twentieth of all. */
static void little_that_is_stranded_is_not_told(void **state)
{
    (void)state;
    is_not_told("segment_alloc 0 182MiB 0\nalloc 0 182MiB 0\n"
                "segment_alloc 200 20MiB 5\nalloc 200 10MiB 5\n",
                STRANDED);
}

static void nothing_is_stranded_on_a_single_stream(void **state)
{
    (void)state;
    is_not_told("segment_alloc 0 20MiB 5\nalloc 0 2MiB 5\n", "stranded");
}

/* Nor what waits for another stream. */
static void what_is_used_or_waits_is_not_stranded(void **state)
{
    (void)state;
    is_not_told("segment_alloc 0 20MiB 0\nalloc 0 20MiB 0\n"
                "segment_alloc 40 20MiB 5\nalloc 40 11MiB 5\n"
                "free_requested 40 11MiB 5\nsegment_alloc 60 20MiB 0\n"
                "alloc 60 20MiB 0\n",
                STRANDED);
}

static void a_twentieth_that_waits_is_told(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 1MiB\nfree_requested 0 1MiB\n"
            "alloc 1 19MiB\n",
            "1.00 MiB freed but waiting at the peak", "record_stream");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 1048064\n"
                "free_requested 0 1048064\nalloc 1 19MiB\n",
                "freed but waiting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_iterations_show_a_leak),
        cmocka_unit_test(every_iteration_between_has_to_leak),
        cmocka_unit_test(a_fifth_that_stays_is_a_leak_and_more_is_not),
        cmocka_unit_test(the_largest_that_leaks_is_named),
        cmocka_unit_test(eight_steps_are_growth),
        cmocka_unit_test(a_request_of_the_same_size_changes_nothing),
        cmocka_unit_test(a_step_of_more_than_an_eighth_begins_anew),
        cmocka_unit_test(the_longest_growth_of_a_place_counts),
        cmocka_unit_test(the_place_that_grew_most_is_told),
        cmocka_unit_test(growth_of_no_known_place_is_not_told),
        cmocka_unit_test(longer_than_an_iteration_is_late),
        cmocka_unit_test(what_lives_for_most_of_the_run_can_be_late),
        cmocka_unit_test(a_twentieth_that_is_late_is_worth_telling),
        cmocka_unit_test(all_that_is_late_is_told_with_the_largest),
        cmocka_unit_test(of_a_run_that_is_not_steady_nothing_is_late),
        cmocka_unit_test(a_hundred_releases_are_told),
        cmocka_unit_test(a_twentieth_that_is_unused_is_told),
        cmocka_unit_test(what_waits_for_a_stream_is_not_unused),
        cmocka_unit_test(free_segments_are_told_apart),
        cmocka_unit_test(pages_that_are_joined_count_once),
        cmocka_unit_test(no_more_is_entirely_free_than_is_unused),
        cmocka_unit_test(a_twentieth_lost_to_rounding_is_told),
        cmocka_unit_test(a_twentieth_in_temporaries_is_told),
        cmocka_unit_test(temporaries_in_use_are_told_with_the_largest),
        cmocka_unit_test(temporaries_are_counted_to_the_byte),
        cmocka_unit_test(half_of_a_streams_memory_is_stranded),
        cmocka_unit_test(the_first_stream_can_have_stranded_memory),
        cmocka_unit_test(little_that_is_stranded_is_not_told),
        cmocka_unit_test(nothing_is_stranded_on_a_single_stream),
        cmocka_unit_test(what_is_used_or_waits_is_not_stranded),
        cmocka_unit_test(a_twentieth_that_waits_is_told),
    };

    libc_guard(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
