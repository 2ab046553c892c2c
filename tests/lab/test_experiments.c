/* test_experiments.c - the report of an experiment whose figures are, or are
 * not, as expected. (tests/cli/lab_experiments.sh runs the real
 * experiments.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/experiments/experiment.h"

static const int64_t one[] = {1};

struct report {
    char *text;
    int status;
};

static struct report report_of(bool (*run)(struct exp *e),
                               struct lab_run_options opt)
{
    const struct experiment what = {
        .number = 7,
        .name = "it",
        .title = "a title",
        .text = "Some words that are long enough to be put on more than one "
                "line, and so they are.\n\nAnother paragraph.",
        .run = run,
    };
    struct report report;
    size_t length;

    if (opt.device == NULL)
        opt.device = "sim:64MiB,backing=none";
    opt.out = open_memstream(&report.text, &length);
    assert_non_null(opt.out);
    report.status = experiment_run(&what, &opt);
    assert_int_equal(fclose(opt.out), 0);
    return report;
}

static void check_report(const struct report *report, int status,
                         const char *words)
{
    if (report->status != status || strstr(report->text, words) == NULL)
        fail_msg("status %d, expected %d, with '%s' in:\n%s", report->status,
                 status, words, report->text);
}

/* ---- experiments ---- */

static bool as_expected(struct exp *e)
{
    return exp_open(e, NULL) && exp_randn(e, 0, 1, one) &&
           exp_step(e, "x = randn(1)") &&
           exp_expect(e, EXP_RESERVED, 2 * MIB) &&
           exp_expect(e, EXP_ALLOCATED, 512) &&
           exp_number(e, "a number", EXP_CALLS, 3, 3) &&
           exp_yes(e, "a truth", true) && exp_verdict(e, "It is so.");
}

static bool wrong_figure(struct exp *e)
{
    return exp_open(e, NULL) && exp_randn(e, 0, 1, one) &&
           exp_step(e, "x = randn(1)") &&
           exp_expect(e, EXP_RESERVED, 4 * MIB) && exp_verdict(e, "It is so.");
}

static bool wrong_number(struct exp *e)
{
    return exp_open(e, NULL) && exp_step(e, "nothing") &&
           exp_number(e, "a number", EXP_CALLS, 3, 4);
}

static bool wrong_truth(struct exp *e)
{
    return exp_open(e, NULL) && exp_step(e, "nothing") &&
           exp_yes(e, "a truth", false);
}

static bool out_of_memory(struct exp *e)
{
    return exp_open(e, NULL) && exp_bytes(e, 0, 128 * MIB) &&
           exp_step(e, "never reached");
}

static bool refused(struct exp *e)
{
    return exp_open(e, NULL) &&
           exp_refused(e, "65 MiB are refused", 65 * MIB) &&
           exp_bytes(e, 0, 64 * MIB);
}

static bool refused_wrongly(struct exp *e)
{
    return exp_open(e, NULL) && exp_refused(e, "64 MiB are refused", 64 * MIB);
}

static bool only_shown(struct exp *e)
{
    e->only_shown = true;
    return wrong_figure(e) && wrong_number(e);
}

/* ---- tests ---- */

static void an_experiment_as_expected_exits_0(void **state)
{
    struct report r = report_of(as_expected, (struct lab_run_options){0});

    (void)state;
    check_report(&r, 0, "As expected. It is so.");
    assert_non_null(strstr(r.text, "x = randn(1)"));
    assert_non_null(strstr(r.text, "a number: expected 3 calls, seen 3 calls"));
    assert_non_null(strstr(r.text, "a truth: expected yes, seen yes"));
    free(r.text);
}

static void check_difference(bool (*run)(struct exp *e), const char *seen)
{
    struct lab_run_options opt = {0};
    struct report r = report_of(run, opt);

    check_report(&r, 1, "NOT as expected: 1 of 1 figures differ.");
    assert_null(strstr(r.text, "It is so."));
    free(r.text);
    opt.json = true;
    r = report_of(run, opt);
    check_report(&r, 1, seen);
    assert_non_null(strstr(r.text, "\"ok\":false,\"verdict\""));
    free(r.text);
}

static void each_kind_of_difference_exits_1(void **state)
{
    (void)state;
    check_difference(wrong_figure, "\"what\":\"reserved after `x = randn(1)`\","
                                   "\"expected\":4194304,\"seen\":2097152,"
                                   "\"unit\":\"bytes\",\"ok\":false");
    check_difference(wrong_number, "\"expected\":3,\"seen\":4,"
                                   "\"unit\":\"calls\",\"ok\":false");
    check_difference(wrong_truth, "\"expected\":true,\"seen\":false,"
                                  "\"unit\":\"yes\",\"ok\":false");
}

