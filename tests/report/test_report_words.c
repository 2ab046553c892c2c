/* test_report_words.c - figures and texts as a report shows them, on both sides
 * of each limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/report_words.h"
#include "support/count.h"
#include "support/guarded.h"
#include "snapshot/plain_text.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* ---- figures --------------------------------------------------------------- */

/* Three digits: fewer after the point if there are more before it. */
static void bytes_have_three_digits(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *words;
    } figures[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {10234, "9.99 KiB"},
        {10235, "10.0 KiB"},
        {102348, "99.9 KiB"},
        {102349, "100 KiB"},
        {1023 * 1024 + 511, "1023 KiB"},
        {1023 * 1024 + 512, "1.00 MiB"},
        {1024 * 1024 - 1, "1.00 MiB"},
        {1024 * 1024, "1.00 MiB"},
        {UINT64_C(5) << 30, "5.00 GiB"},
        {UINT64_C(5) << 40, "5.00 TiB"},
        {UINT64_C(2000) << 50, "1.95 EiB"},
        /* 9.995 and 99.95, as close as a double can be. */
        {(uint64_t)(9.995 * (UINT64_C(1) << 50)), "10.0 PiB"},
        {(uint64_t)(99.95 * (UINT64_C(1) << 50)), "100 PiB"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(figures); i++) {
        char word[UNITS_MAX];

        assert_ptr_equal(units_bytes_in(figures[i].bytes, word), word);
        assert_string_equal(word, figures[i].words);
    }
}

static void a_size_that_is_enough_is_rounded_up(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *words;
    } figures[] = {
        {1023, "1023 B"},          {1025, "1.01 KiB"},
        {10230, "10.0 KiB"},       {102300, "100 KiB"},
        {1023 * 1024, "1023 KiB"}, {1023 * 1024 + 1, "1.00 MiB"},
        {1024 * 1024, "1.00 MiB"}, {1024 * 1024 + 1, "1.01 MiB"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(figures); i++) {
        char word[UNITS_MAX];

        assert_ptr_equal(units_bytes_up_in(figures[i].bytes, word), word);
        assert_string_equal(word, figures[i].words);
    }
}

static void sizes_are_told_in_words(void **state)
{
    char buf[UNITS_MAX];

    (void)state;
    assert_string_equal(units_bytes_in(0, buf), "0 B");
    assert_string_equal(units_bytes_in(1023, buf), "1023 B");
    assert_string_equal(units_bytes_in(1536, buf), "1.50 KiB");
    assert_string_equal(units_bytes_in(MIB(20), buf), "20.0 MiB");
    assert_string_equal(units_bytes_in((uint64_t)200 << 30, buf), "200 GiB");
    assert_string_equal(units_bytes_in(UINT64_MAX, buf), "16.0 EiB");
    assert_string_equal(report_time_in(40, buf), "40 µs");
    assert_string_equal(report_time_in(1500, buf), "1.5 ms");
}

