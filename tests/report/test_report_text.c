/* test_report_text.c - what the text of a report lists, how much of it, and in
 * which order. */
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

static const struct report_options usual = {0};
static const struct report_options whole = {.all = true};

/* The caller frees the text. */
static char *text_of(const char *lines, const struct report_options *opt)
{
    struct snapshot *s = made_snapshot(lines, NULL);
    struct tool_error error;
    struct report_text t;
    char *text;

    assert_true(report_text_begin(&t));
    if (!report_write_text(t.out, "run", s, opt, &error))
        fail_msg("%s", error.text);
    text = report_text_take(&t);
    assert_non_null(text);
    snapshot_free(s);
    return text;
}

static void has(const char *lines, const struct report_options *opt,
                const char *words)
{
    char *text = text_of(lines, opt);

    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, text);
    free(text);
}

static void has_not(const char *lines, const struct report_options *opt,
                    const char *words)
{
    char *text = text_of(lines, opt);

    if (strstr(text, words) != NULL)
        fail_msg("'%s' is in:\n%s", words, text);
    free(text);
}

/* ---- figures --------------------------------------------------------------- */

static void the_peak_says_when_it_was(void **state)
{
    (void)state;
    has("free_requested 0 4MiB\n", &usual,
        "  when     before the first event\n");
    has("alloc 0 4MiB\n", &usual, "  when     after event 0 of 1\n");
    has("alloc 0 4MiB\nfree_requested 0 4MiB\n", &usual,
        "  when     after event 0 of 2, at 0 µs of 10 µs\n");
    has("alloc 0 4MiB\nalloc 4 4MiB\n", &usual,
        "  when     after event 1 of 2, at 10 µs of 10 µs\n");
    has_not("segment 0 4MiB\nblock 4MiB active_allocated a.py:1:f\n", &usual,
            "  when  ");
}

/* Allocated first, reserved later. */
static void maxima_of_two_moments_have_two_times(void **state)
{
    static const char two[] = "segment_alloc 0 4MiB\nalloc 0 4MiB\n"
                              "free_requested 0 4MiB\nsegment_alloc 8 8MiB\n"
                              "alloc 8 1MiB\n";

    (void)state;
    has(two, &usual,
        "  when     after event 1 of 5, at 10 µs of 40 µs\n"
        "           reserved after event 3 of 5, at 30 µs of 40 µs\n");
    has(two, &usual,
        "at most 4.00 MiB was\n               in use, at 10 µs of 40 µs, and "
        "12.0 MiB reserved from the driver, at 30\n               µs of 40 "
        "µs.");
    has_not("segment_alloc 0 4MiB\nalloc 0 4MiB\n", &usual, "  reserved after");
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    has("free_requested 9 1MiB\nalloc 0 4MiB\n", &usual,
        "  before   1 allocations are older than the recording\n");
    /* Replaced twice, and freed a second time. */
    has("alloc 0 4MiB\nalloc 0 4MiB\nalloc 0 4MiB\nalloc 9 1MiB\n"
        "free_requested 9 1MiB\nfree_requested 9 1MiB\n",
        &usual, "  doubt    3 events do not fit the others");
    has("alloc 0 4MiB\nalloc 0 4MiB\n", &usual, "  doubt    1 events do not");
    has("alloc 9 1MiB\nfree_requested 9 1MiB\nfree_requested 9 1MiB\n", &usual,
        "  doubt    1 events do not");
    has_not("alloc 0 4MiB\n", &usual, "  doubt ");
    has_not("alloc 0 4MiB\n", &usual, "  before ");
}

/* A failure alone, of a process that held nothing. */
static void a_failure_is_explained_where_nothing_was_held(void **state)
{
    (void)state;
    has("oom 1MiB 4MiB\n", &usual, "Out of memory, event 0\n");
    has("oom 1MiB 4MiB\n", &usual, "Over the run (full height is 0 B)\n");
    has_not("oom 1MiB 4MiB\n", &usual, "▁");
}

