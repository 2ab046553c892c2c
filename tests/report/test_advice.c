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
#include "made_snapshot.h"
#include "report/remedy.h"
#include "report/verdict.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* A setting that was replayed and saves 7 MiB; counts how often it was asked
 * for. */
static const char *found(void *ctx, const struct snapshot *s, size_t device,
                         uint64_t *saves)
{
    (void)s;
    (void)device;
    ++*(int *)ctx;
    *saves = MIB(7);
    return "Set this.";
}

static void cured_advice_is(const char *lines, const char *settings,
                            const struct report_cure *cure, const char *words,
                            uint64_t saves)
{
    struct report_verdict v;
    struct made_run m;

    made_run(lines, settings, &m);
    v = report_verdict_make(&m.arena, &m.r, cure);
    if (strstr(v.advice, words) == NULL)
        fail_msg("'%s' is not in: %s", words, v.advice);
    assert_int_equal(v.saves, saves);
    made_run_free(&m);
}

static void advice_is(const char *lines, const char *settings,
                      const char *words, uint64_t saves)
{
    cured_advice_is(lines, settings, NULL, words, saves);
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
              "Reduce the memory in use at that moment by 20.0 MiB; no setting "
              "does that.  Make the batch or sequence 34 % smaller "
              "(activations, temporaries and the request take 60.0 MiB), or "
              "recompute activations, starting with those of m.py:2 forward.",
              MIB(20));
    advice_is("segment_alloc 0 100MiB\nalloc 0 40MiB 0 m.py:1:__init__\n"
              "alloc 40 60MiB 0 m.py:2:forward\noom 0 20MiB\n",
              NULL, "25 % smaller", MIB(20));
}

static void where_nothing_scales_what_stays_has_to_shrink(void **state)
{
    static const char weights[] =
        "segment_alloc 0 100MiB\nalloc 0 100MiB 0 m.py:1:__init__\n";
    char lines[256];

    (void)state;
    snprintf(lines, sizeof lines, "%soom 0 20MiB\n", weights);
    advice_is(lines, NULL,
              "Reduce the memory in use at that moment by 20.0 MiB; no setting "
              "does that.  Quantise, shard or offload what stays allocated.",
              MIB(20));
    /* The driver had a byte. */
    snprintf(lines, sizeof lines, "%soom 1 20MiB\n", weights);
    advice_is(lines, NULL,
              "100 % smaller (activations, temporaries and the request take "
              "20.0 MiB).",
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
              NULL, "temporaries and the request take 50.0 MiB)", MIB(40));
}

static void each_cause_has_its_remedy(void **state)
{
    static const char half[] = "segment_alloc 0 20MiB\nalloc 0 9MiB\n";
    char lines[256];

    (void)state;
    snprintf(lines, sizeof lines, "%soom 0 11MiB 7\n", half);
    advice_is(lines, NULL,
              "a free block of 11.0 MiB belonged to another stream.", MIB(11));
    snprintf(lines, sizeof lines, "%soom 0 1MiB\n", half);
    advice_is(lines, NULL, "that holds a free block of 11.0 MiB.", MIB(11));
    snprintf(lines, sizeof lines, "%soom 30MiB 20MiB\n", half);
    advice_is(lines, NULL, "the driver had 30.0 MiB left.", MIB(30));
    snprintf(lines, sizeof lines, "%soom 0 11MiB\n", half);
    advice_is(lines, NULL,
              "Raise the limit: a free block of 11.0 MiB was not used.  The "
              "recording does not say which rule prevented it.",
              MIB(11));
    advice_is(lines, "\"max_split_size\": 67108864",
              "Raise the limit or max_split_size_mb: a free block", MIB(11));
    advice_is(lines, "\"max_split_size\": -1", "Raise the limit: ", MIB(11));
    advice_is(lines, "\"max_split_size\": 0", "Raise the limit: ", MIB(11));
    snprintf(lines, sizeof lines, "%soom 1MiB 12MiB\n", half);
    advice_is(lines, NULL,
              "Free earlier what pins 11.0 MiB of free memory, or find a "
              "setting that makes it usable: `larder tune` replays them.",
              MIB(11));
    advice_is(lines, "\"expandable_segments\": true",
              "Free earlier what pins 11.0 MiB of free memory", MIB(11));
    snprintf(lines, sizeof lines,
             "%salloc 12 3MiB\nfree_requested 12 3MiB\noom 0 10MiB\n", half);
    advice_is(lines, NULL, "3.00 MiB was freed, but that stream still", MIB(3));
}

