/* test_product_memory.c - the device allocations of matrix products, forward
 * and backward: the logs are PyTorch's for the same statements. */
#include "lab/device_log.h"
#include "lab/small_tensors.h"

static lab_tensor *zeros_leaf_of(lab *l, int ndim, const int64_t *sizes)
{
    lab_tensor *t;

    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, &t));
    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

/* The sum's gradient is one number with stride 0; the matrix product cannot
 * read that, so it is copied for each product. */
static void a_layer_asks_for_what_pytorchs_does(void **state)
{
    lab_tensor *x = zeros_leaf_of(*state, DIMS(20, 30));
    lab_tensor *w = zeros_leaf_of(*state, DIMS(50, 30));
    lab_tensor *b = zeros_leaf_of(*state, DIMS(50)), *xx, *ww, *z;

    xx = twice(x);
    ww = twice(w);
    log_start(*state);
    lab_assert_ok(lab_linear(xx, ww, b, &z));
    lab_unref(ww);
    lab_unref(xx);
    log_expect(*state, "+4000");
    backward_from_sum(z);
    log_expect(*state, "+2400 +4000 -4000 +6000 +4000 -4000 -6000 -2400 "
                       "+6000 -6000 +2400 -2400");
    lab_unref(z);
    lab_unref(b);
    lab_unref(w);
    lab_unref(x);
}

/* Three dimensions are viewed as two. */
static void a_layer_on_a_sequence_asks_for_what_pytorchs_does(void **state)
{
    lab_tensor *x = zeros_leaf_of(*state, DIMS(4, 20, 30)), *xx, *ww, *z;
    lab_tensor *w = zeros_leaf_of(*state, DIMS(50, 30));
    lab_tensor *b = zeros_leaf_of(*state, DIMS(50));

    xx = twice(x);
    ww = twice(w);
    lab_assert_ok(lab_linear(xx, ww, b, &z));
    lab_unref(ww);
    lab_unref(xx);
    log_start(*state);
    backward_from_sum(z);
    log_expect(*state, "+9600 +16000 -16000 +6000 +16000 -16000 -6000 -9600 "
                       "+6000 -6000 +9600 -9600");
    lab_unref(z);
    lab_unref(b);
    lab_unref(w);
    lab_unref(x);
}

/* Three dimensions, transposed: a copy, a product, the bias added in place. */
static void a_layer_on_a_transposed_input_asks_likewise(void **state)
{
    lab_tensor *x = zeros_leaf_of(*state, DIMS(20, 4, 30)), *xx, *xt, *ww, *z;
    lab_tensor *w = zeros_leaf_of(*state, DIMS(50, 30));
    lab_tensor *b = zeros_leaf_of(*state, DIMS(50));

    xx = twice(x);
    ww = twice(w);
    lab_assert_ok(lab_transpose(xx, 0, 1, &xt));
    lab_unref(xx);
    log_start(*state);
    lab_assert_ok(lab_linear(xt, ww, b, &z));
    log_expect(*state, "+9600 +16000");
    lab_unref(xt);
    lab_unref(ww);
    log_expect(*state, "-9600");
    backward_from_sum(z);
    log_expect(*state, "+6000 +16000 -16000 +9600 +16000 -16000 -9600 -6000 "
                       "+6000 -6000 +9600 -9600 +9600 -9600");
    lab_unref(z);
    lab_unref(b);
    lab_unref(w);
    lab_unref(x);
}

/* A matrix times a batch: transposed, and made contiguous again. */
static void a_matrix_times_a_batch_asks_likewise(void **state)
{
    lab_tensor *a = zeros_leaf_of(*state, DIMS(40, 50)), *z, *g;
    lab_tensor *b = zeros_leaf_of(*state, DIMS(4, 50, 60));

    log_start(*state);
    lab_assert_ok(lab_matmul(a, b, &z));
    log_expect(*state, "+48000 +38400 +38400 -38400");
    lab_assert_ok(
        lab_ones(*state, LAB_FLOAT32, LAB_DEVICE, DIMS(4, 40, 60), &g));
    log_start(*state);
    lab_assert_ok(lab_backward(z, g, false));
    log_expect(*state, "+38400 +8000 +48000 -38400 -48000 +48000 -48000");
    lab_unref(g);
    lab_unref(z);
    lab_unref(b);
    lab_unref(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(a_layer_asks_for_what_pytorchs_does),
        ON_SMALL_SESSION(a_layer_on_a_sequence_asks_for_what_pytorchs_does),
        ON_SMALL_SESSION(a_layer_on_a_transposed_input_asks_likewise),
        ON_SMALL_SESSION(a_matrix_times_a_batch_asks_likewise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
