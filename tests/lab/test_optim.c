/* test_optim.c - optimizers give PyTorch's numbers after each of several steps;
 * what a step allocates and frees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "lab/device_log.h"
#include "lab/nn_expected.h"
#include "lab/nn_inputs.h"
#include "support/count.h"
#include "tensor/host_memory.h"

enum { ELEMENTS = 6, STEPS = 4 };

static lab_tensor *vector(lab *l, int64_t count, int seed)
{
    return nn_numbers(l, 1, &count, seed);
}

/* A parameter with a gradient. */
static lab_tensor *parameter(lab *l, int64_t count)
{
    lab_tensor *p = nn_wanted(l, 1, &count, 1), *grad = vector(l, count, 2);

    lab_assert_ok(lab_set_grad(p, grad));
    lab_unref(grad);
    return p;
}

/* ---- numbers -------------------------------------------------------------- */

struct steps_case {
    const char *name;
    lab_optimizer_kind kind;
    lab_optimizer_options opt; /* except its size */
    const float *want;         /* STEPS × ELEMENTS */
};

static const struct steps_case steps_cases[] = {
    {"SGD", LAB_SGD, {.lr = 0.1}, optim_sgd},
    {"SGD, momentum",
     LAB_SGD,
     {.lr = 0.1, .momentum = 0.9},
     optim_sgd_momentum},
    {"SGD, decay",
     LAB_SGD,
     {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05},
     optim_sgd_decay},
    {"Adam", LAB_ADAM, {.lr = 0}, optim_adam},
    {"Adam, decay",
     LAB_ADAM,
     {.lr = 0.01,
      .beta1 = 0.8,
      .beta2 = 0.95,
      .eps = 1e-3,
      .weight_decay = 0.05},
     optim_adam_decay},
    {"AdamW", LAB_ADAMW, {.lr = 0}, optim_adamw},
    {"AdamW, no decay",
     LAB_ADAMW,
     {.lr = 0.02, .weight_decay = -1},
     optim_adamw_no_decay},
};

static void steps_check(lab *l, const struct steps_case *c)
{
    lab_optimizer_options opt = c->opt;
    lab_tensor *p = parameter(l, ELEMENTS);
    lab_optimizer *o;
    char what[48];

    opt.size = sizeof opt;
    lab_assert_ok(lab_optimizer_create(l, c->kind, &opt, &p, 1, &o));
    for (int i = 0; i < STEPS; i++) {
        lab_tensor *grad = vector(l, ELEMENTS, 20 + i);

        lab_assert_ok(lab_set_grad(p, grad));
        lab_unref(grad);
        lab_assert_ok(lab_optimizer_step(o));
        snprintf(what, sizeof what, "%s, step %d", c->name, i);
        nn_same(what, p, c->want + (size_t)i * ELEMENTS, ELEMENTS);
    }
    lab_optimizer_destroy(o);
    lab_unref(p);
}

static void steps_are_pytorchs(void **state)
{
    for (size_t i = 0; i < COUNT(steps_cases); i++)
        steps_check(*state, &steps_cases[i]);
}

/* ---- memory --------------------------------------------------------------- */

/* Two parameters, of 1000 and 500 elements, stepped twice. */
static void memory_check(lab *l, lab_optimizer_kind kind,
                         const lab_optimizer_options *opt, const char *first,
                         const char *second)
{
    lab_tensor *params[] = {parameter(l, 1000), parameter(l, 500)};
    const char *const want[] = {first, second};
    lab_optimizer *o;

    lab_assert_ok(lab_optimizer_create(l, kind, opt, params, 2, &o));
    for (int i = 0; i < 2; i++) {
        log_start_all(l);
        lab_assert_ok(lab_optimizer_step(o));
        log_expect(l, want[i]);
        log_end(l);
    }
    lab_optimizer_destroy(o);
    lab_unref(params[0]);
    lab_unref(params[1]);
}

static void sgd_takes_no_memory_but_momentum(void **state)
{
    lab_optimizer_options opt;

    lab_optimizer_options_init(&opt);
    opt.lr = 0.1;
    memory_check(*state, LAB_SGD, &opt, "", "");
    opt.momentum = 0.9;
    memory_check(*state, LAB_SGD, &opt, "+4000 +2000", "");
}

/* The decayed gradient is released when its name is rebound to the momentum,
 * otherwise at the next parameter. */
