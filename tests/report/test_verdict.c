/* test_verdict.c - the three lines at the top of a report, the categories they
 * use, and the holders of memory by module, library and call tree. */
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
#include "report/verdict.h"
#include "support/libc_faults.h"

/* ---- the verdict -------------------------------------------------------- */

static void has(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, text);
}

static void verdict_is(const char *lines, const char *settings,
                       const struct report_cure *cure, const char *what,
                       const char *who, const char *advice)
{
    struct report_verdict v;
    struct tool_error error;
    struct made_run m;

    made_run(lines, settings, &m);
    if (!report_verdict_make(&m.r, cure, &v, &error))
        fail_msg("%s", error.text);
    has(v.what, what);
    has(v.who, who);
    has(v.advice, advice);
    assert_null(strchr(v.what, '\n'));
    report_verdict_free(&v);
    made_run_free(&m);
}

static void too_little_is_told_with_what_is_missing(void **state)
{
    (void)state;
    verdict_is("segment_alloc 0 100MiB\n"
               "alloc 0 80MiB 0 model.py:1:forward\n"
               "alloc 80 20MiB 0 model.py:2:head\n"
               "oom 30MiB 64MiB 0 model.py:3:loss\n",
               NULL, NULL,
               "ran out of memory when 64.0 MiB was asked for by model.py:3 "
               "loss: of the 130 MiB that it could have, 100 MiB were in use.",
               "model.py:1 forward 80.0 MiB (80 %); model.py:2 head 20.0 MiB "
               "(20 %).",
               "Hold 34.0 MiB less at that moment; no setting does that.  A "
               "batch or sequence smaller by 24 % would");
}

static const char pieces[] = "segment_alloc 0 60MiB\n"
                             "alloc 0 20MiB 0 a.py:1:one\n"
                             "alloc 20 20MiB 0 b.py:2:two\n"
                             "alloc 40 20MiB 0 c.py:3:three\n"
                             "free_requested 0 20MiB\n"
                             "free_completed 0 20MiB\n"
                             "free_requested 40 20MiB\n"
                             "free_completed 40 20MiB\n"
                             "oom 4MiB 30MiB\n";

static char *found(void *ctx, const struct snapshot *s, size_t device)
{
    (void)s;
    assert_int_equal(device, 0);
    ++*(int *)ctx;
    return strdup("Set this.");
}

static void advice_in_pieces_is_a_cure_or_what_is_not_on(void **state)
{
    int asked = 0;
    struct report_cure cure = {found, &asked};

    (void)state;
    verdict_is(pieces, NULL, NULL, "the rest lay in pieces of at most 20.0 MiB",
               "b.py:2 two 20.0 MiB (100 %).",
               "Set expandable_segments:True, so that 40.0 MiB");
    verdict_is(pieces, "\"expandable_segments\": true", NULL, "pieces", "b.py",
               "segments can grow already");
    verdict_is(pieces, NULL, &cure, "pieces", "b.py", "Set this.");
    assert_int_equal(asked, 1);
    /* If the memory is simply too small, no cure is searched for. */
    verdict_is("segment_alloc 0 60MiB\nalloc 0 60MiB\noom 0 30MiB\n", NULL,
               &cure, "ran out", "60.0 MiB", "Hold 30.0 MiB less");
    assert_int_equal(asked, 1);
}

static void where_nothing_was_in_use_nobody_holds_it(void **state)
{
    (void)state;
    verdict_is("segment_alloc 0 2MiB\noom 0 4MiB\n", NULL, NULL,
               "ran out of memory when 4.00 MiB was asked for: of the 2.00 MiB "
               "that it could have, 0 B were in use.",
               "Nobody: nothing was in use.", "Hold 2.00 MiB less");
    verdict_is("alloc 0 3MiB\nfree_requested 0 3MiB\n", NULL, NULL,
               "at most 3.00 MiB were in use, 0 µs into 10 µs.", "3.00 MiB",
               "");
    verdict_is("free_requested 0 3MiB\n", NULL, NULL,
               "at most 3.00 MiB were in use.",
               "what is older than the recording 3.00 MiB (100 %).", "");
}

static void a_snapshot_without_history_says_so(void **state)
{
    (void)state;
    verdict_is("segment 0 20MiB\nblock 12MiB active_allocated a.py:1:one\n"
               "block 8MiB inactive\n",
               NULL, NULL, "No history was recorded", "a.py:1 one 12.0 MiB",
               "_record_memory_history(max_entries=");
}

