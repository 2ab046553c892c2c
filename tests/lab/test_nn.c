/* test_nn.c - layers and losses give PyTorch's numbers, forward and backward,
 * also while each request for host memory fails in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/finite_differences.h"
#include "lab/nn_expected.h"
#include "lab/nn_inputs.h"
#include "support/count.h"
#include "tensor/host_memory.h"

/* ---- PyTorch's numbers ---------------------------------------------------- */

enum { INPUTS = 3, INDEX = INPUTS };

struct expected {
    const float *values;
    size_t count;
};

#define EXPECTED(array)                                                        \
    {                                                                          \
        array, COUNT(array)                                                    \
    }

struct numbers_case {
    const char *name;
    struct {
        int ndim;
        int64_t sizes[4];
    } input[INPUTS];
    larder_result (*run)(lab_tensor *const *in, lab_tensor **out);
    struct expected out, grad[INPUTS];
    /* int64, as the last input; none if ndim is 0. */
    struct {
        int ndim;
        int64_t sizes[2], values[6];
    } index;
};

static larder_result run_softmax(lab_tensor *const *in, lab_tensor **out)
{
    return lab_softmax(in[0], -1, out);
}

static larder_result run_softmax_middle(lab_tensor *const *in, lab_tensor **out)
{
    return lab_softmax(in[0], 1, out);
}

static larder_result run_softmax_turned(lab_tensor *const *in, lab_tensor **out)
{
    lab_tensor *turned;
    larder_result r = lab_transpose(in[0], 0, 1, &turned);

    if (r != LARDER_OK)
        return r;
    r = lab_softmax(turned, 1, out);
    lab_unref(turned);
    return r;
}

static larder_result run_log_softmax(lab_tensor *const *in, lab_tensor **out)
{
    return lab_log_softmax(in[0], 0, out);
}

static larder_result run_layer_norm(lab_tensor *const *in, lab_tensor **out)
{
    return lab_layer_norm(in[0], in[1], in[2], 1e-5, out);
}

static larder_result run_layer_norm_plain(lab_tensor *const *in,
                                          lab_tensor **out)
{
    return lab_layer_norm(in[0], NULL, NULL, 1e-3, out);
}

static larder_result run_embedding(lab_tensor *const *in, lab_tensor **out)
{
    return lab_embedding(in[0], in[INDEX], out);
}

static larder_result run_conv2d(lab_tensor *const *in, lab_tensor **out)
{
    return lab_conv2d(in[0], in[1], in[2], 1, 1, out);
}

static larder_result run_conv2d_stride(lab_tensor *const *in, lab_tensor **out)
{
    return lab_conv2d(in[0], in[1], NULL, 2, 1, out);
}

static larder_result run_max_pool2d(lab_tensor *const *in, lab_tensor **out)
{
    return lab_max_pool2d(in[0], 2, 2, out);
}

static larder_result run_max_pool2d_over(lab_tensor *const *in,
                                         lab_tensor **out)
{
    return lab_max_pool2d(in[0], 3, 1, out);
}

static larder_result run_cross_entropy(lab_tensor *const *in, lab_tensor **out)
{
    return lab_cross_entropy(in[0], in[INDEX], out);
}

static larder_result run_mse_loss(lab_tensor *const *in, lab_tensor **out)
{
    return lab_mse_loss(in[0], in[1], out);
}