static void sgd_decay_makes_a_temporary(void **state)
{
    lab_optimizer_options opt;

    lab_optimizer_options_init(&opt);
    opt.lr = 0.1;
    opt.weight_decay = 0.1;
    memory_check(*state, LAB_SGD, &opt, "+4000 -4000 +2000 -2000",
                 "+4000 -4000 +2000 -2000");
    opt.momentum = 0.9;
    memory_check(*state, LAB_SGD, &opt, "+4000 +4000 -4000 +2000 +2000 -2000",
                 "+4000 -4000 +2000 -2000");
}

/* The divisor of one parameter lives until the next one's exists. */
static void adam_keeps_two_means_and_one_divisor(void **state)
{
    static const char temporaries[] =
        "+4000 +4000 -4000 +2000 +2000 -2000 -4000 -2000";
    char first[256];

    snprintf(first, sizeof first, "+4000 +4000 +2000 +2000 %s", temporaries);
    memory_check(*state, LAB_ADAM, NULL, first, temporaries);
    memory_check(*state, LAB_ADAMW, NULL, first, temporaries);
}

static void a_parameter_without_gradient_is_left_alone(void **state)
{
    lab_tensor *p = nn_wanted(*state, 1, (const int64_t[]){ELEMENTS}, 1);
    lab_tensor *before = vector(*state, ELEMENTS, 1);
    float want[ELEMENTS];
    lab_optimizer *o;
    lab_memory m;

    lab_assert_ok(lab_read(before, want, sizeof want));
    lab_unref(before);
    m = lab_rig_memory(*state);
    lab_assert_ok(lab_optimizer_create(*state, LAB_ADAMW, NULL, &p, 1, &o));
    lab_assert_ok(lab_optimizer_step(o));
    lab_assert_ok(lab_optimizer_zero_grad(o, false));
    nn_same("the parameter", p, want, ELEMENTS);
    nn_memory_same(*state, &m);
    lab_optimizer_destroy(o);
    lab_unref(p);
}

static void zero_grad_zeroes_or_drops(void **state)
{
    static const float zeros[ELEMENTS];
    lab_tensor *p = parameter(*state, ELEMENTS);
    lab_optimizer *o;

    lab_assert_ok(lab_optimizer_create(*state, LAB_ADAM, NULL, &p, 1, &o));
    lab_assert_ok(lab_optimizer_zero_grad(o, false));
    nn_same("the gradient", lab_grad(p), zeros, ELEMENTS);
    lab_assert_ok(lab_optimizer_zero_grad(o, true));
    assert_null(lab_grad(p));
    lab_optimizer_destroy(o);
    lab_unref(p);
}

static void a_step_leaves_recording_as_it_was(void **state)
{
    lab_tensor *p = parameter(*state, ELEMENTS);
    lab_optimizer *o;

    lab_assert_ok(lab_optimizer_create(*state, LAB_ADAMW, NULL, &p, 1, &o));
    lab_assert_ok(lab_optimizer_step(o));
    assert_true(lab_grad_enabled(*state));
    assert_true(lab_is_leaf(p));
    assert_true(lab_requires_grad(p));
    lab_optimizer_destroy(o);
    lab_unref(p);
}

/* ---- failing -------------------------------------------------------------- */

static double first_of(lab_tensor *t)
{
    lab_tensor *one;
    double value;

    lab_assert_ok(lab_select(t, 0, 0, &one));
    lab_assert_ok(lab_item(one, &value));
    lab_unref(one);
    return value;
}

/* Parameter and gradient take 16 MiB, the first mean the last 8 of 64: there is
 * no room for the second. */
static void a_step_that_does_not_fit_can_be_made_later(void **state)
{
    lab *l = *state;
    lab_tensor *p = parameter(l, 2 << 20), *hog;
    double was = first_of(p);
    lab_optimizer *o;

    lab_assert_ok(
        lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 1, SIZES(10 << 20), &hog));
    lab_assert_ok(lab_optimizer_create(l, LAB_ADAM, NULL, &p, 1, &o));
    lab_assert_result(LARDER_ERR_OUT_OF_MEMORY, lab_optimizer_step(o));
    assert_true(lab_grad_enabled(l));
    assert_true(first_of(p) == was);
    lab_unref(hog);
    lab_assert_ok(lab_optimizer_step(o));
    /* Adam's first step has the size of the learning rate, whatever the
     * gradient. */
    assert_true(fabs(first_of(p) - was) > 0.9e-3);
    assert_true(fabs(first_of(p) - was) < 1.1e-3);
    lab_optimizer_destroy(o);
    assert_int_equal(lab_rig_memory(l).allocated_bytes, MIB(16));
    lab_unref(p);
}