static void the_advice_is_what_lowers_a_peak_most(void **state)
{
    static const char forward[] =
        "segment_alloc 0 100MiB\n"
        "alloc 0 10MiB 0 m.py:1:__init__\n"
        "alloc 10 80MiB 0 m.py:2:forward\n"
        "free_requested 10 80MiB 0 ??:0:MmBackward0::apply()\n";
    char lines[16384] = "";

    (void)state;
    /* Activations live for more than 32 events. */
    strcat(lines, "segment_alloc 0 100MiB\nalloc 0 10MiB 0 m.py:1:__init__\n"
                  "alloc 10 80MiB 0 m.py:2:forward\n");
    for (int i = 0; i < 60; i++)
        strcat(lines, "alloc 95 1MiB\nfree_requested 95 1MiB\n");
    strcat(lines, "free_requested 10 80MiB\n");
    for (int i = 0; i < 60; i++)
        strcat(lines, "alloc 96 1MiB\nfree_requested 96 1MiB\n");
    verdict_is(lines, NULL, NULL, "did not run out of memory", "m.py:2 forward",
               "Recompute activations (checkpointing), or halve the batch: "
               "that saves about 40.0 MiB; the largest are from m.py:2");
    /* Temporaries do not. */
    verdict_is(forward, NULL, NULL, "at most 90.0 MiB were in use",
               "m.py:2 forward 80.0 MiB (89 %)",
               "Do the step at m.py:2 forward in place or in parts");
    verdict_is("segment_alloc 0 100MiB\nalloc 0 99MiB 0 m.py:1:__init__\n"
               "alloc 99 1MiB\n",
               NULL, NULL, "did not", "m.py:1", "Nothing stands out");
    verdict_is("segment_alloc 0 100MiB\nalloc 0 39MiB 0 m.py:1:__init__\n"
               "alloc 99 1MiB\n",
               NULL, NULL, "100 MiB reserved", "m.py:1",
               "Up to 60.0 MiB that was free in segments partly in use");
}

/* Not the line with the largest single allocation. */
static void a_line_is_named_that_holds_most_in_all(void **state)
{
    (void)state;
    verdict_is("segment_alloc 0 60MiB\n"
               "alloc 0 20MiB 0 m.py:1:big\n"
               "alloc 20 15MiB 0 m.py:2:often\n"
               "alloc 35 15MiB 0 m.py:2:often\n"
               "alloc 50 10MiB 0 ??:0:MmBackward0::apply()\n"
               "free_requested 0 20MiB\nfree_requested 20 15MiB\n"
               "free_requested 35 15MiB\nfree_requested 50 10MiB\n",
               NULL, NULL, "60.0 MiB were in use", "m.py:2 often 30.0 MiB",
               "Do the step at m.py:2 often in place or in parts");
}

/* A program that infers gets no advice that applies only to training. */
static void inference_is_told_apart(void **state)
{
    char lines[16384] = "segment_alloc 0 100MiB\n"
                        "alloc 0 80MiB 0 m.py:2:forward\n";

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(lines, "alloc 95 1MiB 0 m.py:3:forward\n"
                      "free_requested 95 1MiB\n");
    strcat(lines, "free_requested 0 80MiB\n");
    for (int i = 0; i < 62; i++)
        strcat(lines, "alloc 96 1MiB 0 m.py:4:forward\n"
                      "free_requested 96 1MiB\n");
    verdict_is(lines, NULL, NULL, "did not", "m.py:2 forward",
               "Halve the batch or the sequence: that saves about 40.0 MiB");
    verdict_is("segment_alloc 0 100MiB\nalloc 0 80MiB 0 m.py:1:__init__\n"
               "alloc 90 1MiB 0 m.py:2:forward\n",
               NULL, NULL, "did not", "m.py:1",
               "Keep the weights in half as many bits (quantised), or part of "
               "them elsewhere: 40.0 MiB less");
    /* The weights' line is not one of activations. */
    verdict_is("segment_alloc 0 100MiB\n"
               "alloc 0 80MiB 0 model.py:1:__init__\n"
               "alloc 80 20MiB 0 model.py:2:forward\n"
               "oom 30MiB 64MiB 0 model.py:3:loss\n",
               NULL, NULL, "ran out", "model.py:1 __init__ 80.0 MiB",
               "or recomputing activations, first those of model.py:2 forward");
}

/* ---- categories --------------------------------------------------------- */

/* Of allocation `number`, in the order of their beginnings. */
static enum report_category category_of(const char *lines, size_t number)
{
    enum report_category category;
    struct made_run m;

    made_run(lines, NULL, &m);
    assert_true(number < m.l.alloc_count);
    category = (enum report_category)m.r.categories[number];
    made_run_free(&m);
    return category;
}

/* The category of memory older than the recording depends on who released
 * it. */
