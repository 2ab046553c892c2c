/* test_recorded_reports.c - reports on many made-up programs (made_program.h), in
 * every form, and what they are made of, compared with what was recorded.
 *
 * The whole is done twice: the second time equal items are sorted the other way
 * round.  Where two items are equal the C library may put either first, so no
 * output may depend on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_ranks.h"
#include "ranks_facts.h"
#include "support/recorded.h"
#include "report/report_words.h"
#include "report_facts.h"
#include "report_ways.h"
#include "support/guarded.h"
#include "support/made_program.h"

enum { PROGRAMS = 160 };

/* ---- sorting --------------------------------------------------------------- */

static bool is_reversed;

/* In place of the C library's: by insertion, so that equal items stay in order,
 * or are reversed. */
void qsort(void *base, size_t count, size_t size,
           int (*order)(const void *, const void *))
{
    unsigned char *items = base;
    unsigned char item[256];

    assert_true(size <= sizeof item);
    for (size_t i = 1; i < count; i++) {
        size_t to = i;

        memcpy(item, items + i * size, size);
        while (to > 0) {
            int sign = order(items + (to - 1) * size, item);

            if (sign < 0 || (sign == 0 && !is_reversed))
                break;
            memcpy(items + to * size, items + (to - 1) * size, size);
            to--;
        }
        memcpy(items + to * size, item, size);
    }
}

/* ---- what is recorded ------------------------------------------------------ */

static void put_outputs(struct recorded *r, char *text)
{
    assert_non_null(text);
    recorded_outputs(r, text);
    free(text);
}

static void put_verdict(struct recorded *r, const struct snapshot *s)
{
    static const struct report_options opt = {.ascii = true};
    char *figures = report_figures(s);
    struct tool_error error;
    struct report_text t;
    char *text;

    recorded_words(r, figures);
    free(figures);
    assert_true(report_text_begin(&t));
    if (!report_write_verdict(t.out, s, 0, &opt, &error))
        fail_msg("%s", error.text);
    text = report_text_take(&t);
    recorded_words(r, text);
    free(text);
}

static void put_difference(struct recorded *r, const struct snapshot *s,
                           const struct snapshot *other)
{
    const char *const names[2] = {"this", "the one before"};
    const struct snapshot *const runs[2] = {s, other};

    put_outputs(r, report_compared(names, runs));
}

static void put_ranks(struct recorded *r, const struct report_ranks *ranks)
{
    struct report_text t;
    char *json;

    put_outputs(r, ranks_facts(ranks));
    json = ranks_json(ranks);
    assert_true(report_text_begin(&t));
    fputs("==== ranks in JSON\n", t.out);
    report_put_json(t.out, json);
    put_outputs(r, report_text_take(&t));
    free(json);
}

/* ---- the test -------------------------------------------------------------- */

/* Each so-manieth is reported with guarded memory (libc_faults.h), which takes its
 * time.  Ranks are of the program and those before it, from a multiple of ten on. */
static void record_all(unsigned guarded)
{
    struct recorded *r = recorded_begin("reports/programs.txt");
    struct snapshot *before = made_program_snapshot(0);
    struct report_ranks ranks = {0};

    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        struct snapshot *s = made_program_snapshot(seed);

        libc_guard(guarded > 0 && seed % guarded == 0);
        recorded_entry(r, "%u %s", (unsigned)seed, made_words(seed));
        put_verdict(r, s);
        put_outputs(r, report_all_ways(s, "run"));
        put_outputs(r, report_facts(s));
        put_difference(r, s, before);
        libc_guard(false);
        if (seed % 10 == 0)
            report_ranks_free(&ranks);
        made_ranks_add(&ranks, seed % 10, s);
        if (seed % 3 == 2)
            put_ranks(r, &ranks);
        snapshot_free(before);
        before = s;
    }
    snapshot_free(before);
    report_ranks_free(&ranks);
    assert_int_equal(recorded_end(r), 0);
}

static void reports_are_as_recorded(void **state)
{
    (void)state;
    is_reversed = false;
    record_all(8);
}

static void equal_items_may_come_in_any_order(void **state)
{
    (void)state;
    is_reversed = true;
    record_all(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_as_recorded),
        cmocka_unit_test(equal_items_may_come_in_any_order),
    };

    return run_counted_tests(tests);
}
