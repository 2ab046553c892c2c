/* test_report_words.c - figures, names and frames as text, on both sides of
 * each limit. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "report/frame_kind.h"
#include "report/report_words.h"
#include "support/libc_faults.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
        {1024 * 1024 - 1, "1024 KiB"},
        {1024 * 1024, "1.00 MiB"},
        {UINT64_C(5) << 30, "5.00 GiB"},
        {UINT64_C(5) << 40, "5.00 TiB"},
        {UINT64_C(2000) << 50, "2000 PiB"},
        /* 9.995 and 99.95, as close as a double can be. */
        {(uint64_t)(9.995 * (UINT64_C(1) << 50)), "10.0 PiB"},
        {(uint64_t)(99.95 * (UINT64_C(1) << 50)), "100 PiB"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(figures); i++) {
        char word[REPORT_WORD];

        assert_ptr_equal(report_bytes(figures[i].bytes, word), word);
        assert_string_equal(word, figures[i].words);
    }
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

        assert_ptr_equal(report_time(times[i].us, word), word);
        assert_string_equal(word, times[i].words);
    }
}

static void times_too_far_apart_are_as_far_as_can_be(void **state)
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

static void one_alone_is_no_plural(void **state)
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

/* The length stays: one byte replaces one byte. */
static void control_characters_are_replaced(void **state)
{
    static const struct {
        const char *text, *shown;
    } texts[] = {
        {"a\x08\t\n\v\f\r\x0E z", "a?     ? z"},
        {"\x1F ~\x7F", "? ~?"},
        {"\xC2\x80\xC2\x9F", "????"},
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
        report_defuse(text);
        assert_string_equal(text, texts[i].shown);
    }
}