static const struct numbers_case numbers_cases[] = {
    {
        .name = "softmax",
        .input = {{2, {3, 19}}},
        .run = run_softmax,
        .out = EXPECTED(nn_softmax_out),
        .grad = {EXPECTED(nn_softmax_grad0)},
    },
    {
        .name = "softmax, middle",
        .input = {{3, {2, 4, 3}}},
        .run = run_softmax_middle,
        .out = EXPECTED(nn_softmax_middle_out),
        .grad = {EXPECTED(nn_softmax_middle_grad0)},
    },
    {
        .name = "softmax, transposed",
        .input = {{2, {4, 3}}},
        .run = run_softmax_turned,
        .out = EXPECTED(nn_softmax_turned_out),
        .grad = {EXPECTED(nn_softmax_turned_grad0)},
    },
    {
        .name = "log_softmax",
        .input = {{2, {4, 3}}},
        .run = run_log_softmax,
        .out = EXPECTED(nn_log_softmax_out),
        .grad = {EXPECTED(nn_log_softmax_grad0)},
    },
    {
        .name = "log_softmax, wide",
        .input = {{2, {2, 66}}},
        .run = run_log_softmax,
        .out = EXPECTED(nn_log_softmax_wide_out),
        .grad = {EXPECTED(nn_log_softmax_wide_grad0)},
    },
    {
        .name = "layer_norm",
        .input = {{3, {2, 2, 11}}, {1, {11}}, {1, {11}}},
        .run = run_layer_norm,
        .out = EXPECTED(nn_layer_norm_out),
        .grad = {EXPECTED(nn_layer_norm_grad0), EXPECTED(nn_layer_norm_grad1),
                 EXPECTED(nn_layer_norm_grad2)},
    },
    {
        .name = "layer_norm, plain",
        .input = {{2, {3, 21}}},
        .run = run_layer_norm_plain,
        .out = EXPECTED(nn_layer_norm_plain_out),
        .grad = {EXPECTED(nn_layer_norm_plain_grad0)},
    },
    {
        .name = "embedding",
        .input = {{2, {7, 3}}},
        .run = run_embedding,
        .out = EXPECTED(nn_embedding_out),
        .grad = {EXPECTED(nn_embedding_grad0)},
        .index = {2, {2, 3}, {1, 6, 1, 0, 3, 6}},
    },
    {
        .name = "conv2d",
        .input = {{4, {2, 3, 5, 6}}, {4, {4, 3, 3, 2}}, {1, {4}}},
        .run = run_conv2d,
        .out = EXPECTED(nn_conv2d_out),
        .grad = {EXPECTED(nn_conv2d_grad0), EXPECTED(nn_conv2d_grad1),
                 EXPECTED(nn_conv2d_grad2)},
    },
    {
        .name = "conv2d, stride",
        .input = {{4, {1, 2, 7, 5}}, {4, {3, 2, 3, 3}}},
        .run = run_conv2d_stride,
        .out = EXPECTED(nn_conv2d_stride_out),
        .grad = {EXPECTED(nn_conv2d_stride_grad0),
                 EXPECTED(nn_conv2d_stride_grad1)},
    },
    {
        .name = "max_pool2d",
        .input = {{4, {2, 2, 5, 6}}},
        .run = run_max_pool2d,
        .out = EXPECTED(nn_max_pool2d_out),
        .grad = {EXPECTED(nn_max_pool2d_grad0)},
    },
    {
        .name = "max_pool2d, overlapping",
        .input = {{4, {1, 2, 5, 4}}},
        .run = run_max_pool2d_over,
        .out = EXPECTED(nn_max_pool2d_over_out),
        .grad = {EXPECTED(nn_max_pool2d_over_grad0)},
    },
    {
        .name = "cross_entropy",
        .input = {{2, {5, 4}}},
        .run = run_cross_entropy,
        .out = EXPECTED(nn_cross_entropy_out),
        .grad = {EXPECTED(nn_cross_entropy_grad0)},
        .index = {1, {5}, {0, 3, 1, -100, 2}},
    },
    {
        .name = "mse_loss",
        .input = {{2, {3, 4}}, {2, {3, 4}}},
        .run = run_mse_loss,
        .out = EXPECTED(nn_mse_loss_out),
        .grad = {EXPECTED(nn_mse_loss_grad0), EXPECTED(nn_mse_loss_grad1)},
    },
    {
        .name = "mse_loss, broadcast",
        .input = {{2, {3, 4}}, {1, {4}}},
        .run = run_mse_loss,
        .out = EXPECTED(nn_mse_loss_spread_out),
        .grad = {EXPECTED(nn_mse_loss_spread_grad0),
                 EXPECTED(nn_mse_loss_spread_grad1)},
    },
};

