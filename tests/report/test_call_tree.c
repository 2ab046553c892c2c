/* test_call_tree.c - who holds memory: lines put together by function, module
 * and library, and the tree of calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "made_snapshot.h"
#include "report/call_tree.h"
#include "report/frame_groups.h"
#include "report/report_words.h"
#include "support/guarded.h"

static const char calls[] =
    "alloc 0 8MiB 0 /v/site-packages/tf/m/llama.py:9:mlp|"
    "/v/site-packages/tf/m/llama.py:5:layer|/v/site-packages/tf/u.py:1:call|"
    "/v/site-packages/torch/nn/module.py:1:_call|/home/me/run/train.py:3:main\n"
    "alloc 8 4MiB 0 /v/site-packages/tf/m/llama.py:7:attn|"
    "/v/site-packages/tf/m/llama.py:5:layer|/v/site-packages/tf/u.py:1:call|"
    "/v/site-packages/torch/nn/module.py:1:_call|/home/me/run/train.py:3:main\n"
    "alloc 12 2MiB 0 /home/me/run/train.py:8:mlp|/home/me/run/train.py:3:main\n"
    "alloc 14 1MiB 0 ??:0:MmBackward0::apply()\n";

static void group_is(struct made_run *m, enum report_by by, size_t number,
                     const char *label, uint64_t mib)
{
    struct report_groups groups = report_by_groups(&m->arena, &m->r, by);
    const struct report_group *g = &groups.items[number];
    char buf[REPORT_FRAME];

    assert_true(number < groups.count);
    assert_string_equal(report_by_label_in(m->s, g->key, by, false, buf),
                        label);
    assert_int_equal(g->bytes, mib << 20);
}

static void lines_are_put_together(void **state)
{
    struct made_run m;

    (void)state;
    made_run(calls, NULL, &m);
    group_is(&m, BY_LINE, 0, "llama.py:9 mlp", 8);
    group_is(&m, BY_FUNCTION, 0, "tf.m.llama mlp", 8);
    group_is(&m, BY_FUNCTION, 2, "run/train.py mlp", 2);
    group_is(&m, BY_MODULE, 0, "tf.m.llama", 12);
    group_is(&m, BY_MODULE, 1, "run/train.py", 2);
    group_is(&m, BY_LIBRARY, 0, "tf", 12);
    group_is(&m, BY_LIBRARY, 1, "the program itself", 2);
    group_is(&m, BY_LIBRARY, 2, "torch (the backward pass)", 1);
    made_run_free(&m);
}

static void label_is(const char *frame, enum report_by by, const char *brief,
                     const char *whole)
{
    char lines[2 * REPORT_FRAME];
    char buf[REPORT_FRAME];
    struct snapshot *s;

    snprintf(lines, sizeof lines, "alloc 0 1MiB 0 %s\n", frame);
    s = made_snapshot(lines, NULL);
    assert_string_equal(report_by_label_in(s, 0, by, false, buf), brief);
    assert_string_equal(report_by_label_in(s, 0, by, true, buf), whole);
    assert_string_equal(report_by_label_in(s, UINT32_MAX, by, false, buf),
                        "no call path");
    snapshot_free(s);
}

#define PACKAGE "/v/site-packages/"

/* As Python would import it, or the end of its path. */
static void a_module_has_the_name_that_python_gives_it(void **state)
{
    (void)state;
    label_is(PACKAGE "timm/a.py:1:f", BY_MODULE, "timm.a", "timm.a");
    label_is(PACKAGE "timm/__init__.py:1:f", BY_MODULE, "timm", "timm");
    label_is(PACKAGE "six.py:1:f", BY_MODULE, "six", "six");
    label_is(PACKAGE ".py:1:f", BY_MODULE, ".py", ".py");
    label_is(PACKAGE "a.py:1:f", BY_MODULE, "a", "a");
    label_is(PACKAGE "__init__.py:1:f", BY_MODULE, "__init__", "__init__");
    label_is(PACKAGE "a/__init__.py:1:f", BY_MODULE, "a", "a");
    label_is(PACKAGE "timm/lib.so:1:f", BY_MODULE, "timm.lib.so",
             "timm.lib.so");
    label_is("/home/me/run/a.py:1:f", BY_MODULE, "run/a.py",
             "/home/me/run/a.py");
    label_is("a.py:1:f", BY_MODULE, "a.py", "a.py");
    label_is("/a.py:1:f", BY_MODULE, "/a.py", "/a.py");
    label_is("/v/torch/nn/linear.py:1:f", BY_MODULE, "nn/linear.py",
             "/v/torch/nn/linear.py");
    label_is("??:0:at::mm", BY_MODULE, "(no Python)", "(no Python)");
    label_is("<ipython-input-3-a>:1:f", BY_MODULE, "cell 3", "cell 3");
}