static void put_name_is(const char *name, const char *want)
{
    struct report_text t;
    char *text;

    assert_true(report_text_begin(&t));
    report_put_name(t.out, name);
    text = report_text_take(&t);
    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void of_a_long_file_name_the_end_is_shown(void **state)
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

/* ---- frames ---------------------------------------------------------------- */

#define HOME "/home/a/main.py:4:main"
#define TORCH "/v/site-packages/torch/nn/linear.py:9:forward"
#define PACKAGE "/v/site-packages/timm/a.py:1:f"
#define PACKAGE_2 "/v/site-packages/timm/b.py:2:g"
#define PACKAGE_3 "/v/site-packages/timm/c.py:3:h"
#define STANDARD "/usr/lib/python3.11/threading.py:9:run"
#define COMPILED "??:0:at::native::add(at::Tensor)"
#define PLUMBING "??:0:c10::cuda::go()"
#define BACKWARD "??:0:torch::autograd::MmBackward0::apply(x)"

static struct snapshot *with_frames(const char *frames)
{
    char lines[2048];

    snprintf(lines, sizeof lines, "alloc 0 4MiB 0 %s\n", frames);
    return made_snapshot(lines, NULL);
}

/* The line that a reader would name, for a stack whose innermost frame comes
 * first. */
static void the_line_that_is_named_says_most(void **state)
{
    static const struct {
        const char *frames;
        const char *named;
    } stacks[] = {
        {PLUMBING "|" STANDARD, "threading.py:9 run"},
        {STANDARD "|" COMPILED, "at::native::add"},
        {COMPILED "|" BACKWARD "|" PLUMBING,
         "MmBackward0 of the backward pass"},
        {BACKWARD "|" TORCH, "linear.py:9 forward"},
        {TORCH "|" PACKAGE, "a.py:1 f"},
        {PACKAGE "|" PACKAGE_2 "|" HOME, "main.py:4 main"},
        {PACKAGE "|" PACKAGE_2 "|" PACKAGE_3 "|" HOME, "a.py:1 f"},
        {TORCH "|" HOME "|" PACKAGE, "main.py:4 main"},
        {"", "(no call path recorded)"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(stacks); i++) {
        struct snapshot *s = with_frames(stacks[i].frames);
        uint32_t frame = report_own_frame(s, s->events[0].stack);
        char buf[REPORT_FRAME];

        assert_string_equal(report_frame(s, frame, false, buf),
                            stacks[i].named);
        snapshot_free(s);
    }
}

static void the_kind_of_a_frame_is_read_from_its_file_and_name(void **state)
{
    static const struct {
        const char *frame;
        enum frame_kind kind;
    } frames[] = {
        {HOME, FRAME_OWN},
        {"main.py:4:main", FRAME_OWN},
        {".py:4:main", FRAME_OWN},
        {"py:4:main", FRAME_COMPILED},
        {"<cell-line>:1:x", FRAME_OWN},
        {"<ipython-input-3-ab>:1:x", FRAME_OWN},
        {TORCH, FRAME_TORCH},
        {"torch/a.py:1:f", FRAME_OWN},
        {"/v/torch/a.py:1:f", FRAME_TORCH},
        {"/v/mytorch/a.py:1:f", FRAME_OWN},
        {"/v/torchy/a.py:1:f", FRAME_OWN},
        {"C:\\\\torch\\\\a.py:1:f", FRAME_TORCH},
        {"<eval_with_key>.3:5:forward", FRAME_TORCH},
        {PACKAGE, FRAME_PACKAGE},
        {"/v/dist-packages/six.py:1:f", FRAME_PACKAGE},
        {STANDARD, FRAME_STANDARD},
        {"<frozen>:7:importlib", FRAME_STANDARD},
        {COMPILED, FRAME_COMPILED},
        {PLUMBING, FRAME_PLUMBING},
        {BACKWARD, FRAME_BACKWARD},
        {"??:0:MmBackward0", FRAME_COMPILED},
        {"??:0:torch::Node::apply(x)", FRAME_COMPILED},
        {"??:0:c10::MmBackward0::apply(x)", FRAME_PLUMBING},
        {"??:0:start_thread", FRAME_PLUMBING},
        {"??:0:unwind", FRAME_PLUMBING},
        {"<ipython-inputs>:1:x", FRAME_STANDARD},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(frames); i++) {
        struct snapshot *s = with_frames(frames[i].frame);

        if (frame_kind_of(s, 0) != frames[i].kind)
            fail_msg("%s is of kind %d, expected %d", frames[i].frame,
                     (int)frame_kind_of(s, 0), (int)frames[i].kind);
        snapshot_free(s);
    }
}

static void a_package_is_named_by_its_folder_or_file(void **state)
{
    static const struct {
        const char *file;
        const char *package;
    } files[] = {
        {"/v/site-packages/timm/a.py", "timm"},
        {"/v/dist-packages/timm/a.py", "timm"},
        {"/v/site-packages/six.py", "six"},
        {"/v/site-packages/.py", ".py"},
        {"/v/site-packages/timm", "timm"},
        {"C:\\v\\site-packages\\timm\\a.py", "timm"},
        {"/site-packages/a/site-packages/b/c.py", "b"},
        {"site-packages/a/b.py", NULL},
        {"/v/site-packages", NULL},
        {"/v/site-packages-2/a.py", NULL},
        {"/v/my-site-packages/a.py", NULL},
        {&"/site-packages/a/b.py"[1], NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        size_t length = 0;
        const char *package = frame_package(files[i].file, &length);

        assert_int_equal(package != NULL, files[i].package != NULL);
        if (package == NULL)
            continue;
        assert_int_equal(length, strlen(files[i].package));
        assert_memory_equal(package, files[i].package, length);
    }
}

static void frame_is(const char *frame, const char *brief, const char *whole)
{
    struct snapshot *s = with_frames(frame);
    char buf[REPORT_FRAME];

    assert_string_equal(report_frame(s, 0, false, buf), brief);
    assert_string_equal(report_frame(s, 0, true, buf), whole);
    snapshot_free(s);
}

static void a_frame_is_shown_in_brief_or_whole(void **state)
{
    (void)state;
    frame_is("/a/b/c.py:7:f", "c.py:7 f", "/a/b/c.py:7 f");
    frame_is("C:\\\\a\\\\c.py:7:f", "c.py:7 f", "C:\\a\\c.py:7 f");
    frame_is("/a/b/:7:f", "b/:7 f", "/a/b/:7 f");
    frame_is("c.py:0:f", "c.py f", "c.py f");
    frame_is("c.py:1:f", "c.py:1 f", "c.py:1 f");
    frame_is("??:1:f", "f", "f");
    frame_is("c:1:f(int)", "c:1 f", "c:1 f(int)");
    frame_is(":1:note(here)", "note(here)", "note(here)");
    frame_is("c.py:1:\\u0000", "c.py:1 (no name)", "c.py:1 (no name)");
    frame_is("c.py:1:f\\u001b[2J", "c.py:1 f?[2J", "c.py:1 f?[2J");
    frame_is("??:0:\\u001bBackward::apply(x)", "?Backward of the backward pass",
             "?Backward::apply(x)");
    frame_is("<ipython-input-12-ab>:3:f", "cell 12:3 f", "cell 12:3 f");
    frame_is(BACKWARD, "MmBackward0 of the backward pass",
             "torch::autograd::MmBackward0::apply(x)");
    frame_is("??:0:MmBackward0::apply(x)", "MmBackward0 of the backward pass",
             "MmBackward0::apply(x)");
}

/* Unless parentheses are part of its name. */
static void a_function_of_c_has_no_parameters_in_brief(void **state)
{
    static const char *const names[][2] = {
        {"f(int)", "f"},
        {"f(anonymous::g(int)", "f(anonymous::g"},
        {"operator()(int)", "operator()"},
        {"(int)", "(int)"},
        {"f()", "f()"},
        {"f", "f"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char frame[128];

        snprintf(frame, sizeof frame, "??:0:%s", names[i][0]);
        frame_is(frame, names[i][1], names[i][0]);
    }
}

#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10

static void a_long_function_is_cut(void **state)
{
    (void)state;
    frame_is("c.py:1:" X50 X10 "x", "c.py:1 " X50 X10, "c.py:1 " X50 X10 "x");
    frame_is("??:0:" X50 "xxxBackward::apply(x)",
             X50 "xxxBackwar of the backward pass",
             X50 "xxxBackward::apply(x)");
    frame_is("??:0:" X50 "xxBackward::apply(x)",
             X50 "xxBackward of the backward pass", X50 "xxBackward::apply(x)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(times_have_the_unit_that_fits),
        cmocka_unit_test(times_too_far_apart_are_as_far_as_can_be),
        cmocka_unit_test(one_alone_is_no_plural),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(of_a_long_file_name_the_end_is_shown),
        cmocka_unit_test(the_line_that_is_named_says_most),
        cmocka_unit_test(the_kind_of_a_frame_is_read_from_its_file_and_name),
        cmocka_unit_test(a_package_is_named_by_its_folder_or_file),
        cmocka_unit_test(a_frame_is_shown_in_brief_or_whole),
        cmocka_unit_test(a_function_of_c_has_no_parameters_in_brief),
        cmocka_unit_test(a_long_function_is_cut),
    };

    libc_guard(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
