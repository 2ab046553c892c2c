/* test_iterations.c - iterations begin at the program's marks, or where
 * allocations repeat.
 *
 * Runs are drawn with one character per event: a letter is an allocation of its
 * own kind, a dot is anything else, and text in '<' and '>' is a mark of what
 * follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "put_lines.h"
#include "report/iterations.h"
#include "support/guarded.h"

static void draw(const char *run)
{
    lines[0] = '\0';
    for (; *run != '\0'; run++) {
        if (*run == '<') {
            const char *end = strchr(run, '>');

            put("mark %.*s\n", (int)(end - run - 1), run + 1);
            run = end;
        } else if (*run == '.') {
            put("segment_alloc + 2MiB\n");
        } else {
            put("alloc + 1MiB 0 model.py:%d:f\n", *run);
        }
    }
}

static size_t layers; /* that found() met */

/* The beginnings in the lines as "0 7 14", marked ones preceded by '*'. */
static const char *found(size_t device)
{
    static char text[1024];
    struct snapshot *s = made_snapshot(lines, NULL);
    struct tool_error error;
    struct arena arena = {.error = &error};
    struct iterations it;
    struct lifetimes l;

    assert_true(lifetimes_make(s, device, &l, &error));
    iterations_find(&arena, &l, &it);
    snprintf(text, sizeof text, "%s", it.marked ? "*" : "");
    for (size_t i = 0; i < it.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u",
                 i > 0 ? " " : "", (unsigned)it.begin[i]);
    layers = it.layers;
    arena_end(&arena, true);
    lifetimes_free(&l);
    snapshot_free(s);
    return text;
}

static void assert_found(const char *run, const char *want)
{
    const char *got;

    draw(run);
    got = found(0);
    if (strcmp(got, want) != 0)
        fail_msg("%s: found '%s', expected '%s'", run, got, want);
}

/* ---- marks ----------------------------------------------------------------- */

static void marks_say_where_iterations_begin(void **state)
{
    (void)state;
    assert_found(".<step START>..<step START>..<step START>.", "*1 3 5");
    assert_found(".<iteration START>..<iter_2 START>..<iter3 START>.",
                 "*1 3 5");
    assert_found("<ProfilerStep#1 START>..<ProfilerStep#2 START>."
                 "<ProfilerStep#3 START>..",
                 "*0 2 3");
}

static void ends_and_other_names_are_not_iteration_marks(void **state)
{
    (void)state;
    assert_found(".<step END>..<step END>..<step END>.", "");
    assert_found(".<a_step START>..<ProfilerSte START>..<it START>.", "");
    assert_found(".<step START>.<step END>.<step START>.<step START>.",
                 "*1 3 4");
}

static void fewer_than_three_marks_are_none(void **state)
{
    (void)state;
    assert_found(".<step START>..<step START>..", "");
    assert_found(".<step START>..A..A<step START>..A.", "3 6 9");
}

/* Or if no event follows. */
static void marks_of_one_event_count_once(void **state)
{
    (void)state;
    assert_found(".<step START><iter START>..<step START>.<step START>.",
                 "*1 3 4");
    assert_found(".<step START>.<step START>.<step START>.<step START>",
                 "*1 2 3");
    assert_found(".<step START>.<step START>.<step START>", "");
}

static void marks_count_for_their_device_only(void **state)
{
    (void)state;
    draw(".<step START>.<step START>.<step START>.");
    put("device 1\nalloc 0 1MiB\n");
    assert_string_equal(found(0), "*1 2 3");
    assert_string_equal(found(1), "");
}

/* ---- repeats --------------------------------------------------------------- */

static void three_times_make_a_repetition(void **state)
{
    (void)state;
    assert_found("A....A....", "");
    assert_found("A....A....A....", "0 5 10");
    assert_found("..A..A..A", "2 5 8");
}

/* Each with a working set, which repeats too. */
static void repeats_are_found(void **state)
{
    (void)state;
    lines[0] = '\0';
    put("segment_alloc 0 4GiB\n");
    for (int i = 0; i < 12; i++) {
        put_working_set();
        put("free_requested 0 8MiB\nfree_completed 0 8MiB\n");
    }
    assert_string_equal(found(0),
                        "1 64 127 190 253 316 379 442 505 568 631 694");
}

/* One place requests many sizes: they are told apart by every bit. */
static void repeats_are_distinguished_by_size(void **state)
{
    (void)state;
    lines[0] = '\0';
    put("segment_alloc 0 4GiB\n");
    for (int i = 0; i < 8; i++) {
        for (int k = 1; k < 6; k++)
            put("alloc %d %dMiB 0 m.py:7:layer\n"
                "free_requested %d %dMiB\nfree_completed %d %dMiB\n",
                k * 64, k * 16, k * 64, k * 16, k * 64, k * 16);
    }
    assert_string_equal(found(0), "1 16 31 46 61 76 91 106");
}

/* Distances of 17 and 23 are off by 15 % of their mean. */
static void distances_may_differ_a_little(void **state)
{
    (void)state;
    assert_found("A................A......................A...................",
                 "0 17 40");
    assert_found("A...............A.......................A...................",
                 "");
    assert_found("A......................A................A...................",
                 "0 23 40");
}

