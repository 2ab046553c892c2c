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
#include "support/libc_faults.h"

enum { OUT_BYTES = 1 << 20 };

/* The report's output, which needs no memory during the report. */
struct output {
    FILE *file;
    char text[OUT_BYTES];
};

static struct output first, other;

static void output_begin(struct output *o)
{
    memset(o->text, 0, sizeof o->text);
    o->file = fmemopen(o->text, sizeof o->text, "w");
    assert_non_null(o->file);
    assert_int_equal(setvbuf(o->file, NULL, _IONBF, 0), 0);
}

typedef bool reporter(FILE *out, const struct snapshot *s,
                      struct tool_error *error);

/* One allocation after the other fails, alone or with all that follow. */
static void assert_fails_cleanly(reporter *report, const struct snapshot *s,
                                 bool lasting)
{
    struct tool_error error;
    bool reached = true;

    output_begin(&first);
    assert_true(report(first.file, s, &error));
    fclose(first.file);
    for (unsigned long nth = 1; reached; nth++) {
        long held = libc_faults.held;
        bool ok;

        output_begin(&other);
        error.text[0] = '\0';
        libc_fail(nth, lasting);
        ok = report(other.file, s, &error);
        reached = libc_faults.calls >= nth;
        libc_fail(0, false);
        fclose(other.file);
        if (libc_faults.held != held)
            fail_msg("after allocation %lu failed %ld are held", nth,
                     libc_faults.held - held);
        if (ok)
            assert_string_equal(other.text, first.text);
        else if (strstr(error.text, "memory") == NULL)
            fail_msg("allocation %lu: '%s' says nothing of memory", nth,
                     error.text);
    }
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
    "oom 1MiB 90MiB 0 main.py:7:main\n"
    "segment 0 100MiB\n"
    "block 60MiB active_allocated main.py:5:main\n"
    "block 40MiB inactive\n";

static void a_report_without_memory_fails_cleanly(void **state)
{
    reporter *const reports[] = {text, by_module, json, diff, diff_json};
    struct snapshot *s = made_snapshot(run, NULL);

    other_run = made_snapshot("alloc 0 4MiB 0 main.py:4:main\n", NULL);
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        assert_fails_cleanly(reports[i], s, false);
        assert_fails_cleanly(reports[i], s, true);
    }
    snapshot_free(other_run);
    snapshot_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_without_memory_fails_cleanly),
    };

    if (!LIBC_FAULTS)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
