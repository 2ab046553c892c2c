/* test_frames.c - frames of stacks: the line that is named, kinds of frames, and
 * how they are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "report/frame_kind.h"
#include "report/report_words.h"
#include "support/count.h"
#include "support/guarded.h"

#define HOME "/home/a/main.py:4:main"
#define TORCH "/v/site-packages/torch/nn/linear.py:9:forward"
#define PACKAGE "/v/site-packages/timm/a.py:1:f"
#define PACKAGE_2 "/v/site-packages/timm/b.py:2:g"
#define PACKAGE_3 "/v/site-packages/timm/c.py:3:h"
#define STANDARD "/usr/lib/python3.11/threading.py:9:run"
#define COMPILED "??:0:at::native::add(at::Tensor)"
#define PLUMBING "??:0:c10::cuda::go()"
#define BACKWARD "??:0:torch::autograd::MmBackward0::apply(x)"

/* 49 digits in base 32. */
#define DIGITS "fy234567abcdefghijklmnopqrstuvwxyz234567abcdefghi"
#define INDUCTOR "/c/kb/ckb" DIGITS ".py:4216:call"

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
        {INDUCTOR "|" TORCH "|" HOME, "main.py:4 main"},
        {"", "no call path"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(stacks); i++) {
        struct snapshot *s = with_frames(stacks[i].frames);
        uint32_t frame = report_own_frame(s, s->events[0].stack);
        char buf[REPORT_FRAME];

        assert_string_equal(report_frame_in(s, frame, false, buf),
                            stacks[i].named);
        snapshot_free(s);
    }
}

/* The line to which the report attributes a stack's first allocation. */
static void line_is(const char *frames, const char *expected)
{
    char lines[512];
    char buf[REPORT_FRAME];
    struct snapshot *s;

    sprintf(lines, "alloc 0 1MiB 0 %s\n", frames);
    s = made_snapshot(lines, NULL);
    assert_string_equal(
        report_frame_in(s, report_own_frame(s, s->events[0].stack), false, buf),
        expected);
    snapshot_free(s);
}

static void the_line_is_the_programs_own(void **state)
{
    (void)state;
    line_is("/p/site-packages/torch/nn/m.py:3:call|/home/me/a.py:7:train",
            "a.py:7 train");
    line_is("v\\\\site-packages\\\\torch\\\\m.py:3:f|me\\\\a.py:7:train",
            "a.py:7 train");
    line_is("/p/torch/m.py:3:call|/p/site-packages/x/y.py:4:run", "y.py:4 run");
    /* A package's helper is skipped; a library of models is not. */
    line_is("/p/site-packages/e/b.py:2:einsum|/home/me/a.py:7:train",
            "a.py:7 train");
    line_is("/p/site-packages/t/m.py:1:mlp|/p/site-packages/t/m.py:2:layer|"
            "/p/site-packages/t/m.py:3:model|/home/me/a.py:7:train",
            "m.py:1 mlp");
    /* Python's own library is skipped. */
    line_is("/usr/lib/python3.11/threading.py:9:run|/home/me/a.py:7:train",
            "a.py:7 train");
    line_is("/usr/lib/python3.11/threading.py:9:run|/p/torch/m.py:3:call",
            "m.py:3 call");
    /* Cells of notebooks have numbers. */
    line_is("<ipython-input-12-f00>:3:<module>", "cell 12:3 <module>");
    line_is("/tmp/ipykernel_31/77.py:5:<module>", "cell 1:5 <module>");
    line_is("me\\\\ipykernel_31\\\\77.py:5:<module>", "cell 1:5 <module>");
    line_is("/tmp/my_ipykernel_31/77.py:5:f", "77.py:5 f");
    line_is("ipykernel_31.py:5:f", "ipykernel_31.py:5 f");
    line_is("??:0:unwind()|a.cpp:0:c10::cuda::malloc(int)|??:0:at::mm(int)",
            "at::mm");
    line_is("??:0:at::mm(int)|??:0:gen::MmBackward0::apply(x)|??:0:clone",
            "MmBackward0 of the backward pass");
}

/* Named in full, it would be another name for the same thing. */
static void a_node_of_the_backward_pass_has_one_name(void **state)
{
    struct snapshot *s = with_frames(BACKWARD);
    char buf[REPORT_FRAME];

    (void)state;
    assert_string_equal(report_frame_in(s, 0, true, buf),
                        "MmBackward0 of the backward pass");
    snapshot_free(s);
}

