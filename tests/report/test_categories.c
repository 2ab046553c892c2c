/* test_categories.c - what an allocation is for, by the frames that made and
 * freed it and by how long it lived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "made_snapshot.h"
#include "report/explain.h"
#include "support/guarded.h"

/* Of the allocation that begins first. */
static enum report_category category_of(const char *lines)
{
    enum report_category category;
    struct made_run m;

    made_run(lines, NULL, &m);
    assert_true(m.l.alloc_count > 0);
    category = (enum report_category)m.r.categories[0];
    made_run_free(&m);
    return category;
}

static enum report_category made_by(const char *frames)
{
    char lines[512];

    snprintf(lines, sizeof lines,
             "alloc 0 1MiB 0 %s\nalloc 100 1MiB\nalloc 200 1MiB\n", frames);
    return category_of(lines);
}

static void frames_and_lifetimes_tell_what_memory_is_for(void **state)
{
    (void)state;
    assert_int_equal(made_by("m.py:1:__init__"), REPORT_WEIGHTS);
    assert_int_equal(made_by("torch/optim/adam.py:1:f|train.py:2:step"),
                     REPORT_OPTIMIZER);
    assert_int_equal(made_by("??:0:MmBackward0::apply()"), REPORT_GRADIENTS);
    assert_int_equal(made_by("m.py:1:forward"), REPORT_ACTIVATIONS);
    /* Memory recomputed by checkpointing. */
    assert_int_equal(made_by("m.py:1:forward|c.py:2:backward"),
                     REPORT_ACTIVATIONS);
    assert_int_equal(made_by("main.py:1:main"), REPORT_OTHER);
    assert_int_equal(category_of("alloc 0 1MiB 0 m.py:1:forward\n"
                                 "free_requested 0 1MiB\nalloc 1 1MiB\n"),
                     REPORT_TEMPORARIES);
}

/* The category of memory older than the recording depends on who released
 * it. */
static void memory_older_than_the_recording_is_known_by_its_free(void **state)
{
    static const char optim[] = "free_requested 0 4MiB 0 p/optim/adam.py:7:step"
                                "\nfree_completed 0 4MiB\n";
    char lines[512];

    (void)state;
    /* Freed and recreated by the optimizer's step. */
    sprintf(lines, "%salloc 0 4MiB 0 p/optim/adam.py:8:step\n", optim);
    assert_int_equal(category_of(lines), REPORT_OPTIMIZER);
    /* The opposite order, from the first event on. */
    sprintf(lines, "alloc 8 4MiB 0 p/optim/adam.py:8:step\n%s", optim);
    assert_int_equal(category_of(lines), REPORT_OPTIMIZER);
    /* Freed there, and not recreated. */
    sprintf(lines, "%salloc 0 3MiB 0 p/optim/adam.py:8:step\nalloc 9 1MiB\n",
            optim);
    assert_int_equal(category_of(lines), REPORT_GRADIENTS);
    sprintf(lines, "free_requested 0 4MiB 0 p/optim/o.py:7:zero_grad\n"
                   "alloc 9 1MiB\n");
    assert_int_equal(category_of(lines), REPORT_GRADIENTS);
    sprintf(lines, "free_requested 0 4MiB 0 ??:0:MmBackward0::apply()\n"
                   "alloc 9 1MiB\nalloc 10 1MiB\n");
    assert_int_equal(category_of(lines), REPORT_ACTIVATIONS);
    /* Never freed. */
    assert_int_equal(category_of("alloc 9 1MiB 0 m.py:1:f\n"
                                 "segment 0 20MiB\n"
                                 "block 4MiB active_allocated\n"
                                 "block 5MiB inactive\n"
                                 "block 1MiB active_allocated m.py:1:f\n"),
                     REPORT_WEIGHTS);
}

/* Allocated by the backward pass, and freed there or by the optimizer. */
static void gradients_are_what_the_optimizer_frees(void **state)
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
        assert_int_equal(category_of(lines),
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
    return category_of(lines);
}

/* Up to 32 events are a short life, and more than half of the run a long one. */
static void lives_are_short_medium_or_long(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_and_lifetimes_tell_what_memory_is_for),
        cmocka_unit_test(memory_older_than_the_recording_is_known_by_its_free),
        cmocka_unit_test(gradients_are_what_the_optimizer_frees),
        cmocka_unit_test(lives_are_short_medium_or_long),
        cmocka_unit_test(pytorchs_categories_take_precedence_over_guesses),
    };

    return run_guarded_tests(tests);
}