/* ---- at a peak ------------------------------------------------------------- */

#define NOTHING "Nothing stands out"
#define MAIN "0 main.py:1:main\n" /* of no category that could shrink */

/* More than a twentieth of what was in use. */
/* A setting is looked for, and named with what it saves, or not. */
static void setting_is(bool wanted, const char *lines, const char *settings)
{
    int asked = 0;
    const struct report_cure cure = {.find = found, .ctx = &asked};

    cured_advice_is(lines, settings, &cure, wanted ? "Set this." : NOTHING,
                    wanted ? MIB(7) : 0);
    assert_int_equal(asked, wanted);
    /* Nobody names a setting that was not replayed. */
    advice_is(lines, settings, NOTHING, 0);
}

static void free_memory_in_used_segments_is_worth_a_setting(void **state)
{
    (void)state;
    setting_is(false, "segment_alloc 0 42MiB\nalloc 0 40MiB " MAIN, NULL);
    setting_is(true, "segment_alloc 0 44040704\nalloc 0 40MiB " MAIN, NULL);
    setting_is(false, "segment_alloc 0 62MiB\nalloc 0 40MiB " MAIN,
               "\"expandable_segments\": true");
    /* Segments without anything in use are released before memory is short. */
    setting_is(false,
               "segment_alloc 0 42MiB\nsegment_alloc 100 42MiB\n"
               "alloc 0 40MiB " MAIN,
               NULL);
    /* Nor is free what waits for a stream. */
    setting_is(false,
               "segment_alloc 0 44040704\nalloc 40 1MiB " MAIN
               "free_requested 40 1MiB\nalloc 0 40MiB " MAIN,
               NULL);
}

/* What saves more comes first, and a setting stands beside a change of code. */
static void a_setting_stands_beside_a_change_of_code(void **state)
{
    int asked = 0;
    const struct report_cure cure = {.find = found, .ctx = &asked};

    (void)state;
    cured_advice_is("segment_alloc 0 80MiB\n"
                    "alloc 0 40MiB 0 torch/optim/adam.py:1:step\n"
                    "alloc 40 9MiB " MAIN,
                    NULL, &cure,
                    "saves about 30.0 MiB if the state is 32-bit now.  Without "
                    "changing code: Set this.",
                    MIB(30));
    assert_int_equal(asked, 1);
}

static const char *none(void *ctx, const struct snapshot *s, size_t device,
                        uint64_t *saves)
{
    (void)s;
    (void)device;
    ++*(int *)ctx;
    *saves = MIB(99); /* of no setting */
    return NULL;
}

static const char *because(void *ctx)
{
    (void)ctx;
    return "None of nine does.";
}

/* Under any settings, and with few pieces: a change of code costs work.  If there
 * is no setting it says why, and nothing more where nothing is to be changed. */
static void every_change_of_code_has_its_setting(void **state)
{
    static const char state_of_adam[] =
        "segment_alloc 0 50MiB\nalloc 0 40MiB 0 torch/optim/adam.py:1:step\n"
        "alloc 40 9MiB " MAIN;
    int asked = 0;
    const struct report_cure cure = {.find = found, .ctx = &asked};
    const struct report_cure no_cure = {none, &asked, because};
    const struct report_cure silent = {.find = none, .ctx = &asked};

    (void)state;
    cured_advice_is(state_of_adam, NULL, &cure,
                    "Without changing code: Set this.", MIB(30));
    cured_advice_is(state_of_adam, "\"expandable_segments\": true", &cure,
                    "Without changing code: Set this.", MIB(30));
    cured_advice_is(state_of_adam, NULL, &no_cure,
                    "the state is 32-bit now.  None of nine does.", MIB(30));
    cured_advice_is(state_of_adam, NULL, &silent, "the state is 32-bit now.",
                    MIB(30));
    assert_int_equal(asked, 4);
    cured_advice_is("segment_alloc 0 42MiB\nalloc 0 40MiB " MAIN, NULL,
                    &no_cure, NOTHING, 0);
    assert_int_equal(asked, 4);
}