static void old_memory_is_told_by_its_end(void **state)
{
    static const char optim[] = "free_requested 0 4MiB 0 p/optim/adam.py:7:step"
                                "\nfree_completed 0 4MiB\n";
    char lines[512];

    (void)state;
    /* Freed and recreated by the optimizer's step. */
    sprintf(lines, "%salloc 0 4MiB 0 p/optim/adam.py:8:step\n", optim);
    assert_int_equal(category_of(lines, 0), REPORT_OPTIMIZER);
    /* The opposite order, from the first event on. */
    sprintf(lines, "alloc 8 4MiB 0 p/optim/adam.py:8:step\n%s", optim);
    assert_int_equal(category_of(lines, 0), REPORT_OPTIMIZER);
    /* Freed there, and not recreated. */
    sprintf(lines, "%salloc 0 3MiB 0 p/optim/adam.py:8:step\nalloc 9 1MiB\n",
            optim);
    assert_int_equal(category_of(lines, 0), REPORT_GRADIENTS);
    sprintf(lines, "free_requested 0 4MiB 0 p/optim/o.py:7:zero_grad\n"
                   "alloc 9 1MiB\n");
    assert_int_equal(category_of(lines, 0), REPORT_GRADIENTS);
    sprintf(lines, "free_requested 0 4MiB 0 ??:0:MmBackward0::apply()\n"
                   "alloc 9 1MiB\nalloc 10 1MiB\n");
    assert_int_equal(category_of(lines, 0), REPORT_ACTIVATIONS);
    /* Never freed. */
    assert_int_equal(category_of("alloc 9 1MiB 0 m.py:1:f\n"
                                 "segment 0 20MiB\n"
                                 "block 4MiB active_allocated\n"
                                 "block 5MiB inactive\n"
                                 "block 1MiB active_allocated m.py:1:f\n",
                                 0),
                     REPORT_WEIGHTS);
}

/* Allocated by the backward pass, and freed there or by the optimizer. */
static void gradients_stay_for_the_optimizer(void **state)
{
    char lines[16384];

    (void)state;
    for (int by_optimizer = 0; by_optimizer < 2; by_optimizer++) {
        strcpy(lines, "alloc 0 4MiB 0 ??:0:MmBackward0::apply()\n");
        for (int i = 0; i < 40; i++)
            strcat(lines, "alloc 9 1MiB\nfree_requested 9 1MiB\n");
        sprintf(lines + strlen(lines), "free_requested 0 4MiB 0 %s\n",
                by_optimizer ? "p/optim/o.py:7:zero_grad"
                             : "??:0:AddBackward0::apply()");
        for (int i = 0; i < 90; i++)
            strcat(lines, "alloc 9 1MiB\n");
        assert_int_equal(category_of(lines, 0),
                         by_optimizer ? REPORT_GRADIENTS : REPORT_TEMPORARIES);
    }
}

/* Of one that a module's __init__ makes in event 0 of 80, and that is freed
 * in event `end`. */
static enum report_category freed_in(int end)
{
    char lines[4096] = "alloc 0 4MiB 0 m.py:1:__init__\n";

    for (int i = 1; i < 80; i++)
        strcat(lines,
               i == end ? "free_requested 0 4MiB\n" : "segment_alloc + 2MiB\n");
    return category_of(lines, 0);
}

/* Up to 32 events are a short life, and more than half of the run a long one. */
static void a_life_is_short_or_long_or_between(void **state)
{
    (void)state;
    assert_int_equal(freed_in(1), REPORT_TEMPORARIES);
    assert_int_equal(freed_in(32), REPORT_TEMPORARIES);
    assert_int_equal(freed_in(33), REPORT_ACTIVATIONS);
    assert_int_equal(freed_in(40), REPORT_ACTIVATIONS);
    assert_int_equal(freed_in(41), REPORT_WEIGHTS);
    assert_int_equal(freed_in(79), REPORT_WEIGHTS);
    assert_int_equal(freed_in(80), REPORT_WEIGHTS);
}

static void pytorchs_categories_take_precedence_over_guesses(void **state)
{
    enum report_category category;
    struct snapshot *s = made_snapshot("alloc 0 1MiB 0 m.py:1:Parameter\n"
                                       "alloc 1 1MiB 0 m.py:1:step_3\n",
                                       NULL);

    (void)state;
    /* Any string can be a category, also the name of a frame. */
    assert_true(report_category_told(s, s->frames[0].name, &category));
    assert_int_equal(category, REPORT_WEIGHTS);
    assert_false(report_category_told(s, s->frames[1].name, &category));
    assert_false(report_category_told(s, 0, &category));
    snapshot_free(s);
}

/* ---- groups and trees --------------------------------------------------- */

