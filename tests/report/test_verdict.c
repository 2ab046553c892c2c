/* test_verdict.c - the three lines at the top of a report: what happened, who
 * holds the memory, and what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "report/verdict.h"
#include "support/guarded.h"

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
    struct made_run m;

    made_run(lines, settings, &m);
    v = report_verdict_make(&m.arena, &m.r, cure);
    has(v.what, what);
    has(v.who, who);
    has(v.advice, advice);
    assert_null(strchr(v.what, '\n'));
    made_run_free(&m);
}

static void a_shortage_says_how_much_is_missing(void **state)
{
    (void)state;
    verdict_is("segment_alloc 0 100MiB\n"
               "alloc 0 80MiB 0 model.py:1:forward\n"
               "alloc 80 20MiB 0 model.py:2:head\n"
               "oom 30MiB 64MiB 0 model.py:3:loss\n",
               NULL, NULL,
               "ran out of memory on a request for 64.0 MiB by model.py:3 "
               "loss: 100 MiB of the 130 MiB available to it was in use.",
               "model.py:1 forward 80.0 MiB (80 %); model.py:2 head 20.0 MiB "
               "(20 %).",
               "Reduce the memory in use at that moment by 34.0 MiB; no "
               "setting does that.  Make the batch or sequence 24 % smaller");
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

static const char *found(void *ctx, const struct snapshot *s, size_t device,
                         uint64_t *saves)
{
    (void)s;
    *saves = 0;
    assert_int_equal(device, 0);
    ++*(int *)ctx;
    return "Set this.";
}

static void fragmentation_gets_a_cure_or_a_setting_that_is_off(void **state)
{
    int asked = 0;
    struct report_cure cure = {.find = found, .ctx = &asked};

    (void)state;
    verdict_is(pieces, NULL, NULL,
               "the rest was in fragments of at most 20.0 MiB",
               "b.py:2 two 20.0 MiB (100 %).",
               "Free earlier what pins 40.0 MiB of free memory, or find");
    verdict_is(pieces, "\"expandable_segments\": true", NULL, "fragments",
               "b.py", "segments are expandable already");
    verdict_is(pieces, NULL, &cure, "fragments", "b.py", "Set this.");
    assert_int_equal(asked, 1);
    /* If the memory is simply too small, no cure is searched for. */
    verdict_is("segment_alloc 0 60MiB\nalloc 0 60MiB\noom 0 30MiB\n", NULL,
               &cure, "ran out", "60.0 MiB", "moment by 30.0 MiB");
    assert_int_equal(asked, 1);
}

/* A program that catches the failure goes on. */
static void a_run_that_recovers_is_told_of(void **state)
{
    static const char failed[] = "segment_alloc 0 60MiB\nalloc 0 60MiB\n"
                                 "oom 0 30MiB\nfree_requested 0 60MiB\n";
    char lines[256];

    (void)state;
    verdict_is(failed, NULL, NULL,
               "60.0 MiB of the 60.0 MiB available to it was in use.",
               "60.0 MiB", "Nothing after that request was recorded.");
    snprintf(lines, sizeof lines, "%salloc 0 20MiB\n", failed);
    verdict_is(lines, NULL, NULL,
               "was in use.  The program continued: 1 allocation followed.",
               "60.0 MiB", "This applies to that request only.");
    /* Those before do not count, and the last failure does. */
    snprintf(lines, sizeof lines,
             "%salloc 0 20MiB\nalloc 20 9MiB\noom 0 40MiB\n"
             "alloc 30 1MiB\nalloc 40 1MiB\n",
             failed);
    verdict_is(
        lines, NULL, NULL,
        "(the last of 2 failures): 29.0 MiB of the 89.0 MiB available to it "
        "was in use.  The program continued: 2 allocations followed.",
        "29.0 MiB", "This applies to that request only.");
}