static void a_mark_made_no_request(void **state)
{
    struct snapshot *s = with_frames("epoch:0:x");
    char buf[REPORT_REQUESTER];

    (void)state;
    s->frames[0] = (struct snapshot_frame){.name = s->frames[0].filename};
    s->stacks_are_notes = true;
    assert_string_equal(report_requester_in(s, s->events[0].stack, buf),
                        "at the mark \"epoch\"");
    snapshot_free(s);
    s = with_frames(HOME);
    assert_string_equal(report_requester_in(s, s->events[0].stack, buf),
                        "by main.py:4 main");
    snapshot_free(s);
}

/* A kernel names its cells by their content; the report numbers them. */
static void cells_are_numbered_in_order_of_appearance(void **state)
{
    static const char *const expected[] = {"cell 1:5 <module>",
                                           "cell 2:6 <module>", "cell 1:9 f",
                                           "cell 3:1 <module>"};
    struct snapshot *s =
        made_snapshot("alloc 0 1MiB 0 /tmp/ipykernel_31/77.py:5:<module>\n"
                      "alloc 1 1MiB 0 /tmp/ipykernel_31/88.py:6:<module>\n"
                      "alloc 2 1MiB 0 /tmp/ipykernel_31/77.py:9:f\n"
                      "alloc 3 1MiB 0 /tmp/ipykernel_31/99.py:1:<module>\n",
                      NULL);

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        char buf[REPORT_FRAME];
        uint32_t frame = report_own_frame(s, s->events[i].stack);

        assert_string_equal(report_frame_in(s, frame, false, buf), expected[i]);
    }
    snapshot_free(s);
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
        {"/tmp/torchinductor_me/kb/x.py:1:call", FRAME_TORCH},
        {"/tmp/mytorchinductor_me/kb/x.py:1:call", FRAME_OWN},
        {INDUCTOR, FRAME_TORCH},
        /* A hash in another folder than its own, one digit short, or none. */
        {"/c/kc/ckb" DIGITS ".py:1:call", FRAME_OWN},
        {"/c/kb/kb" DIGITS ".py:1:call", FRAME_OWN},
        {"/c/kb/ckb1" DIGITS ".py:1:call", FRAME_OWN},
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

    assert_string_equal(report_frame_in(s, 0, false, buf), brief);
    assert_string_equal(report_frame_in(s, 0, true, buf), whole);
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
             "?Backward of the backward pass");
    frame_is("<ipython-input-12-ab>:3:f", "cell 12:3 f", "cell 12:3 f");
    frame_is(BACKWARD, "MmBackward0 of the backward pass",
             "MmBackward0 of the backward pass");
    frame_is("??:0:MmBackward0::apply(x)", "MmBackward0 of the backward pass",
             "MmBackward0 of the backward pass");
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
             X50 "xxxBackwar of the backward pass");
    frame_is("??:0:" X50 "xxBackward::apply(x)",
             X50 "xxBackward of the backward pass",
             X50 "xxBackward of the backward pass");
}

/* Only the ends of a long name are read: there is nothing between them. */
static void only_the_ends_of_a_long_name_are_read(void **state)
{
    enum { LENGTH = 10 << 20, END = 1 << 16 };
    char *bytes =
        mmap(NULL, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t begins[] = {0, LENGTH};
    struct snapshot_frame frame = {0};
    struct snapshot s = {
        .string_bytes = bytes,
        .string_begins = begins,
        .string_count = 1,
        .frames = &frame,
        .frame_count = 1,
    };
    char shown[REPORT_FRAME];

    (void)state;
    assert_ptr_not_equal(bytes, MAP_FAILED);
    assert_int_equal(mprotect(bytes, END, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(
        mprotect(bytes + LENGTH - END, END, PROT_READ | PROT_WRITE), 0);
    memset(bytes, 'x', END);
    memset(bytes + LENGTH - END, 'x', END);
    bytes[LENGTH - 1] = '\0';
    assert_int_equal(frame_kind_of(&s, 0), FRAME_COMPILED);
    report_frame_in(&s, 0, false, shown);
    assert_int_equal(strlen(shown), 300 + 1 + 60);
    munmap(bytes, LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_that_is_named_says_most),
        cmocka_unit_test(the_line_is_the_programs_own),
        cmocka_unit_test(a_node_of_the_backward_pass_has_one_name),
        cmocka_unit_test(a_mark_made_no_request),
        cmocka_unit_test(cells_are_numbered_in_order_of_appearance),
        cmocka_unit_test(the_kind_of_a_frame_is_read_from_its_file_and_name),
        cmocka_unit_test(a_package_is_named_by_its_folder_or_file),
        cmocka_unit_test(a_frame_is_shown_in_brief_or_whole),
        cmocka_unit_test(a_function_of_c_has_no_parameters_in_brief),
        cmocka_unit_test(a_long_function_is_cut),
        cmocka_unit_test(only_the_ends_of_a_long_name_are_read),
    };

    return run_guarded_tests(tests);
}