static void other_policies_and_settings_are_not_judged(void **state)
{
    struct lab_run_options opt = {.policy = LARDER_POLICY_DIRECT};
    struct report r = report_of(wrong_figure, opt);

    (void)state;
    check_report(&r, 0, "Under the policy direct, 1 of 1 figures differ");
    free(r.text);
    opt = (struct lab_run_options){.conf = "limit:32MiB"};
    r = report_of(wrong_figure, opt);
    check_report(&r, 0, "the settings limit:32MiB, 1 of 1 figures differ");
    free(r.text);
    assert_int_equal(setenv("LARDER_CONF", "limit:16MiB", 1), 0);
    r = report_of(wrong_figure, (struct lab_run_options){0});
    assert_int_equal(unsetenv("LARDER_CONF"), 0);
    check_report(&r, 0, "the settings limit:16MiB, 1 of 1 figures differ");
    free(r.text);
}

static void an_experiment_that_cannot_run_exits_2(void **state)
{
    struct lab_run_options opt = {.json = true};
    struct report r = report_of(out_of_memory, opt);

    (void)state;
    check_report(&r, 2, "Could not be run: ");
    assert_non_null(strstr(r.text, "Tried to allocate 128.00 MiB"));
    assert_null(strstr(r.text, "never reached"));
    free(r.text);
    opt.device = "sim:nonsense";
    r = report_of(as_expected, opt);
    check_report(&r, 2, "Could not be run: ");
    free(r.text);
}

static void an_expected_refusal_is_checked(void **state)
{
    struct report r = report_of(refused, (struct lab_run_options){0});

    (void)state;
    check_report(&r, 0, "65 MiB are refused: expected yes, seen yes");
    free(r.text);
    r = report_of(refused_wrongly, (struct lab_run_options){0});
    check_report(&r, 1, "64 MiB are refused: expected yes, seen no");
    free(r.text);
}

static void shown_numbers_are_not_checked(void **state)
{
    struct report r =
        report_of(only_shown, (struct lab_run_options){.json = true});

    (void)state;
    check_report(&r, 0, "\"checks\":[]");
    assert_non_null(strstr(r.text, "\"statement\":\"x = randn(1)\""));
    free(r.text);
}

static void check_spec(const char *given, struct exp_device want,
                       const char *expected)
{
    const struct lab_run_options opt = {.device = given};
    const struct exp e = {.opt = &opt};
    char spec[EXP_SPEC_MAX];

    assert_true(exp_spec(&e, &want, spec));
    assert_string_equal(spec, expected);
}

static void a_device_keeps_what_the_experiment_leaves_open(void **state)
{
    (void)state;
    check_spec(NULL, (struct exp_device){0}, LAB_DEVICE_DEFAULT);
    check_spec("sim:1GiB,vmm=off", (struct exp_device){.size = "2GiB"},
               "sim:2GiB,vmm=off");
    check_spec("sim:1GiB,context=5MiB,backing=none,costs=f",
               (struct exp_device){.context = "0", .shared = "s"},
               "sim:1GiB,backing=none,costs=f,context=0,shared=s");
    check_spec("sim:1GiB,backing=none",
               (struct exp_device){.backing = "memory"},
               "sim:1GiB,backing=memory");
}

static void a_device_that_is_too_long_is_refused(void **state)
{
    char given[2 * EXP_SPEC_MAX];
    const struct lab_run_options opt = {.device = given};
    const struct exp e = {.opt = &opt};
    const struct exp_device want = {0};
    char spec[EXP_SPEC_MAX];

    (void)state;
    memset(given, 'x', sizeof given - 1);
    given[sizeof given - 1] = '\0';
    assert_false(exp_spec(&e, &want, spec));
}

static void lines_keep_to_the_width(void **state)
{
    const struct lab_run_options opt = {.width = 80};
    struct report r = report_of(as_expected, opt);

    (void)state;
    for (const char *line = r.text; *line != '\0';) {
        size_t length = strcspn(line, "\n");

        if (length > 80)
            fail_msg("longer than 80: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    free(r.text);
}

static void names_and_numbers_are_known(void **state)
{
    (void)state;
    assert_true(experiments_count("all") > 10);
    assert_int_equal(experiments_count("0"), 1);
    assert_int_equal(experiments_count("3"), 3);
    assert_int_equal(experiments_count("5"), 1);
    assert_int_equal(experiments_count("two_processes"), 1);
    assert_int_equal(experiments_count("6"), 0);
    assert_int_equal(experiments_count(""), 0);
    assert_int_equal(experiments_count("two"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_experiment_as_expected_exits_0),
        cmocka_unit_test(each_kind_of_difference_exits_1),
        cmocka_unit_test(other_policies_and_settings_are_not_judged),
        cmocka_unit_test(an_experiment_that_cannot_run_exits_2),
        cmocka_unit_test(an_expected_refusal_is_checked),
        cmocka_unit_test(shown_numbers_are_not_checked),
        cmocka_unit_test(a_device_keeps_what_the_experiment_leaves_open),
        cmocka_unit_test(a_device_that_is_too_long_is_refused),
        cmocka_unit_test(lines_keep_to_the_width),
        cmocka_unit_test(names_and_numbers_are_known),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
