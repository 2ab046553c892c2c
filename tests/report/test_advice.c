/* test_advice.c - what to do: which remedy is named, from which size on, and
 * how much it would save. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "report/verdict.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

static void advice_is(const char *lines, const char *settings,
                      const char *words, uint64_t saves)
{
    struct report_verdict v;
    struct tool_error error;
    struct made_run m;

    made_run(lines, settings, &m);
    if (!report_verdict_make(&m.r, NULL, &v, &error))
        fail_msg("%s", error.text);
    if (strstr(v.advice, words) == NULL)
        fail_msg("'%s' is not in: %s", words, v.advice);
    assert_int_equal(v.saves, saves);
    report_verdict_free(&v);
    made_run_free(&m);
}

/* ---- after a failure ------------------------------------------------------- */

/* What is missing, in parts of the request, the activations and the
 * temporaries; rounded up. */
static void a_smaller_batch_is_given_in_percent(void **state)
{
    (void)state;
    advice_is("segment_alloc 0 100MiB\nalloc 0 60MiB 0 m.py:1:__init__\n"
              "alloc 60 40MiB 0 /home/m.py:2:forward\noom 0 20MiB\n",
              NULL,
              "Hold 20.0 MiB less at that moment; no setting does that.  A "
              "batch or sequence smaller by 34 % would (activations, "
              "temporaries and the request are 60.0 MiB), or recomputing "
              "activations, first those of m.py:2 forward.",
              MIB(20));
    advice_is("segment_alloc 0 100MiB\nalloc 0 40MiB 0 m.py:1:__init__\n"
              "alloc 40 60MiB 0 m.py:2:forward\noom 0 20MiB\n",
              NULL, "smaller by 25 % would", MIB(20));
}

static void where_nothing_scales_what_stays_has_to_shrink(void **state)
{
    static const char weights[] =
        "segment_alloc 0 100MiB\nalloc 0 100MiB 0 m.py:1:__init__\n";
    char lines[256];

    (void)state;
    snprintf(lines, sizeof lines, "%soom 0 20MiB\n", weights);
    advice_is(lines, NULL,
              "Hold 20.0 MiB less at that moment; no setting does that.  "
              "Quantising, sharding or offloading what stays would.",
              MIB(20));
    /* The driver had a byte. */
    snprintf(lines, sizeof lines, "%soom 1 20MiB\n", weights);
    advice_is(lines, NULL,
              "smaller by 100 % would (activations, temporaries and the "
              "request are 20.0 MiB).",
              MIB(20) - 1);
}

/* What waits for a stream is in use by no activation. */
static void what_was_freed_does_not_scale(void **state)
{
    (void)state;
    advice_is("segment_alloc 0 100MiB\nalloc 0 70MiB 0 m.py:1:__init__\n"
              "alloc 70 10MiB 0 m.py:2:forward\nalloc 80 20MiB 0 "
              "m.py:2:forward\nfree_requested 80 20MiB 0 "
              "??:0:MmBackward0::apply()\noom 0 40MiB\n",
              NULL, "temporaries and the request are 50.0 MiB)", MIB(40));
}

static void each_cause_has_its_remedy(void **state)
{
    static const char half[] = "segment_alloc 0 20MiB\nalloc 0 9MiB\n";
    char lines[256];

    (void)state;
    snprintf(lines, sizeof lines, "%soom 0 11MiB 7\n", half);
    advice_is(lines, NULL, "a free block of 11.0 MiB belonged to another.",
              MIB(11));
    snprintf(lines, sizeof lines, "%soom 0 1MiB\n", half);
    advice_is(lines, NULL, "holds a free block of 11.0 MiB before", MIB(11));
    snprintf(lines, sizeof lines, "%soom 30MiB 20MiB\n", half);
    advice_is(lines, NULL, "the driver had 30.0 MiB left.", MIB(30));
    snprintf(lines, sizeof lines, "%soom 0 11MiB\n", half);
    advice_is(lines, NULL,
              "Raise the limit: a free block of 11.0 MiB was not used.",
              MIB(11));
    advice_is(lines, "\"max_split_size\": 67108864",
              "Raise the limit or max_split_size_mb: a free block", MIB(11));
    advice_is(lines, "\"max_split_size\": -1", "Raise the limit: ", MIB(11));
    advice_is(lines, "\"max_split_size\": 0", "Raise the limit: ", MIB(11));
    snprintf(lines, sizeof lines, "%soom 1MiB 12MiB\n", half);
    advice_is(lines, NULL, "Set expandable_segments:True, so that 11.0 MiB",
              MIB(11));
    advice_is(lines, "\"expandable_segments\": false",
              "Set expandable_segments:True", MIB(11));
    advice_is(lines, "\"expandable_segments\": true",
              "Free what pins 11.0 MiB of free memory", MIB(11));
    snprintf(lines, sizeof lines,
             "%salloc 12 3MiB\nfree_requested 12 3MiB\noom 0 10MiB\n", half);
    advice_is(lines, NULL, "3.00 MiB was freed but still in use", MIB(3));
}