/* The explanation of the failure, which is event 2. */
static void cause_says(const char *lines, const char *settings,
                       const char *words)
{
    const struct report_failure *failures;
    struct made_run m;
    const char *text;
    size_t count;

    made_run(lines, settings, &m);
    failures = report_failures(&m.arena, &m.r, true, &count);
    assert_int_equal(failures[count - 1].event, 2);
    text = failures[count - 1].text;
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, text);
    made_run_free(&m);
}

/* What was asked for fits, and what it is rounded to does not: a setting may
 * help. */
static void only_what_fits_under_no_setting_is_said_not_to(void **state)
{
    static const char rounded[] =
        "segment_alloc 0 6MiB\n"
        "alloc 0 5MiB 0 m.py:1:__init__\noom 0 1MiB\n";
    static const char rounds[] = "\"roundup_power2_divisions\": {\"4\": 2}";
    int asked = 0;
    const struct report_cure cure = {.find = found, .ctx = &asked};
    const struct report_cure no_cure = {none, &asked, because};

    (void)state;
    cured_advice_is(rounded, rounds, &cure, "Set this.", MIB(7));
    cured_advice_is(
        rounded, rounds, &no_cure,
        "Reduce the memory in use at that moment by 1.00 MiB.  Quantise",
        MIB(1));
    cured_advice_is(rounded, rounds, &no_cure, "None of nine does.", MIB(1));
    assert_int_equal(asked, 3);
    cause_says(rounded, rounds, "is missing.\n");
    cause_says("segment_alloc 0 8MiB\nalloc 0 8MiB\noom 0 2MiB\n", NULL,
               "is missing.  No setting changes that.\n");
    cured_advice_is("segment_alloc 0 8MiB\nalloc 0 8MiB 0 m.py:1:__init__\n"
                    "oom 0 2MiB\n",
                    rounds, &cure,
                    "at that moment by 2.00 MiB; no setting does that.",
                    MIB(2));
    assert_int_equal(asked, 3);
}

/* Not to look for one: that was done. */
static void after_the_replay_nobody_is_sent_to_replay(void **state)
{
    static const char pieces[] = "segment_alloc 0 60MiB\nalloc 0 20MiB\n"
                                 "alloc 20 20MiB\nalloc 40 20MiB\n"
                                 "free_requested 0 20MiB\n"
                                 "free_completed 0 20MiB\n"
                                 "free_requested 40 20MiB\n"
                                 "free_completed 40 20MiB\noom 4MiB 30MiB\n";
    int asked = 0;
    const struct report_cure no_cure = {none, &asked, because};

    (void)state;
    cured_advice_is(pieces, NULL, &no_cure,
                    "or allocate it first.  None of nine does.  Nothing after "
                    "that request was recorded.",
                    MIB(40));
    advice_is(pieces, NULL, "`larder tune` replays them.  Nothing after",
              MIB(40));
}

static void advice_is_about_one_request(void **state)
{
    char lines[256];

    (void)state;
    advice_is("segment_alloc 0 40MiB\nalloc 0 40MiB\noom 0 90MiB\n"
              "oom 0 20MiB\n",
              NULL, "An earlier failure was 90.0 MiB short.  Nothing after",
              MIB(20));
    advice_is("segment_alloc 0 40MiB\nalloc 0 40MiB\noom 0 20MiB\n"
              "oom 0 20MiB\n",
              NULL, "stays allocated.  Nothing after", MIB(20));
    advice_is("segment_alloc 0 20MiB\nalloc 0 9MiB\noom 30MiB 20MiB\n", NULL,
              "had 30.0 MiB left.  Nothing after that request was recorded.",
              MIB(30));
    snprintf(lines, sizeof lines,
             "segment_alloc 0 20MiB\nalloc 0 9MiB\n"
             "oom 30MiB 20MiB\nalloc 9 1MiB\n");
    advice_is(lines, NULL,
              "had 30.0 MiB left.  This applies to that request only.",
              MIB(30));
}

/* Segments that grow do so by pages, each stream's own: what fills a part of one
 * page holds all of it under that setting too. */