/* Each request for host memory fails in turn: nothing leaks, and the step
 * succeeds once there is memory again. */
static void step_failing(lab *l, lab_optimizer_kind kind,
                         const lab_optimizer_options *opt)
{
    const lab_memory before = lab_rig_memory(l);
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;

    for (long passes = 0; r != LARDER_OK; passes++) {
        lab_tensor *p = parameter(l, ELEMENTS);
        lab_optimizer *o = NULL;

        assert_in_range(passes, 0, 100);
        lab__host_fail_after(passes);
        r = lab_optimizer_create(l, kind, opt, &p, 1, &o);
        if (r == LARDER_OK)
            r = lab_optimizer_step(o);
        lab__host_fail_after(-1);
        if (r != LARDER_OK)
            assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
        if (o != NULL)
            lab_assert_ok(lab_optimizer_step(o));
        lab_optimizer_destroy(o);
        lab_unref(p);
        nn_memory_same(l, &before);
    }
}

static void without_host_memory_nothing_leaks(void **state)
{
    lab_optimizer_options opt;

    lab_optimizer_options_init(&opt);
    opt.lr = 0.1;
    opt.momentum = 0.9;
    opt.weight_decay = 0.1;
    step_failing(*state, LAB_SGD, &opt);
    step_failing(*state, LAB_ADAM, &opt);
    step_failing(*state, LAB_ADAMW, &opt);
}

/* ---- settings ------------------------------------------------------------- */

static void the_learning_rate_can_be_changed(void **state)
{
    lab_tensor *p = parameter(*state, ELEMENTS);
    lab_optimizer *o;

    lab_assert_ok(lab_optimizer_create(*state, LAB_ADAM, NULL, &p, 1, &o));
    assert_true(lab_optimizer_lr(o) == 1e-3);
    lab_optimizer_set_lr(o, 0.5);
    assert_true(lab_optimizer_lr(o) == 0.5);
    lab_optimizer_destroy(o);
    lab_unref(p);
}

static void settings_that_make_no_sense_are_refused(void **state)
{
    lab_tensor *p = parameter(*state, ELEMENTS), *product;
    lab_optimizer_options opt;
    lab_optimizer *o;

    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_optimizer_create(*state, LAB_SGD, NULL, &p, 1, &o),
                       "SGD needs a learning rate");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_optimizer_create(*state, LAB_ADAM, NULL, &p, 0, &o),
                       "no parameters");
    lab_optimizer_options_init(&opt);
    opt.beta2 = 1;
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_optimizer_create(*state, LAB_ADAM, &opt, &p, 1, &o),
                       "beta2 is 1, must be at least 0 and below 1");
    lab_optimizer_options_init(&opt);
    opt.lr = -1;
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_optimizer_create(*state, LAB_SGD, &opt, &p, 1, &o),
                       "learning rate is -1");
    lab_assert_ok(lab_mul_scalar(p, 2, &product));
    lab_assert_refused(
        LARDER_ERR_INVALID,
        lab_optimizer_create(*state, LAB_ADAM, NULL, &product, 1, &o),
        "parameter 0 is not a leaf");
    lab_unref(product);
    lab_unref(p);
}

int main(void)
{
#define IN_SESSION(test)                                                       \
    cmocka_unit_test_setup_teardown(test, nn_session_open, nn_session_close)
    const struct CMUnitTest tests[] = {
        IN_SESSION(steps_are_pytorchs),
        IN_SESSION(sgd_takes_no_memory_but_momentum),
        IN_SESSION(sgd_decay_makes_a_temporary),
        IN_SESSION(adam_keeps_two_means_and_one_divisor),
        IN_SESSION(a_parameter_without_gradient_is_left_alone),
        IN_SESSION(zero_grad_zeroes_or_drops),
        IN_SESSION(a_step_leaves_recording_as_it_was),
        IN_SESSION(a_step_that_does_not_fit_can_be_made_later),
        IN_SESSION(without_host_memory_nothing_leaks),
        IN_SESSION(the_learning_rate_can_be_changed),
        IN_SESSION(settings_that_make_no_sense_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