static const char calls[] =
    "alloc 0 8MiB 0 /v/site-packages/tf/m/llama.py:9:mlp|"
    "/v/site-packages/tf/m/llama.py:5:layer|/v/site-packages/tf/u.py:1:call|"
    "/v/site-packages/torch/nn/module.py:1:_call|/home/me/run/train.py:3:main\n"
    "alloc 8 4MiB 0 /v/site-packages/tf/m/llama.py:7:attn|"
    "/v/site-packages/tf/m/llama.py:5:layer|/v/site-packages/tf/u.py:1:call|"
    "/v/site-packages/torch/nn/module.py:1:_call|/home/me/run/train.py:3:main\n"
    "alloc 12 2MiB 0 /home/me/run/train.py:8:mlp|/home/me/run/train.py:3:main\n"
    "alloc 14 1MiB 0 ??:0:MmBackward0::apply()\n";

static void group_is(const struct made_run *m, enum report_by by, size_t number,
                     const char *label, uint64_t mib)
{
    struct report_group groups[16];
    size_t count = m->r.line_count;
    struct tool_error error;
    char buf[REPORT_FRAME];

    assert_true(count <= 16);
    memcpy(groups, m->r.lines, count * sizeof *groups);
    assert_true(report_by_merge(m->s, by, groups, &count, &error));
    assert_true(number < count);
    assert_string_equal(
        report_by_label(m->s, groups[number].key, by, false, buf), label);
    assert_int_equal(groups[number].bytes, mib << 20);
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
    char lines[512];
    char buf[REPORT_FRAME];
    struct snapshot *s;

    snprintf(lines, sizeof lines, "alloc 0 1MiB 0 %s\n", frame);
    s = made_snapshot(lines, NULL);
    assert_string_equal(report_by_label(s, 0, by, false, buf), brief);
    assert_string_equal(report_by_label(s, 0, by, true, buf), whole);
    assert_string_equal(report_by_label(s, UINT32_MAX, by, false, buf),
                        "(no call path recorded)");
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

static void a_library_is_told_by_the_kind_of_its_frame(void **state)
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
    struct tool_error error;
    struct made_run m;
    char *got;

    made_run(lines, NULL, &m);
    assert_true(call_tree_make(m.s, m.r.paths, m.r.path_count, &tree, &error));
    assert_true(report_text_begin(&text));
    call_tree_write(&tree, m.s, max, whole, text.out);
    got = report_text_take(&text);
    assert_non_null(got);
    call_tree_free(&tree);
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
static void of_many_calls_the_largest_are_shown(void **state)
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
    struct tool_error error;
    struct made_run m;
    char *lines;

    (void)state;
    assert_true(report_text_begin(&text));
    for (int i = 0; i < 600; i++)
        fprintf(text.out, "alloc + %d 0 a.py:%d:f|main.py:1:main\n",
                512 * (i + 1), i + 1);
    lines = report_text_take(&text);
    made_run(lines, NULL, &m);
    assert_true(call_tree_make(m.s, m.r.paths, m.r.path_count, &tree, &error));
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
    call_tree_free(&tree);
    made_run_free(&m);
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_little_is_told_with_what_is_missing),
        cmocka_unit_test(advice_in_pieces_is_a_cure_or_what_is_not_on),
        cmocka_unit_test(where_nothing_was_in_use_nobody_holds_it),
        cmocka_unit_test(a_snapshot_without_history_says_so),
        cmocka_unit_test(the_advice_is_what_lowers_a_peak_most),
        cmocka_unit_test(a_line_is_named_that_holds_most_in_all),
        cmocka_unit_test(inference_is_told_apart),
        cmocka_unit_test(old_memory_is_told_by_its_end),
        cmocka_unit_test(gradients_stay_for_the_optimizer),
        cmocka_unit_test(a_life_is_short_or_long_or_between),
        cmocka_unit_test(pytorchs_categories_take_precedence_over_guesses),
        cmocka_unit_test(lines_are_put_together),
        cmocka_unit_test(a_module_has_the_name_that_python_gives_it),
        cmocka_unit_test(a_library_is_told_by_the_kind_of_its_frame),
        cmocka_unit_test(a_function_is_named_after_its_module),
        cmocka_unit_test(a_tree_leaves_frameworks_out),
        cmocka_unit_test(of_many_calls_the_largest_are_shown),
        cmocka_unit_test(calls_below_a_hundredth_are_others),
        cmocka_unit_test(many_small_calls_are_left_to_their_caller),
        cmocka_unit_test(a_chain_of_calls_is_indented_once),
        cmocka_unit_test(a_tree_grows_with_its_calls),
    };

    libc_guard(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
