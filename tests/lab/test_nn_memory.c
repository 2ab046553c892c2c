/* test_nn_memory.c - layers and losses: the memory they use, and the arguments
 * they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab/device_log.h"
#include "lab/nn_inputs.h"

/* ---- memory --------------------------------------------------------------- */

static void layer_norm_takes_what_pytorch_takes(void **state)
{
    lab_tensor *x = nn_wanted(*state, 2, SIZES(100, 10), 1);
    lab_tensor *w = nn_wanted(*state, 1, SIZES(10), 1);
    lab_tensor *b = nn_wanted(*state, 1, SIZES(10), 1), *y, *grad;

    log_start_all(*state);
    lab_assert_ok(lab_layer_norm(x, w, b, 1e-5, &y));
    log_expect(*state, "+4000 +400 +400");
    grad = nn_numbers(*state, 2, SIZES(100, 10), 2);
    log_start_all(*state);
    lab_assert_ok(lab_backward(y, grad, false));
    log_expect(*state, "+4000 +40 +40 -400 -400");
    log_end(*state);
    lab_unref(grad);
    lab_unref(y);
    lab_unref(b);
    lab_unref(w);
    lab_unref(x);
}

static void gradients_that_nobody_needs_are_not_computed(void **state)
{
    lab_tensor *x = nn_numbers(*state, 4, SIZES(1, 2, 6, 6), 1);
    lab_tensor *w = nn_wanted(*state, 4, SIZES(3, 2, 3, 3), 1);
    lab_tensor *b = nn_wanted(*state, 1, SIZES(3), 1), *y, *grad;

    log_start_all(*state);
    lab_assert_ok(lab_conv2d(x, w, b, 1, 0, &y));
    log_expect(*state, "+192");
    grad = nn_numbers(*state, 4, lab_sizes(y), 2);
    log_start_all(*state);
    lab_assert_ok(lab_backward(y, grad, false));
    log_expect(*state, "+216 +12");
    log_end(*state);
    lab_unref(grad);
    lab_unref(y);
    lab_unref(b);
    lab_unref(w);
    lab_unref(x);
}

static void dropout_takes_a_mask_of_a_byte_an_element(void **state)
{
    lab_tensor *x = nn_wanted(*state, 1, SIZES(1000), 1), *y;

    log_start_all(*state);
    lab_assert_ok(lab_dropout(x, 0.5, true, &y));
    log_expect(*state, "+1000 +4000");
    lab_unref(y);
    log_expect(*state, "-1000 -4000");
    log_end(*state);
    lab_unref(x);
}

static void max_pool2d_saves_indices_of_eight_bytes(void **state)
{
    lab_tensor *x = nn_wanted(*state, 4, SIZES(1, 1, 20, 20), 1), *y;

    log_start_all(*state);
    lab_assert_ok(lab_max_pool2d(x, 2, 2, &y));
    log_expect(*state, "+400 +800");
    log_end(*state);
    lab_unref(y);
    lab_unref(x);
}

/* PyTorch shrinks a tensor of all the squares to one element, which keeps the
 * memory. */
static void mse_loss_stays_as_large_as_its_input(void **state)
{
    lab_tensor *x = nn_wanted(*state, 1, SIZES(1000), 1);
    lab_tensor *t = nn_numbers(*state, 1, SIZES(1000), 2), *loss;

    log_start_all(*state);
    lab_assert_ok(lab_mse_loss(x, t, &loss));
    log_expect(*state, "+4000 +4000 -4000");
    assert_int_equal(lab_storage_bytes(loss), 4000);
    lab_assert_ok(lab_backward(loss, NULL, false));
    log_expect(*state, "+4 +4000 -4");
    lab_unref(loss);
    log_expect(*state, "-4000");
    log_end(*state);
    lab_unref(t);
    lab_unref(x);
}

/* ---- what is refused ------------------------------------------------------ */

static void a_class_out_of_range_is_named(void **state)
{
    lab_tensor *x = nn_wanted(*state, 2, SIZES(2, 4), 1), *y;
    lab_tensor *t = nn_indices(*state, 1, SIZES(2), SIZES(1, 4));

    lab_assert_refused(LARDER_ERR_INVALID, lab_cross_entropy(x, t, &y),
                       "cross_entropy: class 4 is not in [0, 4)");
    lab_unref(t);
    t = nn_indices(*state, 1, SIZES(3), SIZES(1, 2, 3));
    lab_assert_refused(LARDER_ERR_INVALID, lab_cross_entropy(x, t, &y),
                       "2 rows of logits, 3 classes");
    lab_unref(t);
    lab_unref(x);
}

