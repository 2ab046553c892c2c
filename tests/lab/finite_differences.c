/* finite_differences.c - gradients checked against differences of values. */
#include "lab/finite_differences.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const double step = 0.01;

static void expect_ok(larder_result r)
{
    if (r != LARDER_OK)
        fail_msg("%s", lab_last_error());
}

/* ---- values ------------------------------------------------------------- */

static double unit(unsigned *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 8) / 16777216.0;
}

static float *values_of(lab_tensor *t)
{
    size_t bytes = (size_t)lab_numel(t) * sizeof(float);
    float *values = malloc(bytes + 1);

    assert_non_null(values);
    expect_ok(lab_read(t, values, bytes));
    return values;
}

lab_tensor *leaf_between(lab *l, int ndim, const int64_t *sizes, double low,
                         double high, unsigned seed)
{
    unsigned state = seed * 2654435761U + 1;
    lab_tensor *t;
    float *values;
    int64_t count;

    expect_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, &t));
    count = lab_numel(t);
    values = malloc((size_t)count * sizeof *values + 1);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(low + (high - low) * unit(&state));
    expect_ok(lab_write(t, values, (uint64_t)count * sizeof *values));
    free(values);
    expect_ok(lab_set_requires_grad(t, true));
    return t;
}

/* ---- the two gradients -------------------------------------------------- */

static double weight(int64_t i)
{
    return 0.5 + (double)(i * 7 % 11) / 11;
}

static lab_tensor *weights_like(lab_tensor *out)
{
    int64_t count = lab_numel(out);
    float *values = malloc((size_t)count * sizeof *values + 1);
    lab_tensor *t;

    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)weight(i);
    expect_ok(lab_empty(lab_session(out), LAB_FLOAT32, lab_place_of(out),
                        lab_ndim(out), lab_sizes(out), &t));
    expect_ok(lab_write(t, values, (uint64_t)count * sizeof *values));
    free(values);
    return t;
}

static double weighted_sum(lab *l, output_fn fn, void *context,
                           lab_tensor **inputs)
{
    bool recorded = lab_set_grad_enabled(l, false);
    double sum = 0;
    lab_tensor *out;
    float *values;

    expect_ok(fn(context, inputs, &out));
    lab_set_grad_enabled(l, recorded);
    values = values_of(out);
    for (int64_t i = 0; i < lab_numel(out); i++)
        sum += weight(i) * (double)values[i];
    free(values);
    lab_unref(out);
    return sum;
}

static void run_backward(output_fn fn, void *context, lab_tensor **inputs)
{
    lab_tensor *out, *weights;

    expect_ok(fn(context, inputs, &out));
    weights = weights_like(out);
    expect_ok(lab_backward(out, weights, false));
    lab_unref(weights);
    lab_unref(out);
}

/* ---- comparing ---------------------------------------------------------- */

struct check {
    lab *l;
    output_fn fn;
    void *context;
    lab_tensor **inputs;
};

static double difference(const struct check *c, lab_tensor *t, float *values,
                         int64_t i)
{
    uint64_t bytes = (uint64_t)lab_numel(t) * sizeof(float);
    float was = values[i];
    double above, below;

    values[i] = was + (float)step;
    expect_ok(lab_write(t, values, bytes));
    above = weighted_sum(c->l, c->fn, c->context, c->inputs);
    values[i] = was - (float)step;
    expect_ok(lab_write(t, values, bytes));
    below = weighted_sum(c->l, c->fn, c->context, c->inputs);
    values[i] = was;
    expect_ok(lab_write(t, values, bytes));
    return (above - below) / (2 * step);
}

static double largest(const float *values, int64_t count)
{
    double most = 0;

    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)values[i]));
    return most;
}

static void check_input(const struct check *c, int input)
{
    lab_tensor *t = c->inputs[input];
    float *values = values_of(t), *grads;
    double room;

    assert_non_null(lab_grad(t));
    grads = values_of(lab_grad(t));
    room = 0.002 + 0.01 * largest(grads, lab_numel(t));
    for (int64_t i = 0; i < lab_numel(t); i++) {
        double want = difference(c, t, values, i);

        if (!(fabs(want - (double)grads[i]) <= room))
            fail_msg("input %d, element %lld: gradient %g, differences %g",
                     input, (long long)i, (double)grads[i], want);
    }
    free(grads);
    free(values);
}

void check_gradients(lab *l, output_fn fn, void *context, lab_tensor **inputs,
                     int count)
{
    const struct check c = {l, fn, context, inputs};

    run_backward(fn, context, inputs);
    for (int i = 0; i < count; i++) {
        if (!lab_requires_grad(inputs[i]))
            continue;
        check_input(&c, i);
        expect_ok(lab_set_grad(inputs[i], NULL));
    }
}
