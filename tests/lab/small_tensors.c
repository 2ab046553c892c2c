/* small_tensors.c - tensors with values written in the test. */
#include "lab/small_tensors.h"

#include <math.h>

int small_session_open(void **state)
{
    lab_options opt;
    lab *l;

    lab_options_init(&opt);
    opt.device = "sim:1GiB,backing=memory";
    opt.threads = 1;
    if (lab_open(&opt, &l) != LARDER_OK)
        return -1;
    *state = l;
    return 0;
}

int small_session_close(void **state)
{
    return lab_close(*state) == LARDER_OK ? 0 : -1;
}

/* ---- making ------------------------------------------------------------- */

lab_tensor *tensor_of(lab *l, int ndim, const int64_t *sizes,
                      const float *values)
{
    lab_tensor *t;

    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, &t));
    lab_assert_ok(
        lab_write(t, values, (uint64_t)lab_numel(t) * sizeof *values));
    return t;
}

lab_tensor *leaf_of(lab *l, int ndim, const int64_t *sizes, const float *values)
{
    lab_tensor *t = tensor_of(l, ndim, sizes, values);

    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

lab_tensor *zeros_of(lab *l, int64_t count)
{
    lab_tensor *t;

    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 1, &count, &t));
    return t;
}

lab_tensor *zeros_leaf(lab *l, int64_t count)
{
    lab_tensor *t = zeros_of(l, count);

    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

/* ---- comparing ---------------------------------------------------------- */

void assert_elements(const char *what, lab_tensor *t, const float *values,
                     int64_t count)
{
    float *got = malloc((size_t)count * sizeof *got + 1);
    lab_tensor *floats;

    assert_non_null(t);
    assert_non_null(got);
    assert_int_equal(count, lab_numel(t));
    lab_assert_ok(lab_to_dtype(t, LAB_FLOAT32, &floats));
    lab_assert_ok(lab_read(floats, got, (uint64_t)count * sizeof *got));
    lab_unref(floats);
    for (int64_t i = 0; i < count; i++) {
        float room = 2e-6f * fmaxf(1, fabsf(values[i]));

        if (!(fabsf(got[i] - values[i]) <= room))
            fail_msg("%s: element %d is %.7g, expected %.7g", what, (int)i,
                     (double)got[i], (double)values[i]);
    }
    free(got);
}

void assert_sizes(lab_tensor *t, int ndim, const int64_t *sizes)
{
    assert_int_equal(ndim, lab_ndim(t));
    for (int i = 0; i < ndim; i++)
        assert_int_equal(sizes[i], lab_sizes(t)[i]);
}

/* ---- computing ---------------------------------------------------------- */

lab_tensor *twice(lab_tensor *t)
{
    lab_tensor *out;

    lab_assert_ok(lab_mul_scalar(t, 2, &out));
    return out;
}

void backward_from_sum(lab_tensor *t)
{
    lab_tensor *sum;

    lab_assert_ok(lab_sum(t, &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    lab_unref(sum);
}