static void no_setting_saves_the_rest_of_a_page(void **state)
{
    (void)state;
    setting_is(false, "segment_alloc 0 2MiB\nalloc 0 512 " MAIN, NULL);
    setting_is(false, "segment_alloc 0 20MiB\nalloc 0 2MiB " MAIN, NULL);
    setting_is(false,
               "segment_alloc 0 2MiB\nsegment_alloc 2 2MiB 7\n"
               "alloc 0 512 " MAIN "alloc 2 512 7 main.py:1:main\n",
               NULL);
    setting_is(false,
               "segment_alloc 0 2MiB\nsegment_alloc 2 20MiB\n"
               "alloc 0 512 " MAIN "alloc 2 2MiB " MAIN,
               NULL);
    setting_is(true,
               "segment_alloc 0 2MiB\nsegment_alloc 2 2MiB\n"
               "segment_alloc 4 2MiB\nalloc 0 512 " MAIN "alloc 2 512 " MAIN
               "alloc 4 512 " MAIN,
               NULL);
    /* Pages of another size. */
    setting_is(false, "segment_alloc 0 64MiB\nalloc 0 24MiB " MAIN,
               "\"PYTORCH_CUDA_ALLOC_CONF\": \"large_segment_size_mb:64\"");
    setting_is(true, "segment_alloc 0 64MiB\nalloc 0 24MiB " MAIN, NULL);
    /* A segment that grew already. */
    setting_is(false,
               "segment_map 0 20MiB\nsegment_map 20 20MiB\n"
               "alloc 0 2MiB " MAIN,
               NULL);
}

static void three_quarters_of_an_optimizers_state_can_go(void **state)
{
    (void)state;
    advice_is("alloc 0 40MiB 0 torch/optim/adam.py:1:step\nalloc 40 9MiB " MAIN,
              NULL,
              "Use an optimizer with 8-bit state, or shard or offload its "
              "state: that saves about 30.0 MiB",
              MIB(30));
}

/* If they are half of the peak, and not trained. */
static void half_of_the_weights_can_go(void **state)
{
    (void)state;
    advice_is("alloc 0 20MiB 0 m.py:1:__init__\nalloc 20 20MiB " MAIN, NULL,
              "Quantise the weights to half their size, or offload half of "
              "them: that lowers the peak by 10.0 MiB.",
              MIB(10));
    advice_is("alloc 0 20971008 0 m.py:1:__init__\nalloc 20 20MiB " MAIN, NULL,
              NOTHING, 0);
    advice_is("alloc 0 20MiB 0 m.py:1:__init__\nalloc 20 20479KiB " MAIN
              "alloc 60 1KiB 0 ??:0:MmBackward0::apply()\n",
              NULL, NOTHING, 0);
}

static void what_is_older_is_weights_most_likely(void **state)
{
    (void)state;
    advice_is("segment_alloc 60 2MiB\nalloc 60 1KiB " MAIN
              "segment 0 40MiB\nblock 40MiB active_allocated\n",
              NULL,
              "Quantise what is older than the recording (most likely weights) "
              "to half its size, or offload half of it: that lowers the peak "
              "by 20.0 MiB.",
              MIB(20));
    /* Half of them are seen to be made. */
    advice_is("segment_alloc 0 40MiB\nalloc 20 20MiB 0 m.py:1:__init__\n"
              "segment 0 40MiB\nblock 20MiB active_allocated\n"
              "block 20MiB active_allocated m.py:1:__init__\n",
              NULL, "Quantise the weights to half their size", MIB(20));
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

/* Nobody says that a batch is the size of what no pass made or freed. */
static void what_only_lives_long_is_not_said_to_scale(void **state)
{
    char lines[8192] = "alloc 0 40MiB 0 /home/me/m.py:2:copy_of_weights\n";

    (void)state;
    for (int i = 1; i < 100; i++)
        strcat(lines,
               i == 40 ? "free_requested 0 40MiB\n" : "segment_alloc + 2MiB\n");
    advice_is(lines, "\"expandable_segments\": true",
              "Halve the memory that is held for a while, most of it from "
              "m.py:2 copy_of_weights: that saves about 20.0 MiB.  Halving the "
              "batch does that if its size depends on the batch.",
              MIB(20));
}

/* Layers keep what the next token needs. */
static void what_layers_keep_is_no_leak(void **state)
{
    char lines[4096] = "";

    (void)state;
    for (int i = 0; i < 8; i++)
        strcat(lines, "alloc + 3MiB 0 m.py:9:block|m.py:20:run\n"
                      "alloc 0 20MiB 0 m.py:10:block|m.py:20:run\n"
                      "free_requested 0 20MiB\n");
    advice_is(lines, NULL, "Do the step at m.py:10 block in place or in parts",
              MIB(10));
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
              "Free what each iteration leaves behind (3.00 MiB each time, "
              "from train.py:9 forward): that saves about 12.0 MiB.",
              MIB(12));
}

