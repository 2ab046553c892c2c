/* test_golden_report.c - reports, diffs and their JSON, compared exactly.
 *
 * tests/data/reports/NAME.scene is a made-up run (made_snapshot.h) whose first
 * line is "settings" and the inside of a JSON object; NAME.txt is the expected
 * output in every form.  Some snapshots of tests/data/snapshots are tested in
 * the same way.  LARDER_REPORTS=tests/data/reports rewrites the expected texts:
 * review their diff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "made_snapshot.h"
#include "report_ways.h"
#include "report/report.h"
#include "report/report_words.h"
#include "support/guarded.h"
#include "support/put_file.h"
#include "support/read_file.h"
#include "support/read_text.h"

#define REPORTS "tests/data/reports/"

static struct snapshot *read_scene(const char *name)
{
    static const char word[] = "settings ";
    char path[256];
    char *text;
    char *lines;
    struct snapshot *s;

    snprintf(path, sizeof path, REPORTS "%s.scene", name);
    text = read_text(path);
    if (text == NULL)
        fail_msg("%s cannot be read", path);
    lines = strchr(text, '\n');
    assert_non_null(lines);
    *lines++ = '\0';
    assert_memory_equal(text, word, sizeof word - 1);
    s = made_snapshot(lines, text + sizeof word - 1);
    free(text);
    return s;
}

static void write_anew(const char *folder, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    put_file(path, text, strlen(text));
}

/* Reports the first line that differs. */
static void is_line_by_line(const char *name, const char *got,
                            const char *wanted)
{
    for (int line = 1; *got != '\0' || *wanted != '\0'; line++) {
        int n = (int)strcspn(got, "\n");
        int m = (int)strcspn(wanted, "\n");

        if (n != m || strncmp(got, wanted, (size_t)n) != 0)
            fail_msg(REPORTS "%s.txt:%d: expected '%.*s', got '%.*s'", name,
                     line, m, wanted, n, got);
        got += n + (got[n] == '\n');
        wanted += m + (wanted[m] == '\n');
    }
}

static void is_golden(const char *name, char *text)
{
    const char *folder = getenv("LARDER_REPORTS");
    char path[256];
    char *wanted;

    assert_non_null(text);
    if (folder != NULL)
        write_anew(folder, name, text);
    snprintf(path, sizeof path, REPORTS "%s.txt", name);
    wanted = read_text(path);
    if (wanted == NULL)
        fail_msg("%s cannot be read", path);
    is_line_by_line(name, text, wanted);
    free(wanted);
    free(text);
}

static void a_made_up_run_is_reported_to_the_letter(void **state)
{
    const char *name = *state;
    struct snapshot *s = read_scene(name);

    is_golden(name, report_all_ways(s, name));
    snapshot_free(s);
}

static void a_snapshot_is_reported_to_the_letter(void **state)
{
    const char *name = *state;
    struct tool_error error;
    struct snapshot *s = NULL;
    char path[256];

    snprintf(path, sizeof path, "tests/data/snapshots/%s", name);
    if (!snapshot_read(path, NULL, &s, &error))
        fail_msg("%s", error.text);
    is_golden(name, report_all_ways(s, path));
    snapshot_free(s);
}

static void compare_scenes(const char *first, const char *second,
                           const char *golden)
{
    const char *const names[2] = {first, second};
    const struct snapshot *const runs[2] = {read_scene(first),
                                            read_scene(second)};

    is_golden(golden, report_compared(names, runs));
    snapshot_free((struct snapshot *)(uintptr_t)runs[0]);
    snapshot_free((struct snapshot *)(uintptr_t)runs[1]);
}

static void two_runs_are_compared_to_the_letter(void **state)
{
    (void)state;
    compare_scenes("pieces", "training", "diff");
    compare_scenes("training", "training", "diff_same");
    compare_scenes("refused", "refused_twice", "diff_failures");
    compare_scenes("devices", "older", "diff_devices");
    compare_scenes("peaks", "peaks_few", "diff_less");
}