/* ---- at a peak ------------------------------------------------------------- */

#define NOTHING "Nothing stands out"
#define MAIN "0 main.py:1:main\n" /* of no category that could shrink */

/* More than a twentieth of what was in use. */
static void free_memory_in_used_segments_is_worth_a_setting(void **state)
{
    (void)state;
    advice_is("segment_alloc 0 42MiB\nalloc 0 40MiB " MAIN, NULL, NOTHING, 0);
    advice_is("segment_alloc 0 44040704\nalloc 0 40MiB " MAIN, NULL,
              "Up to 2.00 MiB that was free in segments partly in use",
              MIB(2) + 512);
    advice_is("segment_alloc 0 62MiB\nalloc 0 40MiB " MAIN,
              "\"expandable_segments\": true", NOTHING, 0);
    /* Segments without anything in use are released before memory is short. */
    advice_is("segment_alloc 0 42MiB\nsegment_alloc 100 42MiB\n"
              "alloc 0 40MiB " MAIN,
              NULL, NOTHING, 0);
    /* Nor is free what waits for a stream. */
    advice_is("segment_alloc 0 44040704\nalloc 40 1MiB " MAIN
              "free_requested 40 1MiB\nalloc 0 40MiB " MAIN,
              NULL, NOTHING, 0);
}

/* Segments that grow do so by pages, each stream's own: what fills a part of one
 * page holds all of it under that setting too. */
static void no_setting_saves_the_rest_of_a_page(void **state)
{
    (void)state;
    advice_is("segment_alloc 0 2MiB\nalloc 0 512 " MAIN, NULL, NOTHING, 0);
    advice_is("segment_alloc 0 20MiB\nalloc 0 2MiB " MAIN, NULL, NOTHING, 0);
    advice_is("segment_alloc 0 2MiB\nsegment_alloc 2 2MiB 7\n"
              "alloc 0 512 " MAIN "alloc 2 512 7 main.py:1:main\n",
              NULL, NOTHING, 0);
    advice_is("segment_alloc 0 2MiB\nsegment_alloc 2 20MiB\n"
              "alloc 0 512 " MAIN "alloc 2 2MiB " MAIN,
              NULL, NOTHING, 0);
    advice_is("segment_alloc 0 2MiB\nsegment_alloc 2 2MiB\n"
              "segment_alloc 4 2MiB\nalloc 0 512 " MAIN "alloc 2 512 " MAIN
              "alloc 4 512 " MAIN,
              NULL, "Up to 4.00 MiB that was free in", MIB(4));
    /* A segment that grew already. */
    advice_is("segment_map 0 20MiB\nsegment_map 20 20MiB\n"
              "alloc 0 2MiB " MAIN,
              NULL, NOTHING, 0);
}

static void three_quarters_of_an_optimizers_state_can_go(void **state)
{
    (void)state;
    advice_is("alloc 0 40MiB 0 torch/optim/adam.py:1:step\nalloc 40 9MiB " MAIN,
              NULL,
              "An optimizer with state of 8 bits, or sharded or offloaded "
              "state, saves about 30.0 MiB.",
              MIB(30));
}