/* What the limit was is not recorded: the driver may have had no such block. */
static void a_limit_is_most_likely(void **state)
{
    (void)state;
    verdict_is(
        "segment_alloc 0 20MiB\nalloc 0 20MiB 0 a.py:1:f\n"
        "oom 60MiB 30MiB\n",
        NULL, NULL,
        "a request for 30.0 MiB: 20.0 MiB was in use, and the driver had 60.0 "
        "MiB left: most likely a limit of the process refused it.",
        "a.py:1 f", "Raise the process's memory limit");
}

static void nobody_holds_memory_where_none_was_in_use(void **state)
{
    (void)state;
    verdict_is("segment_alloc 0 2MiB\noom 0 4MiB\n", NULL, NULL,
               "ran out of memory on a request for 4.00 MiB: 0 B of the 2.00 "
               "MiB available to it was in use.",
               "Nobody: nothing was in use.", "moment by 2.00 MiB");
    verdict_is("alloc 0 3MiB\nfree_requested 0 3MiB\n", NULL, NULL,
               "at most 3.00 MiB was in use, at 0 µs of 10 µs.", "3.00 MiB",
               "");
    verdict_is("free_requested 0 3MiB\n", NULL, NULL,
               "at most 3.00 MiB was in use.",
               "older than the recording 3.00 MiB (100 %).", "");
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
    verdict_is(forward, NULL, NULL, "at most 90.0 MiB was in use",
               "m.py:2 forward 80.0 MiB (89 %)",
               "Do the step at m.py:2 forward in place or in parts");
    verdict_is("segment_alloc 0 100MiB\nalloc 0 99MiB 0 m.py:1:__init__\n"
               "alloc 99 1MiB\n",
               NULL, NULL, "did not", "m.py:1", "Nothing stands out");
}

/* Not the line with the largest single allocation. */
static void the_line_that_holds_most_in_all_is_named(void **state)
{
    (void)state;
    verdict_is("segment_alloc 0 60MiB\n"
               "alloc 0 20MiB 0 m.py:1:big\n"
               "alloc 20 15MiB 0 m.py:2:often\n"
               "alloc 35 15MiB 0 m.py:2:often\n"
               "alloc 50 10MiB 0 ??:0:MmBackward0::apply()\n"
               "free_requested 0 20MiB\nfree_requested 20 15MiB\n"
               "free_requested 35 15MiB\nfree_requested 50 10MiB\n",
               NULL, NULL, "60.0 MiB was in use", "m.py:2 often 30.0 MiB",
               "Do the step at m.py:2 often in place or in parts");
}

/* A program that infers gets no advice that applies only to training. */
static void inference_gets_no_advice_about_training(void **state)
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
               "Quantise the weights to half their size, or offload half of "
               "them: that lowers the peak by 40.0 MiB");
    /* The weights' line is not one of activations. */
    verdict_is(
        "segment_alloc 0 100MiB\n"
        "alloc 0 80MiB 0 model.py:1:__init__\n"
        "alloc 80 20MiB 0 model.py:2:forward\n"
        "oom 30MiB 64MiB 0 model.py:3:loss\n",
        NULL, NULL, "ran out", "model.py:1 __init__ 80.0 MiB",
        "or recompute activations, starting with those of model.py:2 forward");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shortage_says_how_much_is_missing),
        cmocka_unit_test(fragmentation_gets_a_cure_or_a_setting_that_is_off),
        cmocka_unit_test(a_run_that_recovers_is_told_of),
        cmocka_unit_test(a_limit_is_most_likely),
        cmocka_unit_test(nobody_holds_memory_where_none_was_in_use),
        cmocka_unit_test(a_snapshot_without_history_says_so),
        cmocka_unit_test(the_advice_is_what_lowers_a_peak_most),
        cmocka_unit_test(the_line_that_holds_most_in_all_is_named),
        cmocka_unit_test(inference_gets_no_advice_about_training),
    };

    return run_guarded_tests(tests);
}
