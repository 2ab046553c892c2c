/* test_lab_edges.c - edge cases of tensors: extreme sizes, memory written
 * through several views, layouts of results, and the lifetime of two gradients
 * for one tensor. */
#include "lab/device_log.h"
#include "lab/small_tensors.h"

#define HUGE_SIZE (INT64_C(1) << 62)

/* ---- sizes -------------------------------------------------------------- */

static void sizes_that_cannot_be_counted_are_refused(void **state)
{
    lab *l = *state;
    const int64_t empty[] = {0, HUGE_SIZE, HUGE_SIZE};
    lab_tensor *one = zeros_of(l, 1), *wide, *out = NULL, *both[2];

    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 3, empty, &out),
                       "too many");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_expand(one, DIMS(HUGE_SIZE, HUGE_SIZE), &out),
                       "too many");
    lab_assert_result(LARDER_ERR_INVALID,
                      lab_expand(one, INT32_MIN, empty, &out));
    lab_assert_ok(lab_expand(one, DIMS(HUGE_SIZE / 4), &wide));
    assert_true(lab_numel(wide) == HUGE_SIZE / 4);
    for (int i = 0; i < 2; i++)
        both[i] = wide;
    lab_assert_result(LARDER_ERR_INVALID, lab_cat(both, 2, 0, &out));
    lab_assert_refused(LARDER_ERR_INVALID, lab_unbind(wide, 0, &out),
                       "too many");
    lab_assert_result(LARDER_ERR_OUT_OF_MEMORY, lab_clone(wide, &out));
    assert_null(out);
    lab_unref(wide);
    lab_unref(one);
}

static void steps_beyond_the_end_overflow_nothing(void **state)
{
    lab *l = *state;
    const float values[] = {1, 2, 3, 4, 5, 6};
    lab_tensor *a = tensor_of(l, DIMS(2, 3), values), *out;

    lab_assert_ok(lab_slice(a, 0, 1, INT64_MAX, INT64_MAX, &out));
    assert_sizes(out, DIMS(1, 3));
    assert_elements("last row", out, values + 3, 3);
    lab_unref(out);
    lab_unref(a);
}