/* If they are half of the peak, and not trained. */
static void half_of_the_weights_can_go(void **state)
{
    (void)state;
    advice_is("alloc 0 20MiB 0 m.py:1:__init__\nalloc 20 20MiB " MAIN, NULL,
              "Keep the weights in half as many bits (quantised), or part of "
              "them elsewhere: 10.0 MiB less of the peak.",
              MIB(10));
    advice_is("alloc 0 20971008 0 m.py:1:__init__\nalloc 20 20MiB " MAIN, NULL,
              NOTHING, 0);
    advice_is("alloc 0 20MiB 0 m.py:1:__init__\nalloc 20 20479KiB " MAIN
              "alloc 60 1KiB 0 ??:0:MmBackward0::apply()\n",
              NULL, NOTHING, 0);
}

/* Recomputing them helps where a backward pass needs them. */
static void half_of_the_activations_can_go(void **state)
{
    char lines[8192] = "alloc 0 40MiB 0 /home/me/m.py:2:forward\n";

    (void)state;
    for (int i = 1; i < 100; i++)
        strcat(lines,
               i == 40 ? "free_requested 0 40MiB\n" : "segment_alloc + 2MiB\n");
    advice_is(lines, "\"expandable_segments\": true",
              "Halve the batch or the sequence: that saves about 20.0 MiB; "
              "the largest are from m.py:2 forward.",
              MIB(20));
    strcat(lines, "alloc 0 1MiB 0 ??:0:MmBackward0::apply()\n");
    advice_is(lines, "\"expandable_segments\": true",
              "Recompute activations (checkpointing), or halve the batch: that "
              "saves about 20.0 MiB;",
              MIB(20));
}

static void a_leak_is_what_all_iterations_have_left(void **state)
{
    char lines[2048] = "";

    (void)state;
    for (int i = 0; i < 6; i++)
        strcat(lines,
               "mark step START\nalloc + 3MiB 0 /home/train.py:9:forward\n"
               "alloc 0 20MiB\nfree_requested 0 20MiB\n");
    advice_is(lines, NULL,
              "Free what each iteration leaves behind, 3.00 MiB each time "
              "from train.py:9 forward: about 18.0 MiB by now.",
              MIB(18));
}

/* The line that holds most of them, unless it is none of the program's. */
static void temporaries_are_those_of_a_line_or_of_the_backward_pass(
    void **state)
{
    (void)state;
    advice_is("alloc 0 20MiB 0 /home/me/m.py:2:f\nfree_requested 0 20MiB\n"
              "alloc 0 1MiB " MAIN,
              NULL,
              "Do the step at m.py:2 f in place or in parts: temporaries are "
              "20.0 MiB of the peak, and half of them 10.0 MiB less.",
              MIB(10));
    advice_is("alloc 0 20MiB 0 ??:0:torch::autograd::MmBackward0::apply(x)\n"
              "free_requested 0 20MiB\nalloc 0 1MiB " MAIN,
              NULL,
              "Halve the batch, or fuse what the backward pass takes apart: "
              "its temporaries are 20.0 MiB of the peak (most of them from "
              "MmBackward0 of the backward pass), and half of them 10.0 MiB "
              "less.",
              MIB(10));
    advice_is("alloc 0 20MiB\nfree_requested 0 20MiB\nalloc 0 1MiB " MAIN, NULL,
              "(most of them from (no call path recorded))", MIB(10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_batch_is_given_in_percent),
        cmocka_unit_test(where_nothing_scales_what_stays_has_to_shrink),
        cmocka_unit_test(what_was_freed_does_not_scale),
        cmocka_unit_test(each_cause_has_its_remedy),
        cmocka_unit_test(free_memory_in_used_segments_is_worth_a_setting),
        cmocka_unit_test(no_setting_saves_the_rest_of_a_page),
        cmocka_unit_test(three_quarters_of_an_optimizers_state_can_go),
        cmocka_unit_test(half_of_the_weights_can_go),
        cmocka_unit_test(half_of_the_activations_can_go),
        cmocka_unit_test(a_leak_is_what_all_iterations_have_left),
        cmocka_unit_test(
            temporaries_are_those_of_a_line_or_of_the_backward_pass),
    };

    return run_guarded_tests(tests);
}
