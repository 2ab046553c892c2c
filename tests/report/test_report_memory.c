/* test_report_memory.c - reports while the host runs out of memory: an error
 * says so, and nothing leaks. */
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
#include "support/memory_sweep.h"
#include "view/view.h"

enum { OUT_BYTES = 1 << 20 };

typedef bool reporter(FILE *out, const struct snapshot *s,
                      struct tool_error *error);

struct reporting {
    reporter *report;
    const struct snapshot *s;
};

/* Where reports are written, which needs no memory during a report. */
static FILE *output;
static char text_got[OUT_BYTES];
static char text_wanted[OUT_BYTES];

static void output_begin(void)
{
    output = fmemopen(text_got, sizeof text_got, "w");
    assert_non_null(output);
    assert_int_equal(setvbuf(output, NULL, _IONBF, 0), 0);
}

static bool report_to_memory(const struct reporting *r,
                             struct tool_error *error)
{
    memset(text_got, 0, strlen(text_got));
    rewind(output);
    return r->report(output, r->s, error);
}

static bool report_the_same(const void *what, struct tool_error *error)
{
    if (!report_to_memory(what, error))
        return false;
    assert_string_equal(text_got, text_wanted);
    return true;
}

static void assert_report_fails_cleanly(reporter *report,
                                        const struct snapshot *s, bool lasting)
{
    const struct reporting r = {report, s};
    struct tool_error error;

    assert_true(report_to_memory(&r, &error));
    strcpy(text_wanted, text_got);
    assert_int_not_equal(text_wanted[0], 0);
    assert_fails_cleanly(report_the_same, &r, lasting, 0);
}

/* ---- reports --------------------------------------------------------------- */

static bool text(FILE *out, const struct snapshot *s, struct tool_error *error)
{
    static const struct report_options opt = {.tree = true, .all = true};

    return report_write_text(out, "run", s, &opt, error);
}

static bool json(FILE *out, const struct snapshot *s, struct tool_error *error)
{
    static const struct report_options opt = {.by = BY_LIBRARY};

    return report_write_json(out, "run", s, &opt, error);
}

static bool by_module(FILE *out, const struct snapshot *s,
                      struct tool_error *error)
{
    static const struct report_options opt = {.by = BY_MODULE};

    return report_write_text(out, "run", s, &opt, error);
}

static struct snapshot *other_run;

static bool compare(FILE *out, const struct snapshot *s, bool as_json,
                    struct tool_error *error)
{
    static const struct report_options opt = {.by = BY_LINE};
    static const char *const names[2] = {"a", "b"};
    const struct snapshot *const runs[2] = {other_run, s};
    bool same;

    return report_write_diff(out, names, runs, as_json, &opt, &same, error);
}

static bool diff(FILE *out, const struct snapshot *s, struct tool_error *error)
{
    return compare(out, s, false, error);
}

static bool diff_json(FILE *out, const struct snapshot *s,
                      struct tool_error *error)
{
    return compare(out, s, true, error);
}

static bool page(FILE *out, const struct snapshot *s, struct tool_error *error)
{
    const struct view_run view = {"a", s};

    return view_write(out, "run", &view, 1, NULL, error);
}

static const char run[] =
    "segment_alloc 0 100MiB\n"
    "repeat 3\n"
    "alloc 0 4MiB 0 model.py:10:forward|main.py:4:main\n"
    "alloc 4 8MiB 0 ??:0:torch::autograd::MmBackward0::apply(x)\n"
    "free_requested 4 8MiB\n"
    "free_completed 4 8MiB\n"
    "free_requested 0 4MiB\n"
    "free_completed 0 4MiB\n"
    "end\n"
    "alloc 0 60MiB 0 /v/site-packages/timm/a.py:1:f|main.py:5:main\n"
    "segment_alloc 200 20MiB 5\n"
    "oom 1MiB 90MiB 0 main.py:7:main\n"
    "segment 0 100MiB\n"
    "block 60MiB active_allocated main.py:5:main\n"
    "block 40MiB inactive\n";

static void a_report_without_memory_fails_cleanly(void **state)
{
    reporter *const reports[] = {text, by_module, json, diff, diff_json};
    struct snapshot *s = made_snapshot(run, NULL);

    (void)state;
    other_run = made_snapshot("alloc 0 4MiB 0 main.py:4:main\n", NULL);
    output_begin();
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        assert_report_fails_cleanly(reports[i], s, false);
        assert_report_fails_cleanly(reports[i], s, true);
    }
    fclose(output);
    snapshot_free(other_run);
    snapshot_free(s);
}

/* A value that jansson frees because it could not be added is not used. */
static void a_page_without_memory_fails_cleanly(void **state)
{
    struct snapshot *s = made_snapshot("alloc 0 4MiB 0 main.py:4:main\n", NULL);

    (void)state;
    output_begin();
    assert_report_fails_cleanly(page, s, true);
    libc_guard(true);
    assert_report_fails_cleanly(page, s, false);
    libc_guard(false);
    fclose(output);
    snapshot_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_without_memory_fails_cleanly),
        cmocka_unit_test(a_page_without_memory_fails_cleanly),
    };

    if (!LIBC_FAULTS)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