static void inputs_make(lab *l, const struct numbers_case *c, lab_tensor **in)
{
    for (int i = 0; i <= INPUTS; i++)
        in[i] = NULL;
    for (int i = 0; i < INPUTS && c->grad[i].values != NULL; i++)
        in[i] = nn_wanted(l, c->input[i].ndim, c->input[i].sizes, i + 1);
    if (c->index.ndim > 0)
        in[INDEX] =
            nn_indices(l, c->index.ndim, c->index.sizes, c->index.values);
}

static void inputs_free(lab_tensor **in)
{
    for (int i = 0; i <= INPUTS; i++)
        lab_unref(in[i]);
}

static void numbers_check(lab *l, const struct numbers_case *c)
{
    lab_tensor *in[INPUTS + 1], *out, *grad;
    char what[64];

    inputs_make(l, c, in);
    lab_assert_ok(c->run(in, &out));
    nn_same(c->name, out, c->out.values, c->out.count);
    grad = nn_numbers(l, lab_ndim(out), lab_sizes(out), 9);
    lab_assert_ok(lab_backward(out, grad, false));
    for (int i = 0; i < INPUTS && in[i] != NULL; i++) {
        snprintf(what, sizeof what, "%s, gradient %d", c->name, i);
        nn_same(what, lab_grad(in[i]), c->grad[i].values, c->grad[i].count);
    }
    lab_unref(grad);
    lab_unref(out);
    inputs_free(in);
}

static void values_and_gradients_are_pytorchs(void **state)
{
    for (size_t i = 0; i < COUNT(numbers_cases); i++)
        numbers_check(*state, &numbers_cases[i]);
}

/* ---- finite differences --------------------------------------------------- */

struct checked {
    const struct numbers_case *numbers;
    lab_tensor *index;
};

static larder_result run_checked(void *context, lab_tensor **inputs,
                                 lab_tensor **out)
{
    const struct checked *c = context;
    lab_tensor *in[INPUTS + 1] = {NULL};

    for (int i = 0; i < INPUTS && c->numbers->grad[i].values != NULL; i++)
        in[i] = inputs[i];
    in[INDEX] = c->index;
    return c->numbers->run(in, out);
}

static void gradients_are_those_of_finite_differences(void **state)
{
    for (size_t i = 0; i < COUNT(numbers_cases); i++) {
        struct checked c = {.numbers = &numbers_cases[i]};
        lab_tensor *in[INPUTS + 1];
        int count = 0;

        inputs_make(*state, c.numbers, in);
        c.index = in[INDEX];
        while (count < INPUTS && in[count] != NULL)
            count++;
        check_gradients(*state, run_checked, &c, in, count);
        inputs_free(in);
    }
}

/* ---- requests that fail --------------------------------------------------- */

enum { REQUESTS_MAX = 1000 };

/* Each request for host memory fails in turn, until there are no more. */
static void forward_failing(lab *l, const struct numbers_case *c)
{
    lab_tensor *in[INPUTS + 1], *out;
    lab_memory before;
    larder_result r;

    inputs_make(l, c, in);
    before = lab_rig_memory(l);
    for (long passes = 0;; passes++) {
        assert_in_range(passes, 0, REQUESTS_MAX);
        lab__host_fail_after(passes);
        r = c->run(in, &out);
        lab__host_fail_after(-1);
        if (r == LARDER_OK)
            break;
        assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
        nn_memory_same(l, &before);
    }
    nn_same(c->name, out, c->out.values, c->out.count);
    lab_unref(out);
    inputs_free(in);
}