#define HYPHENS_9 "---------"
#define HYPHENS_36 HYPHENS_9 HYPHENS_9 HYPHENS_9 HYPHENS_9
#define AT_15 "               "
#define AT_51 AT_15 "                                    "
#define HOLDERS                                                                \
    ".py:1:first\nalloc 4 1MiB 0 a.py:1:second\nalloc 5 1MiB 0 b.py:1:third\n"

/* A file's name may begin with hyphens, and so does a line that names it. */
static void a_line_that_begins_with_hyphens_is_as_wide_as_any(void **state)
{
    (void)state;
    has("alloc 0 4MiB 0 " HYPHENS_36 HOLDERS, &usual,
        "Who holds it   " HYPHENS_36
        ".py:1 first 4.00 MiB (67 %); a.py:1\n" AT_51
        "second 1.00 MiB (17 %); b.py:1 third\n" AT_51 "1.00 MiB (17 %).\n");
    has("alloc 0 4MiB 0 -" HYPHENS_36 HOLDERS, &usual,
        "Who holds it   -" HYPHENS_36
        ".py:1 first 4.00 MiB (67 %); a.py:1\n" AT_15
        "second 1.00 MiB (17 %); b.py:1 third 1.00 MiB (17 %).\n");
}

/* A segment alone is something, and an event of another kind is not. */
static void an_empty_device_has_no_more_than_a_verdict(void **state)
{
    (void)state;
    has("segment_alloc 0 2MiB\n", &usual, "What happened");
    has("segment_alloc 0 2MiB\nalloc 0 2MiB\n", &usual, "What happened");
    has("oom 1MiB 4MiB\n", &usual, "What happened");
    has("free_completed 0 4MiB\n", &usual, "What happened  No history was");
    has_not("free_completed 0 4MiB\n", &usual, "Over the run");
    has("free_completed 0 4MiB\n", &usual, "  events   0 allocations");
}

/* ---- iterations ------------------------------------------------------------ */

/* Marked iterations with these peaks, in MiB, of which 1 each is kept by none. */
static const char *peaks_of(const char *mib)
{
    static char lines[4096];

    lines[0] = '\0';
    for (; *mib != '\0'; mib++)
        sprintf(lines + strlen(lines),
                "mark step START\nalloc 0 %cMiB\nfree_requested 0 %cMiB\n",
                *mib, *mib);
    return lines;
}

#define PEAKS "\nPeak of each iteration\n"
#define PEAK(number, event, mib)                                               \
    "      " number "  from event         " event "    " mib ".00 MiB\n"

static void the_peaks_of_iterations_are_listed_once(void **state)
{
    static const struct report_options one = {.top = 1};
    static const struct report_options two = {.top = 2};

    (void)state;
    has(peaks_of("955"), &usual,
        PEAKS PEAK("0", "0", "9")
            PEAK("1", "2", "5") "  and the same for 1 more\n\n");
    has(peaks_of("9555"), &usual,
        PEAKS PEAK("0", "0", "9")
            PEAK("1", "2", "5") "  and the same for 2 more\n\n");
    has(peaks_of("9954"), &usual,
        PEAKS PEAK("0", "0", "9") "  and the same for 1 more\n" PEAK(
            "2", "4", "5") PEAK("3", "6", "4") "\n");
    has(peaks_of("9555"), &whole,
        PEAKS PEAK("0", "0", "9") PEAK("1", "2", "5") PEAK("2", "4", "5")
            PEAK("3", "6", "5") "\n");
    has(peaks_of("954"), &one, PEAKS PEAK("0", "0", "9") "  and 2 more\n");
    has(peaks_of("954"), &two,
        PEAKS PEAK("0", "0", "9") PEAK("1", "2", "5") "  and 1 more\n");
    has(peaks_of("994"), &two,
        PEAKS PEAK("0", "0", "9") "  and the same for 1 more\n" PEAK("2", "4",
                                                                     "4") "\n");
}