static void an_index_out_of_range_is_named(void **state)
{
    lab_tensor *w = nn_wanted(*state, 2, SIZES(5, 2), 1), *y;
    lab_tensor *i = nn_indices(*state, 1, SIZES(2), SIZES(4, -1));

    lab_assert_refused(LARDER_ERR_INVALID, lab_embedding(w, i, &y),
                       "embedding: index -1 is not in [0, 5)");
    lab_assert_refused(LARDER_ERR_INVALID, lab_embedding(w, w, &y),
                       "must be int64");
    lab_unref(i);
    lab_unref(w);
}

static void shapes_that_do_not_fit_are_named(void **state)
{
    lab_tensor *x = nn_numbers(*state, 4, SIZES(1, 2, 3, 3), 1), *y;
    lab_tensor *w = nn_numbers(*state, 4, SIZES(2, 3, 2, 2), 1);
    lab_tensor *v = nn_numbers(*state, 1, SIZES(2), 1);
    lab_tensor *big = nn_numbers(*state, 4, SIZES(1, 2, 5, 5), 1);

    lab_assert_refused(LARDER_ERR_INVALID, lab_conv2d(x, w, NULL, 1, 0, &y),
                       "conv2d: the weight is for 3 channels, the input has 2");
    lab_assert_refused(LARDER_ERR_INVALID, lab_conv2d(x, big, NULL, 1, 0, &y),
                       "conv2d: a kernel of 5 does not fit 3 with padding 0");
    lab_assert_refused(LARDER_ERR_INVALID, lab_conv2d(x, x, NULL, 0, 0, &y),
                       "conv2d: stride 0");
    lab_assert_refused(LARDER_ERR_INVALID, lab_conv2d(v, w, NULL, 1, 0, &y),
                       "the input must have 4 dimensions");
    lab_assert_refused(LARDER_ERR_INVALID, lab_max_pool2d(x, 4, 1, &y),
                       "a kernel of 4 does not fit 3");
    lab_assert_refused(LARDER_ERR_INVALID, lab_layer_norm(x, v, v, 1e-5, &y),
                       "the weight must have sizes [3], has [2]");
    lab_assert_refused(LARDER_ERR_INVALID, lab_layer_norm(x, v, NULL, 1e-5, &y),
                       "or neither");
    lab_assert_refused(LARDER_ERR_INVALID, lab_dropout(x, 1.5, true, &y),
                       "1.5 is not in [0, 1]");
    lab_assert_refused(LARDER_ERR_INVALID, lab_softmax(x, 4, &y), "softmax");
    lab_unref(big);
    lab_unref(v);
    lab_unref(w);
    lab_unref(x);
}

/* ---- out of memory -------------------------------------------------------- */

static void a_layer_that_does_not_fit_leaves_nothing(void **state)
{
    enum { ROWS = 2 << 20 };
    lab *l = *state;
    lab_tensor *x, *y;
    lab_memory before;

    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 2, SIZES(ROWS, 4), &x));
    lab_assert_ok(lab_set_requires_grad(x, true));
    before = lab_rig_memory(l);
    /* 32 of 64 MiB are in use: neither the result fits beside the mask, nor the
     * mean beside the result. */
    assert_int_equal(lab_dropout(x, 0.5, true, &y), LARDER_ERR_OUT_OF_MEMORY);
    assert_int_equal(lab_layer_norm(x, NULL, NULL, 1e-5, &y),
                     LARDER_ERR_OUT_OF_MEMORY);
    assert_int_equal(lab_mse_loss(x, x, &y), LARDER_ERR_OUT_OF_MEMORY);
    nn_memory_same(l, &before);
    lab_unref(x);
}

int main(void)
{
#define IN_SESSION(test)                                                       \
    cmocka_unit_test_setup_teardown(test, nn_session_open, nn_session_close)
    const struct CMUnitTest tests[] = {
        IN_SESSION(layer_norm_takes_what_pytorch_takes),
        IN_SESSION(gradients_that_nobody_needs_are_not_computed),
        IN_SESSION(dropout_takes_a_mask_of_a_byte_an_element),
        IN_SESSION(max_pool2d_saves_indices_of_eight_bytes),
        IN_SESSION(mse_loss_stays_as_large_as_its_input),
        IN_SESSION(a_class_out_of_range_is_named),
        IN_SESSION(an_index_out_of_range_is_named),
        IN_SESSION(shapes_that_do_not_fit_are_named),
        IN_SESSION(a_layer_that_does_not_fit_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