static void times_have_the_unit_that_fits(void **state)
{
    static const struct {
        int64_t us;
        const char *words;
    } times[] = {
        {0, "0 µs"},           {999, "999 µs"},     {1000, "1.0 ms"},
        {999999, "1000.0 ms"}, {1000000, "1.00 s"}, {61500000, "61.50 s"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(times); i++) {
        char word[REPORT_WORD];

        assert_ptr_equal(report_time_in(times[i].us, word), word);
        assert_string_equal(word, times[i].words);
    }
}

static void times_too_far_apart_differ_by_the_largest_number(void **state)
{
    static const struct {
        int64_t from, to, apart;
    } times[] = {
        {3, 5, 2},
        {5, 3, -2},
        {0, INT64_MAX, INT64_MAX},
        {-1, INT64_MAX, INT64_MAX},
        {INT64_MIN, INT64_MAX, INT64_MAX},
        {INT64_MAX, 0, -INT64_MAX},
        {INT64_MAX, -1, -INT64_MAX},
        {INT64_MAX, INT64_MIN, -INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(times); i++)
        assert_true(report_elapsed(times[i].from, times[i].to) ==
                    times[i].apart);
}

static void differences_of_times_do_not_overflow(void **state)
{
    (void)state;
    assert_int_equal(report_elapsed(5, 9), 4);
    assert_int_equal(report_elapsed(9, 5), -4);
    assert_int_equal(report_elapsed(INT64_MIN, INT64_MAX), INT64_MAX);
    assert_int_equal(report_elapsed(INT64_MAX, INT64_MIN), -INT64_MAX);
}

static void a_part_of_nothing_is_0_percent(void **state)
{
    (void)state;
    assert_true(report_percent(1, 4) == 25);
    assert_true(report_percent(0, 0) == 0);
    assert_true(report_percent(1, 0) == 0);
}

static void only_one_is_singular(void **state)
{
    (void)state;
    assert_string_equal(report_plural(0), "s");
    assert_string_equal(report_plural(1), "");
    assert_string_equal(report_plural(2), "s");
}

/* ---- text ------------------------------------------------------------------ */

static void a_text_is_cut_between_characters(void **state)
{
    (void)state;
    assert_int_equal(report_cut("abc", 4), 3);
    assert_int_equal(report_cut("abc", 3), 3);
    assert_int_equal(report_cut("abcd", 3), 3);
    assert_int_equal(report_cut("ab\xC3\xA4", 4), 4);
    assert_int_equal(report_cut("ab\xC3\xA4", 3), 2);
    assert_int_equal(report_cut("\xF0\x9F\x98\x80", 3), 0);
    assert_int_equal(report_cut("\x80\x80\x80", 2), 0);
}

/* And marks of direction: one byte for each. */
static void control_characters_are_replaced(void **state)
{
    static const struct {
        const char *text, *shown;
    } texts[] = {
        {"a\x08\t\n\v\f\r\x0E z", "a?     ? z"},
        {"\x1F ~\x7F", "? ~?"},
        {"\xC2\x80\xC2\x9F", "??"},
        {"\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F", "???"},
        {"\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xAE\xE2\x80\xAF",
         "\xE2\x80\xA7??\xE2\x80\xAF"},
        {"\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA",
         "\xE2\x81\xA5??\xE2\x81\xAA"},
        {"\xC2\xA0\xDF\xBF", "\xC2\xA0\xDF\xBF"},
        {"\xE0\xA0\x80\xEF\xBF\xBF", "\xE0\xA0\x80\xEF\xBF\xBF"},
        {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
         "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
        {"\xED\x9F\xBF\xED\xA0\x80\xEE\xA0\x80", "\xED\x9F\xBF???\xEE\xA0\x80"},
        {"\x80\xBF", "??"},
        {"a\xC3\xA4", "a\xC3\xA4"},
        {"\xC3", "?"},
        {"\xE2\x82", "??"},
        {"\xF0\x9F\x98", "???"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        char text[32];

        snprintf(text, sizeof text, "%s", texts[i].text);
        plain_text(text);
        assert_string_equal(text, texts[i].shown);
    }
}

/* Cut inside a character, half of a pair, a control character. */
static void shown_text_has_no_escapes_or_broken_characters(void **state)
{
    char text[] = "a\xc3\xa9 b\xc3 \xed\xa0\x80 \x1b[31m \xe2\x82";

    (void)state;
    plain_text(text);
    assert_string_equal(text, "a\xc3\xa9 b? ??? ?[31m ??");
}

static void put_name_is(const char *name, const char *want)
{
    struct report_text t;
    char *text;

    assert_true(report_text_begin(&t));
    plain_text_put(t.out, name);
    text = report_text_take(&t);
    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void a_long_file_name_is_shown_by_its_end(void **state)
{
    char name[4097];

    (void)state;
    memset(name, 'x', sizeof name);
    name[0] = 'a';
    name[1] = 'b';
    name[4095] = '\0';
    put_name_is(name, name);
    name[4095] = 'x';
    name[4096] = '\0';
    put_name_is(name, name + 1);
    put_name_is("a\nb", "a b");
}

static void a_files_name_is_harmless(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    plain_text_put(out, "run\x1b[31m\n\xc3.pickle");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "run?[31m ?.pickle");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(a_size_that_is_enough_is_rounded_up),
        cmocka_unit_test(sizes_are_told_in_words),
        cmocka_unit_test(times_have_the_unit_that_fits),
        cmocka_unit_test(times_too_far_apart_differ_by_the_largest_number),
        cmocka_unit_test(differences_of_times_do_not_overflow),
        cmocka_unit_test(a_part_of_nothing_is_0_percent),
        cmocka_unit_test(only_one_is_singular),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(shown_text_has_no_escapes_or_broken_characters),
        cmocka_unit_test(a_long_file_name_is_shown_by_its_end),
        cmocka_unit_test(a_files_name_is_harmless),
    };

    return run_guarded_tests(tests);
}