/* The line that holds most of them, unless it is none of the program's. */
static void temporaries_are_those_of_a_line_or_of_the_backward_pass(
    void **state)
{
    (void)state;
    advice_is(
        "alloc 0 20MiB 0 /home/me/m.py:2:f\nfree_requested 0 20MiB\n"
        "alloc 0 1MiB " MAIN,
        NULL,
        "Do the step at m.py:2 f in place or in parts: its temporaries take "
        "20.0 MiB at the peak, and halving them lowers it by 10.0 MiB.",
        MIB(10));
    advice_is(
        "alloc 0 20MiB 0 ??:0:torch::autograd::MmBackward0::apply(x)\n"
        "free_requested 0 20MiB\nalloc 0 1MiB " MAIN,
        NULL,
        "Halve the batch, or fuse operations of the backward pass: its "
        "temporaries take 20.0 MiB at the peak (most of them from MmBackward0 "
        "of the backward pass), and halving them lowers it by 10.0 MiB.",
        MIB(10));
    advice_is(
        "alloc 0 20MiB\nfree_requested 0 20MiB\nalloc 0 1MiB " MAIN, NULL,
        "Halve the temporaries: they take 20.0 MiB at the peak, and halving "
        "them lowers it by 10.0 MiB.  No call path shows the origin.",
        MIB(10));
}

/* Behind the peak stands another, which the change leaves as it is: what is
 * saved is the distance between them. */
static void a_second_peak_limits_what_is_saved(void **state)
{
    static const char *const lines[] = {
        "alloc 0 40MiB 0 /home/me/m.py:2:forward\n",
        "alloc 0 40MiB 0 torch/optim/adam.py:1:step\n",
        "alloc 0 40MiB 0 torch/optim/adam.py:1:step\n"};
    static const char *const expected[] = {
        "Halve the batch or the sequence: that saves about 5.00 MiB",
        "state: that saves about 5.00 MiB if", NOTHING};

    (void)state;
    for (int k = 0; k < 3; k++) {
        char run[8192];

        strcpy(run, lines[k]);
        for (int i = 1; i < 100; i++)
            strcat(run, i == 60 ? "free_requested 0 40MiB\n"
                                : "segment_alloc + 2MiB\n");
        /* The third stands out too little. */
        strcat(run, k < 2 ? "alloc 0 35MiB " MAIN : "alloc 0 39MiB " MAIN);
        advice_is(run, "\"expandable_segments\": true", expected[k],
                  k < 2 ? MIB(5) : 0);
    }
}

/* A line is credited with its own temporaries alone. */
static void other_lines_temporaries_are_not_the_lines(void **state)
{
    (void)state;
    advice_is(
        "alloc 0 20MiB 0 /home/me/m.py:2:f\n"
        "alloc 40 16MiB 0 /home/me/m.py:3:g\n"
        "free_requested 40 16MiB\nfree_requested 0 20MiB\n"
        "alloc 0 1MiB " MAIN,
        NULL,
        "Do the step at m.py:2 f in place or in parts: its temporaries take "
        "20.0 MiB at the peak, and halving them lowers it by 10.0 MiB.",
        MIB(10));
}

static void plain_attention_can_be_fused(void **state)
{
    char lines[8192] = "alloc 0 30MiB 0 /home/gpt.py:9:softmax\n"
                       "alloc 30 20MiB 0 /home/gpt.py:8:forward\n";

    (void)state;
    for (int i = 1; i < 100; i++)
        strcat(lines, i == 40   ? "free_requested 0 30MiB\n"
                      : i == 41 ? "free_requested 30 20MiB\n"
                                : "segment_alloc + 2MiB\n");
    advice_is(
        lines, "\"expandable_segments\": true",
        "Use fused attention (scaled_dot_product_attention) at gpt.py:9 "
        "softmax: without the allocations of its softmax the peak is 30.0 "
        "MiB lower.",
        MIB(30));
}