static void peaks_that_are_alike_are_not_listed(void **state)
{
    (void)state;
    has_not(peaks_of("555"), &usual, PEAKS);
    has(peaks_of("555"), &whole, PEAKS);
    has(peaks_of("995"), &usual, PEAKS);
    has(peaks_of("955"), &usual, PEAKS);
    has_not("alloc 0 4MiB\n", &whole, PEAKS);
}

/* What repeats without marks and leaves something behind may be layers. */
static void a_pattern_is_distinguished_from_iterations(void **state)
{
    static const char alike[] = "repeat 4\nalloc 0 4MiB 0 a.py:1:f\n"
                                "free_requested 0 4MiB\nalloc 9 1MiB\n"
                                "free_requested 9 1MiB\nend\n";
    static const char layers[] = "repeat 4\nalloc + 4MiB 0 a.py:1:f\n"
                                 "segment_alloc + 2MiB\nend\n";

    (void)state;
    has(peaks_of("555"), &usual,
        "  repeats  3 marked iterations of about 2 events\n");
    has(alike, &usual,
        "  repeats  4 times about 4 similar events: layers or iterations\n");
    has_not(layers, &usual, "  repeats ");
    has_not(layers, &usual, "  pattern ");
    has(layers, &whole,
        "  pattern  4 times about 2 similar events: layers or iterations\n");
    has_not("alloc 0 4MiB\n", &whole, "  repeats ");
}

/* ---- lists ----------------------------------------------------------------- */

static const char *lines_of(int count)
{
    static char lines[2048];

    lines[0] = '\0';
    for (int i = 0; i < count; i++)
        sprintf(lines + strlen(lines), "alloc + %dMiB 0 a%d.py:1:f\n",
                1 + count - i, i);
    return lines;
}

static void as_many_lines_are_listed_as_asked(void **state)
{
    static const struct report_options top[] = {{.top = 1}, {.top = 2}};

    (void)state;
    has(lines_of(3), &top[0], "a0.py:1 f\n  and 2 more\n");
    has(lines_of(3), &top[1], "a1.py:1 f\n  and 1 more\n");
    has_not(lines_of(2), &top[1], " more\n");
    has(lines_of(11), &usual, "a9.py:1 f\n  and 1 more\n");
    has_not(lines_of(10), &usual, " more\n");
}

static const char *paths_of(int count)
{
    static char lines[2048];

    lines[0] = '\0';
    for (int i = 0; i < count; i++)
        sprintf(lines + strlen(lines), "alloc + %dMiB 0 a.py:%d:f|b.py:1:g\n",
                1 + count - i, i + 1);
    return lines;
}

static void as_many_paths_are_listed_as_asked(void **state)
{
    static const struct report_options two = {.top = 2, .paths = true};

    (void)state;
    has(paths_of(2), &two,
        "                              a.py:2 f\n"
        "                              b.py:1 g\n");
    has_not(paths_of(3), &two, "                              a.py:3 f\n");
}

/* ---- segments -------------------------------------------------------------- */

/* Each cell stands for 5120 bytes, of which nine tenths are 4608. */
static void a_cell_is_full_from_nine_tenths_on(void **state)
{
    (void)state;
    has("segment_alloc 0 245712\nalloc 0 4608\n", &usual,
        "free  #...............................................\n");
    has("segment_alloc 0 245712\nalloc 0 4096\n", &usual,
        "free  +...............................................\n");
    has("segment_alloc 0 245712\nalloc 0 5632\n", &usual,
        "free  #+..............................................\n");
    has("segment_alloc 0 245712\nalloc 0 245712\n", &usual,
        "free  ################################################\n");
}

/* Cells of 11 bytes, 47 of them: none lies behind the end. */
static void a_small_segment_has_fewer_cells(void **state)
{
    (void)state;
    has("segment_alloc 0 512\nalloc 9 512\n", &usual,
        "free  ...............................................\n");
    has("segment_alloc 0 512\nalloc 0 1024\n", &usual,
        "free  ###############################################\n");
}