/* As long as a label can be, of a path that is longer. */
static void a_long_module_is_cut(void **state)
{
    static const char path[] = PACKAGE "timm/";
    const char name[] = "timm.";
    char frame[REPORT_FRAME + 200];
    char expected[REPORT_FRAME];

    (void)state;
    memset(frame, 'x', sizeof frame);
    memcpy(frame, path, strlen(path));
    memcpy(frame + sizeof frame - 8, ".py:1:f", 8);
    memset(expected, 'x', sizeof expected - 1);
    memcpy(expected, name, strlen(name));
    expected[sizeof expected - 1] = '\0';
    label_is(frame, BY_MODULE, expected, expected);
}

static void a_library_is_known_by_the_kind_of_its_frame(void **state)
{
    (void)state;
    label_is(PACKAGE "timm/a.py:1:f", BY_LIBRARY, "timm", "timm");
    label_is(PACKAGE "six.py:1:f", BY_LIBRARY, "six", "six");
    label_is("/v/torch/nn/linear.py:1:f", BY_LIBRARY, "torch", "torch");
    label_is("??:0:torch::autograd::MmBackward0::apply(x)", BY_LIBRARY,
             "torch (the backward pass)", "torch (the backward pass)");
    label_is("/usr/lib/python3.11/threading.py:1:f", BY_LIBRARY,
             "Python's own library", "Python's own library");
    label_is("a.py:1:f", BY_LIBRARY, "the program itself",
             "the program itself");
    label_is("??:0:at::mm", BY_LIBRARY, "(no Python)", "(no Python)");
}

static void a_function_is_named_after_its_module(void **state)
{
    (void)state;
    label_is(PACKAGE "timm/a.py:7:f", BY_FUNCTION, "timm.a f", "timm.a f");
    label_is("/home/me/run/a.py:7:f", BY_FUNCTION, "run/a.py f",
             "/home/me/run/a.py f");
    label_is("/v/torch/a.py:7:f\\u001b", BY_FUNCTION, "torch/a.py f?",
             "/v/torch/a.py f?");
    label_is("/v\\u001b/a.py:7:f", BY_MODULE, "v?/a.py", "/v?/a.py");
    label_is("??:7:at::mm(int)", BY_FUNCTION, "at::mm", "at::mm(int)");
    label_is("/a/b.py:7:f", BY_LINE, "b.py:7 f", "/a/b.py:7 f");
}

/* The tree of a run's paths as text, which the caller frees. */
static char *tree_of(const char *lines, size_t max, bool whole)
{
    struct report_text text;
    struct call_tree tree;
    struct made_run m;
    char *got;

    made_run(lines, NULL, &m);
    call_tree_make(&m.arena, m.s, &m.r.paths, &tree);
    assert_true(report_text_begin(&text));
    call_tree_write(&tree, m.s, max, whole, text.out);
    got = report_text_take(&text);
    assert_non_null(got);
    made_run_free(&m);
    return got;
}

static void tree_is(const char *lines, size_t max, const char *expected)
{
    char *got = tree_of(lines, max, false);

    assert_string_equal(got, expected);
    free(got);
}

static void a_tree_leaves_frameworks_out(void **state)
{
    (void)state;
    tree_is(calls, 10,
            "    14.0 MiB   93 %  train.py:3 main\n"
            "    12.0 MiB   80 %    u.py:1 call\n"
            "                       llama.py:5 layer\n"
            "    8.00 MiB   53 %      llama.py:9 mlp\n"
            "    4.00 MiB   27 %      llama.py:7 attn\n"
            "    2.00 MiB   13 %    train.py:8 mlp\n"
            "    1.00 MiB    7 %  MmBackward0 of the backward pass\n");
}

/* As many children as asked for, the largest first; of equal ones the first
 * seen. */
static void the_largest_calls_are_shown(void **state)
{
    static const char run[] = "alloc 0 1MiB 0 a.py:1:f|main.py:1:main\n"
                              "alloc 1 3MiB 0 a.py:2:g|main.py:1:main\n"
                              "alloc 4 2MiB 0 a.py:3:h|main.py:1:main\n"
                              "alloc 6 4MiB 0 b.py:1:k|other.py:1:main\n";

    (void)state;
    tree_is(run, 1,
            "    6.00 MiB   60 %  main.py:1 main\n"
            "    3.00 MiB   30 %    a.py:2 g\n"
            "    3.00 MiB           in others\n"
            "    4.00 MiB         in others\n");
    tree_is(run, 2,
            "    6.00 MiB   60 %  main.py:1 main\n"
            "    3.00 MiB   30 %    a.py:2 g\n"
            "    2.00 MiB   20 %    a.py:3 h\n"
            "    1.00 MiB           in others\n"
            "    4.00 MiB   40 %  other.py:1 main\n"
            "                     b.py:1 k\n");
}

