/* test_evidence.c - what call paths show: whether what repeats are steps of
 * training, and what counts as activations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "put_lines.h"
#include "support/guarded.h"

#define ENGINE "??:0:torch::autograd::Engine::thread_main()"
#define BACKWARD "??:0:MmBackward0::apply()|" ENGINE
#define MAKE(mib, path) "alloc 0 " #mib "MiB 0 " path "\n"
#define FREE(mib, path) "free_requested 0 " #mib "MiB 0 " path "\n"

/* Six times `events`, of which each is to free what it made. */
static void repeat(const char *events)
{
    lines[0] = '\0';
    put("segment_alloc 0 40MiB\nrepeat 6\n%send\n", events);
}

static void steps_are(bool are, bool may_be_layers)
{
    struct made_run m;

    made_run(lines, NULL, &m);
    assert_int_equal(m.r.iterations.count, 6);
    assert_int_equal(m.r.are_iterations, are);
    assert_int_equal(m.r.may_be_layers, may_be_layers);
    made_run_free(&m);
}

static void a_step_has_a_pass_back_and_something_before(void **state)
{
    (void)state;
    repeat(MAKE(8, "m.py:3:forward|t.py:9:train") FREE(8, BACKWARD));
    steps_are(true, false);
    repeat(MAKE(8, "m.py:3:f|t.py:9:train") FREE(8, "t.py:9:train")
               MAKE(4, "torch/optim/adam.py:1:step") FREE(4, "t.py:9:train"));
    steps_are(true, false);
    repeat(MAKE(8, "m.py:3:f|t.py:9:train") FREE(8, "x.py:2:zero_grad"));
    steps_are(true, false);
}

/* Over layers, with or without a forward() around each. */
static void what_trains_nothing_may_be_layers(void **state)
{
    (void)state;
    repeat(MAKE(8, "m.py:3:block|m.py:9:model") FREE(8, "m.py:9:model"));
    steps_are(false, true);
    repeat(MAKE(8, "m.py:3:forward|m.py:9:run") FREE(8, "m.py:9:run"));
    steps_are(false, true);
}

/* Layers of a pass back, where what was not kept is computed again. */
static void a_part_of_a_backward_pass_is_no_step(void **state)
{
    (void)state;
    repeat(MAKE(8, BACKWARD) FREE(8, BACKWARD));
    steps_are(false, true);
    repeat(MAKE(8, BACKWARD) FREE(8, BACKWARD) MAKE(4, "m.py:3:forward|" ENGINE)
               FREE(4, BACKWARD));
    steps_are(false, true);
}

static void every_step_has_to_be_one(void **state)
{
    (void)state;
    lines[0] = '\0';
    put("segment_alloc 0 40MiB\n");
    for (int i = 0; i < 6; i++)
        put(MAKE(8, "m.py:3:forward|t.py:9:train") "%s",
            i == 2 ? FREE(8, "t.py:9:train") : FREE(8, BACKWARD));
    steps_are(false, true);
}

static void without_paths_nothing_is_known(void **state)
{
    (void)state;
    lines[0] = '\0';
    put("segment_alloc 0 40MiB\nrepeat 6\nalloc 0 8MiB\nfree_requested 0 8MiB\n"
        "end\n");
    steps_are(false, false);
}

static void marks_are_the_programs_word(void **state)
{
    (void)state;
    repeat("mark step START\n" MAKE(8, "m.py:3:block") FREE(8, "m.py:9:model"));
    steps_are(true, false);
}

/* ---- activations --------------------------------------------------------- */

/* Something that is kept for longer than a temporary, and less than half of the
 * run. */
static void put_kept(int mib, const char *path, const char *freed)
{
    lines[0] = '\0';
    put("segment_alloc 0 100MiB\nalloc 60 10MiB 0 m.py:2:forward\n"
        "alloc 0 %dMiB 0 %s\n",
        mib, path);
    for (int i = 0; i < 40; i++)
        put("segment_alloc + 2MiB\n");
    put("free_requested 0 %dMiB 0 %s\nfree_requested 60 10MiB 0 m.py:9:main\n",
        mib, freed);
    for (int i = 0; i < 60; i++)
        put("segment_alloc + 2MiB\n");
}

static void activations_are_known(bool known)
{
    struct made_run m;

    made_run(lines, NULL, &m);
    assert_int_equal(m.r.activations_known, known);
    made_run_free(&m);
}

static void a_pass_makes_or_frees_activations(void **state)
{
    (void)state;
    put_kept(40, "m.py:3:forward", "m.py:9:main");
    activations_are_known(true);
    put_kept(40, "m.py:3:block", BACKWARD);
    activations_are_known(true);
    put_kept(40, "m.py:3:copy_of_weights", "m.py:9:main");
    activations_are_known(false);
    /* Half is enough. */
    put_kept(10, "m.py:3:copy_of_weights", "m.py:9:main");
    activations_are_known(true);
    put_kept(11, "m.py:3:copy_of_weights", "m.py:9:main");
    activations_are_known(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_a_pass_back_and_something_before),
        cmocka_unit_test(what_trains_nothing_may_be_layers),
        cmocka_unit_test(a_part_of_a_backward_pass_is_no_step),
        cmocka_unit_test(every_step_has_to_be_one),
        cmocka_unit_test(without_paths_nothing_is_known),
        cmocka_unit_test(marks_are_the_programs_word),
        cmocka_unit_test(a_pass_makes_or_frees_activations),
    };

    return run_guarded_tests(tests);
}