/* Segments of these sizes in MiB, a letter for each, nothing in use. */
static const char *segments_of(const char *sizes)
{
    static char lines[4096];
    int address = 1000;

    sprintf(lines, "segment_alloc 0 2MiB\n");
    for (; *sizes != '\0'; sizes++, address += 100)
        sprintf(lines + strlen(lines), "segment_alloc %d %dMiB\n", address,
                2 * (1 + 'z' - *sizes));
    strcat(lines, "alloc 0 2MiB\n");
    return lines;
}

/* The last of them is the full one. */
static void a_dozen_segments_are_shown(void **state)
{
    static const char full[] =
        "  2.00 MiB,        0 B free  "
        "################################################"
        "\n";

    (void)state;
    has(segments_of("abcdefghijk"), &usual, full);
    has_not(segments_of("abcdefghijk"), &usual, " more");
    has_not(segments_of("abcdefghijkl"), &usual, full);
    has(segments_of("abcdefghijkl"), &usual, ".\n  and 1 more\n");
    has(segments_of("abcdefghijklm"), &usual, ".\n  and 2 more\n");
    has(segments_of("abcdefghijklm"), &whole, full);
}

static void segments_that_are_alike_are_counted(void **state)
{
    (void)state;
    has(segments_of("aab"), &usual,
        ".\n  and 1 more of that size, equally free\n    50.0 MiB,   50.0 MiB");
    has(segments_of("aaab"), &usual, "and 2 more of that size, equally free\n");
    has_not(segments_of("aaab"), &whole, "of that size");
    has(segments_of("abcdefghijkkl"), &usual,
        ".\n  and 1 more of that size, equally free\n");
    /* Behind the last that is shown they are counted with the others. */
    has(segments_of("abcdefghijkll"), &usual, ".\n  and 2 more\n");
    has(segments_of("z"), &usual, "2.00 MiB,   2.00 MiB free  ....");
    /* The last ones of all. */
    has("segment_alloc 0 2MiB\nsegment_alloc 4 2MiB\nalloc 9 512\n", &usual,
        ".\n  and 1 more of that size, equally free\n");
}

/* The most free first, of equally free ones the larger, then by address. */
static void segments_come_in_order_of_what_is_free(void **state)
{
    (void)state;
    has("segment_alloc 100 6MiB\nalloc 100 2MiB\nsegment_alloc 200 4MiB\n"
        "segment_alloc 300 8MiB\nalloc 300 1MiB\n",
        &usual, "  8.00 MiB,   7.00 MiB free  ######...");
    has("segment_alloc 100 4MiB\nsegment_alloc 200 6MiB\nalloc 200 2MiB\n"
        "segment_alloc 300 8MiB\nalloc 300 1MiB\n",
        &whole, "free)\n    8.00 MiB,   7.00 MiB free  ");
    has("segment_alloc 100 4MiB\nsegment_alloc 200 6MiB\nalloc 200 2MiB\n",
        &whole, ".\n    4.00 MiB,   4.00 MiB free  ....");
}

/* ---- devices --------------------------------------------------------------- */

static void a_device_with_twice_as_much_is_reported(void **state)
{
    (void)state;
    has("alloc 0 8MiB\ndevice 1\nalloc 0 4MiB\n", &usual,
        "  * Device 0 held up to 8.00 MiB, and no other more than 4.00 MiB "
        "(device 1).");
    has("alloc 0 4MiB\ndevice 1\nalloc 0 8MiB\n", &usual,
        "  * Device 1 held up to 8.00 MiB, and no other more than 4.00 MiB "
        "(device 0).");
    has("alloc 0 3MiB\ndevice 1\nalloc 0 8MiB\ndevice 2\nalloc 0 4MiB\n",
        &usual,
        "Device 1 held up to 8.00 MiB, and no other more than 4.00 MiB "
        "(device 2).");
    has_not("alloc 0 8MiB\ndevice 1\nalloc 0 4194816\n", &usual,
            "Across devices");
    has_not("alloc 0 8MiB\n", &usual, "Across devices");
    has_not("alloc 0 8MiB\ndevice 1\noom 0 4MiB\n", &usual, "Across devices");
}