static void lists_in_json_are_as_long_as_asked(void **state)
{
    static const char *const lists[] = {"top", "paths", "by"};
    struct snapshot *s = read_scene("training");

    (void)state;
    for (size_t top = 1; top <= 3; top++) {
        const struct report_way way = {
            "json", true, {.top = top, .by = BY_LINE}};
        struct report_text t;
        json_t *device;
        json_t *total;
        char *text;

        assert_true(report_text_begin(&t));
        report_one_way(t.out, s, "run", &way);
        text = report_text_take(&t);
        assert_non_null(text);
        total = json_loads(strchr(text, '{'), 0, NULL);
        device = json_array_get(json_object_get(total, "devices"), 0);
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
            assert_int_equal(json_array_size(json_object_get(device, lists[i])),
                             top);
        json_decref(total);
        free(text);
    }
    snapshot_free(s);
}

/* A figure that is 0 is there all the same. */
static void json_has_the_sums_of_all_devices(void **state)
{
    static const struct {
        const char *lines, *sums;
    } runs[] = {
        {"alloc 0 600\n", "\"peak_allocated_bytes\":1024,\"events\":1,"
                          "\"segments\":0,\"oom_events\":0,"
                          "\"peak_requested_bytes\":600,"
                          "\"peak_reserved_bytes\":0}"},
        {"alloc 0 600\nsegment_alloc 4 2MiB\noom 0 9MiB\ndevice 1\n"
         "alloc 0 1600\noom 0 9MiB\nsegment 0 2MiB\nblock 2MiB inactive\n",
         "\"peak_allocated_bytes\":2048,\"events\":5,"
         "\"segments\":1,\"oom_events\":2,"
         "\"peak_requested_bytes\":1600,"
         "\"peak_reserved_bytes\":2097152}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct snapshot *s = made_snapshot(runs[i].lines, NULL);
        const struct report_options opt = {0};
        struct tool_error error;
        struct report_text t;
        char *text;

        assert_true(report_text_begin(&t));
        assert_true(report_write_json(t.out, "run", s, &opt, &error));
        text = report_text_take(&t);
        assert_non_null(text);
        if (strstr(text, runs[i].sums) == NULL)
            fail_msg("'%s' is not in: %s", runs[i].sums, text);
        free(text);
        snapshot_free(s);
    }
}

static void failures_beyond_twenty_are_counted(void **state)
{
    static const struct {
        int failures;
        const char *words;
    } runs[] = {
        {20, NULL},
        {21, "\nand memory ran out 1 time more\n"},
        {23, "\nand memory ran out 3 times more\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char lines[128];
        struct snapshot *s;
        char *text;

        snprintf(lines, sizeof lines,
                 "alloc 0 4MiB 0 a.py:1:f\nrepeat %d\noom 1MiB 9MiB\nend\n",
                 runs[i].failures);
        s = made_snapshot(lines, NULL);
        text = report_all_ways(s, "run");
        assert_non_null(text);
        assert_non_null(strstr(text, "Out of memory, event 20\n"));
        assert_null(strstr(text, "Out of memory, event 21\n"));
        if (runs[i].words != NULL)
            assert_non_null(strstr(text, runs[i].words));
        else
            assert_null(strstr(text, "and memory ran out"));
        snapshot_free(s);
        free(text);
    }
}

#define scene(name)                                                            \
    {                                                                          \
        "scene " name, a_made_up_run_is_reported_to_the_letter, NULL, NULL,    \
            (void *)(uintptr_t)name                                            \
    }
#define snapshot(name)                                                         \
    {                                                                          \
        "snapshot " name, a_snapshot_is_reported_to_the_letter, NULL, NULL,    \
            (void *)(uintptr_t)name                                            \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        scene("training"),
        scene("inference"),
        scene("pieces"),
        scene("streams"),
        scene("refused"),
        scene("refused_twice"),
        scene("too_much"),
        scene("state"),
        scene("frames"),
        scene("late"),
        scene("late_little"),
        scene("brief"),
        scene("driver"),
        scene("devices"),
        scene("peaks"),
        scene("peaks_few"),
        scene("older"),
        snapshot("two_devices.pickle"),
        snapshot("v2.0.json"),
        snapshot("v2.5.pickle"),
        snapshot("v2.13.pickle"),
        cmocka_unit_test(two_runs_are_compared_to_the_letter),
        cmocka_unit_test(lists_in_json_are_as_long_as_asked),
        cmocka_unit_test(json_has_the_sums_of_all_devices),
        cmocka_unit_test(failures_beyond_twenty_are_counted),
    };

    return run_guarded_tests(tests);
}