/* Of 1000 KiB in all. */
static void calls_below_a_hundredth_are_others(void **state)
{
    (void)state;
    tree_is("alloc 0 990KiB 0 a.py:1:f\nalloc 1 10KiB 0 a.py:2:g\n", 10,
            "     990 KiB   99 %  a.py:1 f\n"
            "    10.0 KiB    1 %  a.py:2 g\n");
    tree_is("alloc 0 990KiB 0 a.py:1:f\nalloc 1 9728 0 a.py:2:g\n"
            "alloc 2 512 0 a.py:3:h\n",
            10,
            "     990 KiB   99 %  a.py:1 f\n"
            "    10.0 KiB         in others\n");
}

static void many_small_calls_are_left_to_their_caller(void **state)
{
    char lines[16384] = "";

    (void)state;
    for (int i = 1; i <= 200; i++)
        sprintf(lines + strlen(lines), "alloc + 512 0 a.py:%d:f|b.py:1:g\n", i);
    tree_is(lines, 10, "     100 KiB  100 %  b.py:1 g\n");
}

/* Calls that account for all of their caller's memory. */
static void a_chain_of_calls_is_indented_once(void **state)
{
    struct report_text text;
    char *lines;
    char *got;
    int shown = 0;

    (void)state;
    assert_true(report_text_begin(&text));
    for (int leaf = 0; leaf < 2; leaf++) {
        fprintf(text.out, "alloc %d %dMiB 0 leaf.py:%d:f", 8 * leaf, 1 + leaf,
                1 + leaf);
        for (int i = 12; i > 0; i--)
            fprintf(text.out, "|a.py:%d:f", i);
        fputs("\n", text.out);
    }
    lines = report_text_take(&text);
    got = tree_of(lines, 10, false);
    for (const char *at = got; (at = strstr(at, "a.py:")) != NULL; at++)
        shown++;
    assert_int_equal(shown, 12);
    assert_non_null(strstr(got, "2.00 MiB   67 %    leaf.py:2 f\n"));
    assert_non_null(strstr(got, "1.00 MiB   33 %    leaf.py:1 f\n"));
    free(got);
    free(lines);
}

/* More nodes than there is room for at first. */
static void a_tree_grows_with_its_calls(void **state)
{
    struct report_text text;
    struct call_tree tree;
    struct made_run m;
    char *lines;

    (void)state;
    assert_true(report_text_begin(&text));
    for (int i = 0; i < 600; i++)
        fprintf(text.out, "alloc + %d 0 a.py:%d:f|main.py:1:main\n",
                512 * (i + 1), i + 1);
    lines = report_text_take(&text);
    made_run(lines, NULL, &m);
    call_tree_make(&m.arena, m.s, &m.r.paths, &tree);
    assert_int_equal(tree.count, 602);
    assert_int_equal(tree.nodes[0].bytes, 512 * 600 * 601 / 2);
    assert_int_equal(tree.nodes[0].count, 600);
    assert_int_equal(tree.nodes[tree.nodes[0].child].count, 600);
    for (uint32_t n = tree.nodes[tree.nodes[0].child].child; n != 0;
         n = tree.nodes[n].next) {
        uint32_t next = tree.nodes[n].next;

        assert_int_equal(tree.nodes[n].count, 1);
        assert_true(next == 0 || tree.nodes[next].bytes < tree.nodes[n].bytes);
    }
    made_run_free(&m);
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_put_together),
        cmocka_unit_test(a_module_has_the_name_that_python_gives_it),
        cmocka_unit_test(a_long_module_is_cut),
        cmocka_unit_test(a_library_is_known_by_the_kind_of_its_frame),
        cmocka_unit_test(a_function_is_named_after_its_module),
        cmocka_unit_test(a_tree_leaves_frameworks_out),
        cmocka_unit_test(the_largest_calls_are_shown),
        cmocka_unit_test(calls_below_a_hundredth_are_others),
        cmocka_unit_test(many_small_calls_are_left_to_their_caller),
        cmocka_unit_test(a_chain_of_calls_is_indented_once),
        cmocka_unit_test(a_tree_grows_with_its_calls),
    };

    return run_guarded_tests(tests);
}