static void half_of_the_run_is_covered(void **state)
{
    (void)state;
    assert_found("A.A.A.......", "0 2 4");
    assert_found("A.A.A........", "");
    assert_found(".......A.A.A", "7 9 11");
}

/* Few long iterations are preferred to many short ones. */
static void the_rarest_repeated_stack_marks_the_iterations(void **state)
{
    (void)state;
    assert_found("BABABA.BABABA.BABABA.BABABA.C......C......C......C......",
                 "28 35 42 49");
    assert_found("AB..B...AB..B...AB..B...", "0 8 16");
    assert_found("BA..B...BA..B...BA..B...", "1 9 17");
}

/* Of fifteen kinds a single repeating one is enough; of sixteen, three have to
 * agree. */
static void several_of_many_kinds_have_to_agree(void **state)
{
    (void)state;
    assert_found("Aabcde..Afghij..Aklmn...", "0 8 16");
    assert_found("Aabcde..Afghij..Aklmno..", "");
    assert_found("ABabcde.ABfghij.ABklmno.", "");
    assert_found("ABCabcd.ABCefgh.ABCijklm", "0 8 16");
}

#define MODEL "a.py:9:main"

/* A pass of a model whose forward() makes something after its layers, from the
 * line given; no line: nothing. */
static void draw_pass(const char *after)
{
    lines[0] = '\0';
    for (int i = 0; i < 6; i++)
        put("alloc + 1MiB 0 m.py:3:forward|m.py:20:forward|" MODEL "\n"
            "alloc + 2MiB 0 ??:0:C|m.py:4:forward|m.py:20:forward|" MODEL "\n"
            "segment_alloc + 2MiB\n");
    if (after != NULL)
        put("alloc + 5MiB 0 %s\n", after);
}

static void layers_of_one_pass_are_no_iterations(void **state)
{
    (void)state;
    draw_pass(NULL);
    assert_string_equal(found(0), "0 3 6 9 12 15");
    assert_int_equal(layers, 0);
    draw_pass("m.py:30:forward|" MODEL);
    assert_string_equal(found(0), "");
    assert_int_equal(layers, 6);
    draw_pass("m.py:9:g|m.py:30:forward|??:0:C|" MODEL);
    assert_int_equal((found(0), layers), 6);
    /* Another call, and no forward() at all. */
    draw_pass("m.py:30:forward|a.py:10:main");
    assert_int_equal((found(0), layers), 0);
    draw_pass("a.py:10:main");
    assert_int_equal((found(0), layers), 0);
}

static void a_run_without_events_has_no_iterations(void **state)
{
    (void)state;
    assert_found("", "");
}

/* ---- kinds ----------------------------------------------------------------- */

static void kinds_differ_by_any_byte_of_their_size(void **state)
{
    (void)state;
    for (int byte = 0; byte < 7; byte++) {
        lines[0] = '\0';
        for (int i = 0; i < 4; i++)
            put("alloc + 1\nalloc + %llu\nalloc + 1\nsegment_alloc + 2MiB\n"
                "segment_alloc + 2MiB\n",
                1 + (1ULL << 8 * byte));
        assert_string_equal(found(0), "1 6 11 16");
    }
}

/* More call paths than a byte can number. */
static void kinds_differ_by_any_byte_of_their_path(void **state)
{
    (void)state;
    lines[0] = '\0';
    for (int i = 0; i < 300; i++)
        put("segment_alloc + 2MiB 0 model.py:%d:f\n", 1000 + i);
    for (int i = 0; i < 8; i++) {
        put("alloc + 1MiB 0 model.py:1000:f\n");
        for (int k = 0; k < 50; k++)
            put("segment_alloc + 2MiB\n");
        put("alloc + 1MiB 0 model.py:1256:f\n");
    }
    assert_string_equal(found(0), "300 352 404 456 508 560 612 664");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_say_where_iterations_begin),
        cmocka_unit_test(ends_and_other_names_are_not_iteration_marks),
        cmocka_unit_test(fewer_than_three_marks_are_none),
        cmocka_unit_test(marks_of_one_event_count_once),
        cmocka_unit_test(marks_count_for_their_device_only),
        cmocka_unit_test(three_times_make_a_repetition),
        cmocka_unit_test(repeats_are_found),
        cmocka_unit_test(repeats_are_distinguished_by_size),
        cmocka_unit_test(distances_may_differ_a_little),
        cmocka_unit_test(half_of_the_run_is_covered),
        cmocka_unit_test(the_rarest_repeated_stack_marks_the_iterations),
        cmocka_unit_test(several_of_many_kinds_have_to_agree),
        cmocka_unit_test(layers_of_one_pass_are_no_iterations),
        cmocka_unit_test(a_run_without_events_has_no_iterations),
        cmocka_unit_test(kinds_differ_by_any_byte_of_their_size),
        cmocka_unit_test(kinds_differ_by_any_byte_of_their_path),
    };

    return run_guarded_tests(tests);
}