static void backward_failing(lab *l, const struct numbers_case *c)
{
    lab_tensor *in[INPUTS + 1], *out, *grad;
    lab_memory before;
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;

    before = lab_rig_memory(l);
    for (long passes = 0; r != LARDER_OK; passes++) {
        assert_in_range(passes, 0, REQUESTS_MAX);
        inputs_make(l, c, in);
        lab_assert_ok(c->run(in, &out));
        grad = nn_numbers(l, lab_ndim(out), lab_sizes(out), 9);
        lab__host_fail_after(passes);
        r = lab_backward(out, grad, false);
        lab__host_fail_after(-1);
        if (r != LARDER_OK)
            assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
        lab_unref(grad);
        lab_unref(out);
        inputs_free(in);
        nn_memory_same(l, &before);
    }
}

static void without_host_memory_nothing_changes(void **state)
{
    for (size_t i = 0; i < COUNT(numbers_cases); i++) {
        forward_failing(*state, &numbers_cases[i]);
        backward_failing(*state, &numbers_cases[i]);
    }
}

/* ---- dropout -------------------------------------------------------------- */

enum { MANY = 200000 };

static void dropout_keeps_its_share_and_scales_it(void **state)
{
    static float values[MANY], grads[MANY];
    const int64_t size = MANY;
    lab_tensor *x, *y, *ones;
    int kept = 0;

    lab_assert_ok(lab_ones(*state, LAB_FLOAT32, LAB_DEVICE, 1, &size, &x));
    lab_assert_ok(lab_ones(*state, LAB_FLOAT32, LAB_DEVICE, 1, &size, &ones));
    lab_assert_ok(lab_set_requires_grad(x, true));
    lab_assert_ok(lab_dropout(x, 0.2, true, &y));
    lab_assert_ok(lab_backward(y, ones, false));
    lab_assert_ok(lab_read(y, values, sizeof values));
    lab_assert_ok(lab_read(lab_grad(x), grads, sizeof grads));
    for (int i = 0; i < MANY; i++) {
        assert_true(values[i] == 0 || values[i] == 1.25F);
        assert_true(values[i] == grads[i]);
        kept += values[i] != 0;
    }
    assert_in_range(kept, 0.795 * MANY, 0.805 * MANY);
    lab_unref(ones);
    lab_unref(y);
    lab_unref(x);
}

static void dropout_without_effect_is_the_same_tensor(void **state)
{
    lab_tensor *x = nn_numbers(*state, 1, SIZES(5), 1), *y;

    lab_assert_ok(lab_dropout(x, 0.5, false, &y));
    assert_ptr_equal(x, y);
    lab_unref(y);
    lab_assert_ok(lab_dropout(x, 0, true, &y));
    assert_ptr_equal(x, y);
    lab_unref(y);
    lab_unref(x);
}

static void dropout_of_everything_is_zero(void **state)
{
    static const float zeros[5];
    lab_tensor *x = nn_numbers(*state, 1, SIZES(5), 1), *y;

    lab_assert_ok(lab_dropout(x, 1, true, &y));
    nn_same("p = 1", y, zeros, COUNT(zeros));
    lab_unref(y);
    lab_unref(x);
}

/* ---- odd values ----------------------------------------------------------- */

/* The maximum is not the last element, and there are more elements than lanes
 * of a vector. */
static void softmax_of_large_numbers_does_not_overflow(void **state)
{
    float large[19], want[19];
    lab_tensor *x = nn_numbers(*state, 1, SIZES(19), 1), *y;

    for (int i = 0; i < 19; i++) {
        large[i] = i == 3 || i == 9 ? 1000 : -1000;
        want[i] = i == 3 || i == 9 ? 0.5F : 0;
    }
    lab_assert_ok(lab_write(x, large, sizeof large));
    lab_assert_ok(lab_softmax(x, 0, &y));
    nn_same("softmax", y, want, COUNT(want));
    lab_unref(y);
    lab_unref(x);
}

/* With weights of 1, no bias and gradients of 1 the weights' gradient is the
 * sum of the rows of the result. */