/* PyTorch's function is fused; one of that name in a program is not. */
static void what_is_fused_already_stays(void **state)
{
    static const struct {
        const char *frames;
        enum remedy remedy;
        uint64_t saves;
    } cases[] = {
        {"gpt.py:9:softmax", REMEDY_ATTENTION, 800},
        {"gpt.py:9:softmax|gpt.py:8:scaled_dot_product", REMEDY_ATTENTION, 800},
        {"gpt.py:9:softmax|??:0:at::scaled_dot_product_attention",
         REMEDY_ATTENTION, 0},
        {"gpt.py:9:log_softmax", REMEDY_ATTENTION, 0},
        {"gpt.py:9:log_softmax", REMEDY_LOSS, 700},
        {"gpt.py:9:softmax|gpt.py:7:cross_entropy", REMEDY_LOSS, 700},
        {"gpt.py:9:softmax", REMEDY_LOSS, 0},
        {"gpt.py:9:forward", REMEDY_ATTENTION, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[256];
        struct snapshot *s;

        snprintf(lines, sizeof lines, "alloc 0 800 0 %s\n", cases[i].frames);
        s = made_snapshot(lines, NULL);
        if (remedy_of_stack(s, cases[i].remedy, s->events[0].stack, 800) !=
            cases[i].saves)
            fail_msg("%s", cases[i].frames);
        snapshot_free(s);
    }
}

static void one_call_may_be_what_is_too_much(void **state)
{
    (void)state;
    advice_is("segment_alloc 0 100MiB\nalloc 0 90MiB 0 m.py:1:__init__\n"
              "oom 0 20MiB 0 m.py:2:softmax\n",
              NULL,
              "Reduce the memory in use at that moment by 10.0 MiB; no setting "
              "does that.  Fused attention (scaled_dot_product_attention) is "
              "enough: a softmax takes 20.0 MiB of it.",
              MIB(10));
    advice_is("segment_alloc 0 100MiB\nalloc 0 50MiB 0 m.py:1:__init__\n"
              "alloc 50 40MiB 0 m.py:3:cross_entropy\noom 0 40MiB\n",
              NULL,
              "Reduce the memory in use at that moment by 30.0 MiB; no setting "
              "does that.  Computing the loss in pieces is enough: with eight "
              "pieces it takes 35.0 MiB less.",
              MIB(30));
    advice_is("segment_alloc 0 100MiB\nalloc 0 95MiB 0 m.py:1:__init__\n"
              "alloc 95 5MiB 0 m.py:3:softmax\noom 0 10MiB\n",
              NULL, "does that.  Quantise, shard or offload", MIB(10));
}

static void a_loss_can_be_computed_in_pieces(void **state)
{
    (void)state;
    advice_is("alloc 0 40MiB 0 /home/train.py:3:cross_entropy\n"
              "free_requested 0 40MiB\nalloc 0 1MiB " MAIN,
              NULL,
              "Compute the loss at train.py:3 cross_entropy in pieces: with "
              "eight pieces the peak is 35.0 MiB lower.",
              MIB(35));
    /* Its softmax is not attention. */
    advice_is("alloc 0 40MiB 0 /home/train.py:3:log_softmax\n"
              "free_requested 0 40MiB\nalloc 0 1MiB " MAIN,
              NULL, "Compute the loss", MIB(35));
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
        cmocka_unit_test(every_change_of_code_has_its_setting),
        cmocka_unit_test(what_is_older_is_weights_most_likely),
        cmocka_unit_test(only_what_fits_under_no_setting_is_said_not_to),
        cmocka_unit_test(after_the_replay_nobody_is_sent_to_replay),
        cmocka_unit_test(advice_is_about_one_request),
        cmocka_unit_test(what_only_lives_long_is_not_said_to_scale),
        cmocka_unit_test(what_layers_keep_is_no_leak),
        cmocka_unit_test(a_leak_is_what_all_iterations_have_left),
        cmocka_unit_test(
            temporaries_are_those_of_a_line_or_of_the_backward_pass),
        cmocka_unit_test(a_setting_stands_beside_a_change_of_code),
        cmocka_unit_test(a_second_peak_limits_what_is_saved),
        cmocka_unit_test(other_lines_temporaries_are_not_the_lines),
        cmocka_unit_test(plain_attention_can_be_fused),
        cmocka_unit_test(what_is_fused_already_stays),
        cmocka_unit_test(one_call_may_be_what_is_too_much),
        cmocka_unit_test(a_loss_can_be_computed_in_pieces),
    };

    return run_guarded_tests(tests);
}