static void an_empty_tensor_has_as_many_chunks_as_asked(void **state)
{
    lab *l = *state;
    lab_tensor *a, *out[3], *sum;
    int made = 0;

    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, DIMS(4, 0), &a));
    lab_assert_ok(lab_set_requires_grad(a, true));
    lab_assert_ok(lab_chunk(a, 3, 1, out, &made));
    assert_int_equal(made, 3);
    lab_assert_ok(lab_sum(out[1], &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    assert_sizes(lab_grad(a), DIMS(4, 0));
    lab_unref(sum);
    for (int i = 0; i < 3; i++) {
        assert_sizes(out[i], DIMS(4, 0));
        lab_unref(out[i]);
    }
    lab_unref(a);
}

/* ---- numbers ------------------------------------------------------------ */

static void argmax_of_a_number_is_0(void **state)
{
    lab *l = *state;
    lab_tensor *a = tensor_of(l, 0, NULL, NUMBERS(7)), *out;

    lab_assert_ok(lab_argmax(a, -1, &out));
    assert_elements("argmax", out, NUMBERS(0), 1);
    lab_unref(out);
    lab_unref(a);
}

static void powers_of_whole_numbers_are_whole(void **state)
{
    lab *l = *state;
    lab_tensor *a, *out;

    lab_assert_ok(lab_arange(l, LAB_INT64, LAB_DEVICE, -1, 4, 1, &a));
    lab_assert_ok(lab_pow_scalar(a, 3, &out));
    assert_int_equal(lab_dtype_of(out), LAB_INT64);
    assert_elements("cubes", out, NUMBERS(-1, 0, 1, 8, 27), 5);
    lab_unref(out);
    lab_assert_refused(LARDER_ERR_INVALID, lab_pow_scalar(a, -1, &out),
                       "negative integer powers");
    lab_assert_ok(lab_pow_scalar(a, 0.5, &out));
    assert_int_equal(lab_dtype_of(out), LAB_FLOAT32);
    lab_unref(out);
    lab_unref(a);
}

/* ---- one memory, two windows -------------------------------------------- */

static void expanded_memory_is_not_written_to(void **state)
{
    lab *l = *state;
    const float values[] = {1, 2, 3, 4, 5, 6};
    lab_tensor *row = tensor_of(l, DIMS(3), values), *wide;
    lab_tensor *two = tensor_of(l, DIMS(2, 3), values);

    lab_assert_ok(lab_expand(row, DIMS(2, 3), &wide));
    lab_assert_refused(LARDER_ERR_INVALID, lab_add_inplace(wide, two, 1),
                       "single memory location");
    lab_assert_result(LARDER_ERR_INVALID, lab_mul_scalar_inplace(wide, 2));
    lab_assert_result(LARDER_ERR_INVALID, lab_relu_inplace(wide));
    lab_assert_result(LARDER_ERR_INVALID, lab_copy_inplace(wide, two));
    lab_assert_result(LARDER_ERR_INVALID,
                      lab_addcmul_inplace(wide, two, two, 1));
    lab_assert_result(LARDER_ERR_INVALID,
                      lab_write(wide, values, sizeof values));
    assert_elements("row", row, values, 3);
    lab_assert_ok(lab_fill_inplace(wide, 9));
    lab_unref(wide);
    lab_unref(two);
    lab_unref(row);
}

static void windows_that_overlap_are_not_added(void **state)
{
    lab *l = *state;
    const float values[] = {1, 2, 3, 4, 5, 6};
    lab_tensor *a = tensor_of(l, DIMS(3, 2), values), *low, *high, *left;

    lab_assert_ok(lab_slice(a, 0, 0, 2, 1, &low));
    lab_assert_ok(lab_slice(a, 0, 1, 3, 1, &high));
    lab_assert_refused(LARDER_ERR_INVALID, lab_add_inplace(high, low, 1),
                       "single memory location");
    lab_assert_result(LARDER_ERR_INVALID, lab_copy_inplace(low, high));
    assert_elements("a", a, values, 6);
    lab_assert_ok(lab_add_inplace(a, a, 1));
    lab_unref(high);
    lab_unref(low);
    lab_assert_ok(lab_select(a, 1, 0, &left));
    lab_assert_ok(lab_select(a, 1, 1, &high));
    lab_assert_ok(lab_add_inplace(left, high, 1));
    assert_elements("columns", left, NUMBERS(6, 14, 22), 3);
    lab_unref(high);
    lab_unref(left);
    lab_unref(a);
}

/* ---- layouts ------------------------------------------------------------ */

static void assert_strides(lab_tensor *t, int ndim, const int64_t *strides)
{
    assert_int_equal(lab_ndim(t), ndim);
    for (int i = 0; i < ndim; i++)
        assert_int_equal(lab_strides(t)[i], strides[i]);
}

/* A broadcast dimension does not affect the layout of the result. */
static void the_operand_with_an_order_decides_the_layout(void **state)
{
    lab *l = *state;
    lab_tensor *one, *wide, *plain, *turned, *part, *out;

    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, DIMS(2, 1), &one));
    lab_assert_ok(lab_expand(one, DIMS(2, 3), &wide));
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, DIMS(3, 2), &plain));
    lab_assert_ok(lab_transpose(plain, 0, 1, &turned));
    lab_assert_ok(lab_mul(wide, turned, &out));
    assert_strides(out, DIMS(1, 2));
    lab_unref(out);
    lab_assert_ok(lab_slice(turned, 1, 0, 3, 2, &out));
    lab_assert_ok(lab_relu(out, &part));
    assert_strides(part, DIMS(1, 2));
    lab_unref(part);
    lab_unref(out);
    lab_unref(turned);
    lab_unref(plain);
    lab_unref(wide);
    lab_unref(one);
}

/* ---- two gradients for one tensor --------------------------------------- */

/* z = y·y + y: both gradients of the product stay until both are added, as in
 * PyTorch (observed with 1.13). */
static void gradients_that_are_added_stay_until_all_are_passed_on(void **state)
{
    lab *l = *state;
    lab_tensor *x = zeros_leaf(l, 1000), *y, *square, *z, *sum;

    lab_assert_ok(lab_mul_scalar(x, 3, &y));
    lab_assert_ok(lab_mul(y, y, &square));
    lab_assert_ok(lab_add(square, y, &z));
    lab_unref(square);
    lab_assert_ok(lab_sum(z, &sum));
    log_start(l);
    lab_assert_ok(lab_backward(sum, NULL, false));
    log_expect(l, "+4000 +4000 +4000 +4000 -4000 -4000 -4000 +4000 -4000");
    lab_unref(sum);
    lab_unref(z);
    lab_unref(y);
    lab_unref(x);
    log_start(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(sizes_that_cannot_be_counted_are_refused),
        ON_SMALL_SESSION(steps_beyond_the_end_overflow_nothing),
        ON_SMALL_SESSION(an_empty_tensor_has_as_many_chunks_as_asked),
        ON_SMALL_SESSION(argmax_of_a_number_is_0),
        ON_SMALL_SESSION(powers_of_whole_numbers_are_whole),
        ON_SMALL_SESSION(expanded_memory_is_not_written_to),
        ON_SMALL_SESSION(windows_that_overlap_are_not_added),
        ON_SMALL_SESSION(the_operand_with_an_order_decides_the_layout),
        ON_SMALL_SESSION(gradients_that_are_added_stay_until_all_are_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