static void layer_norm_of_long_rows_sums_each_column(void **state)
{
    enum { ROWS = 3, WIDTH = 130 };
    const int64_t width = WIDTH;
    float result[ROWS][WIDTH], sums[WIDTH], rows[WIDTH];
    lab_tensor *x = nn_numbers(*state, 2, SIZES(ROWS, WIDTH), 1);
    lab_tensor *w, *b, *y, *ones;

    lab_assert_ok(lab_ones(*state, LAB_FLOAT32, LAB_DEVICE, 1, &width, &w));
    lab_assert_ok(lab_zeros(*state, LAB_FLOAT32, LAB_DEVICE, 1, &width, &b));
    lab_assert_ok(lab_set_requires_grad(w, true));
    lab_assert_ok(lab_set_requires_grad(b, true));
    lab_assert_ok(lab_layer_norm(x, w, b, 1e-5, &y));
    lab_assert_ok(lab_ones(*state, LAB_FLOAT32, LAB_DEVICE, 2,
                           SIZES(ROWS, WIDTH), &ones));
    lab_assert_ok(lab_backward(y, ones, false));
    lab_assert_ok(lab_read(y, result, sizeof result));
    for (int i = 0; i < WIDTH; i++) {
        sums[i] = result[0][i] + result[1][i] + result[2][i];
        rows[i] = ROWS;
    }
    nn_same("gradient of weights", lab_grad(w), sums, WIDTH);
    nn_same("gradient of bias", lab_grad(b), rows, WIDTH);
    lab_unref(ones);
    lab_unref(y);
    lab_unref(b);
    lab_unref(w);
    lab_unref(x);
}

static void nan_goes_through_softmax_and_pooling(void **state)
{
    const float odd[] = {1, NAN, 3, 4};
    lab_tensor *x = nn_numbers(*state, 4, SIZES(1, 1, 2, 2), 1), *y;
    double value;

    lab_assert_ok(lab_write(x, odd, sizeof odd));
    lab_assert_ok(lab_max_pool2d(x, 2, 2, &y));
    lab_assert_ok(lab_item(y, &value));
    assert_true(isnan(value));
    lab_unref(y);
    lab_assert_ok(lab_softmax(x, 3, &y));
    lab_unref(x);
    lab_assert_ok(lab_select(y, 2, 0, &x));
    lab_unref(y);
    lab_assert_ok(lab_sum(x, &y));
    lab_assert_ok(lab_item(y, &value));
    assert_true(isnan(value));
    lab_unref(y);
    lab_unref(x);
}

static void tensors_without_elements_are_served(void **state)
{
    lab_tensor *x = nn_wanted(*state, 2, SIZES(0, 4), 1), *y, *loss;
    double value;

    lab_assert_ok(lab_softmax(x, 1, &y));
    assert_int_equal(lab_numel(y), 0);
    lab_assert_ok(lab_mse_loss(y, x, &loss));
    lab_assert_ok(lab_item(loss, &value));
    assert_true(isnan(value));
    lab_assert_ok(lab_backward(loss, NULL, false));
    assert_int_equal(lab_numel(lab_grad(x)), 0);
    lab_unref(loss);
    lab_unref(y);
    lab_unref(x);
}

int main(void)
{
#define IN_SESSION(test)                                                       \
    cmocka_unit_test_setup_teardown(test, nn_session_open, nn_session_close)
    const struct CMUnitTest tests[] = {
        IN_SESSION(values_and_gradients_are_pytorchs),
        IN_SESSION(gradients_are_those_of_finite_differences),
        IN_SESSION(without_host_memory_nothing_changes),
        IN_SESSION(dropout_keeps_its_share_and_scales_it),
        IN_SESSION(dropout_without_effect_is_the_same_tensor),
        IN_SESSION(dropout_of_everything_is_zero),
        IN_SESSION(softmax_of_large_numbers_does_not_overflow),
        IN_SESSION(layer_norm_of_long_rows_sums_each_column),
        IN_SESSION(nan_goes_through_softmax_and_pooling),
        IN_SESSION(tensors_without_elements_are_served),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