/* Where the names of these devices are in the text, as "102". */
static void order_is(const char *lines, const char *wanted)
{
    char *text = text_of(lines, &usual);
    const char *at = text;

    for (; *wanted != '\0'; wanted++) {
        char name[32];

        at = strstr(at, "run, device ");
        assert_non_null(at);
        snprintf(name, sizeof name, "run, device %c\n", *wanted);
        if (strncmp(at, name, strlen(name)) != 0)
            fail_msg("expected device %c, got %.13s", *wanted, at);
        at++;
    }
    assert_null(strstr(at, "run, device "));
    free(text);
}

/* Failures first, then segments, then events, then numbers. */
static void the_device_to_look_at_comes_first(void **state)
{
    (void)state;
    order_is("alloc 0 8MiB\ndevice 1\nalloc 0 8MiB\n", "01");
    order_is("alloc 0 8MiB\ndevice 1\nalloc 0 8MiB\nalloc 8 1MiB\n", "10");
    order_is("alloc 0 8MiB\nalloc 8 1MiB\ndevice 1\nalloc 0 8MiB\n"
             "segment 0 20MiB\nblock 20MiB inactive\n",
             "10");
    order_is("segment 0 20MiB\nblock 20MiB inactive\nalloc 0 1MiB\n"
             "device 1\nalloc 0 8MiB\noom 0 1MiB\n",
             "10");
    /* One failure is as bad as two. */
    order_is("alloc 0 8MiB\noom 0 1MiB\nalloc 9 1MiB\ndevice 1\noom 0 1MiB\n"
             "oom 0 1MiB\n",
             "01");
}

static void only_the_first_device_has_all_lists(void **state)
{
    static const char two[] = "alloc 0 8MiB\ndevice 1\nalloc 0 8MiB\n";
    char *text = text_of(two, &usual);
    const char *list = strstr(text, "By line");

    (void)state;
    assert_non_null(list);
    assert_null(strstr(list + 1, "By line"));
    assert_non_null(
        strstr(text, "\n--all prints all lists of every device.\n"));
    free(text);
    text = text_of(two, &whole);
    list = strstr(text, "By line");
    assert_non_null(list);
    assert_non_null(strstr(list + 1, "By line"));
    assert_null(strstr(text, "--all has"));
    free(text);
    has_not("alloc 0 8MiB\n", &usual, "--all has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_says_when_it_was),
        cmocka_unit_test(maxima_of_two_moments_have_two_times),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(a_failure_is_explained_where_nothing_was_held),
        cmocka_unit_test(a_line_that_begins_with_hyphens_is_as_wide_as_any),
        cmocka_unit_test(an_empty_device_has_no_more_than_a_verdict),
        cmocka_unit_test(the_peaks_of_iterations_are_listed_once),
        cmocka_unit_test(peaks_that_are_alike_are_not_listed),
        cmocka_unit_test(a_pattern_is_distinguished_from_iterations),
        cmocka_unit_test(as_many_lines_are_listed_as_asked),
        cmocka_unit_test(as_many_paths_are_listed_as_asked),
        cmocka_unit_test(a_cell_is_full_from_nine_tenths_on),
        cmocka_unit_test(a_small_segment_has_fewer_cells),
        cmocka_unit_test(a_dozen_segments_are_shown),
        cmocka_unit_test(segments_that_are_alike_are_counted),
        cmocka_unit_test(segments_come_in_order_of_what_is_free),
        cmocka_unit_test(a_device_with_twice_as_much_is_reported),
        cmocka_unit_test(the_device_to_look_at_comes_first),
        cmocka_unit_test(only_the_first_device_has_all_lists),
    };

    return run_guarded_tests(tests);
}
