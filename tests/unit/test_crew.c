/* test_crew.c - jobs on several threads: each is done once, and the first that
 * fails says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "replay/crew.h"

enum { JOBS = 100 };

struct work {
    _Atomic unsigned done[JOBS];
    size_t fails_from;
};

static bool job(void *ctx, size_t number, struct tool_error *error)
{
    struct work *w = ctx;

    atomic_fetch_add(&w->done[number], 1);
    return number < w->fails_from || tool_fail(error, "job %zu", number);
}

static void every_job_is_done_once(void **state)
{
    static const unsigned threads[] = {1, 2, 7, 2 * JOBS};

    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct work w = {.fails_from = JOBS};
        struct tool_error error = {"none"};

        assert_true(crew_run(job, &w, JOBS, threads[t], &error));
        assert_string_equal(error.text, "none");
        for (size_t i = 0; i < JOBS; i++)
            assert_int_equal(w.done[i], 1);
    }
}

static void a_failure_is_told_and_ends_the_work(void **state)
{
    struct work w = {.fails_from = 5};
    struct tool_error error = {"none"};

    (void)state;
    assert_false(crew_run(job, &w, JOBS, 1, &error));
    assert_string_equal(error.text, "job 5");
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(w.done[i], i <= 5);
}

/* Others may fail at the same time; one of them is told. */
static void one_of_several_failures_is_told(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct work w = {.fails_from = 0};
        struct tool_error error = {"none"};
        unsigned number;

        assert_false(crew_run(job, &w, JOBS, 4, &error));
        assert_int_equal(sscanf(error.text, "job %u", &number), 1);
        assert_in_range(number, 0, 3);
        assert_int_equal(w.done[number], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_done_once),
        cmocka_unit_test(a_failure_is_told_and_ends_the_work),
        cmocka_unit_test(one_of_several_failures_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
