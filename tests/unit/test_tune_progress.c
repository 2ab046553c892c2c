/* test_tune_progress.c - the bar of `larder tune`: all there is to do is said
 * before any of it is done, and all of it is done where the work ends. */
#include "replay_rig.h"

#include "tune/tune.h"

struct bar {
    uint64_t to_do;
    uint64_t done;
    unsigned said; /* how often there was more to do */
};

static void take(void *ctx, uint64_t more_to_do, uint64_t more_done)
{
    struct bar *b = ctx;

    b->said += more_to_do != 0;
    b->to_do += more_to_do;
    b->done += more_done;
    assert_true(b->done <= b->to_do);
}

static void the_bar_ends_where_the_work_does(void **state)
{
    const struct tune_base base = {.policy = LARDER_POLICY_DEFAULT};
    struct bar bar = {0, 0, 0};
    struct tune_options o = {
        .threads = 1, .progress = take, .progress_ctx = &bar};
    char path[] = "/tmp/larder_tune_XXXXXX.trace";
    struct tune_inputs inputs = {0};
    struct tool_error error;
    struct tune t;
    FILE *f = fdopen(mkstemps(path, 6), "w");

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < 8; i++)
        fprintf(f, "a %d 555745280\nf %d\na %d 283115520\n", 2 * i, 2 * i,
                2 * i + 1);
    assert_int_equal(fclose(f), 0);
    assert_true(tune_inputs_add(&inputs, path, &base, &error));
    assert_true(tune_inputs_add(&inputs, path, &base, &error));
    unlink(path);
    assert_true(tune_base(&t, &inputs, &o, &error));
    assert_true(bar.done > 0 && bar.done * 4 < bar.to_do);
    assert_true(tune_search(&t, &error));
    assert_int_equal(bar.said, 1);
    assert_int_equal(bar.done, bar.to_do);
    tune_free(&t);
    tune_inputs_free(&inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bar_ends_where_the_work_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
