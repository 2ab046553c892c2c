/* nn_inputs.c - sessions, the same inputs as in make_expected.py, and
 * comparisons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "lab/nn_inputs.h"

int nn_session_open(void **state)
{
    *state = lab_rig_up("sim:64MiB,backing=memory");
    return 0;
}

int nn_session_close(void **state)
{
    return lab_close(*state) == LARDER_OK ? 0 : -1;
}

void nn_memory_same(lab *l, const lab_memory *before)
{
    const lab_memory m = lab_rig_memory(l);

    assert_int_equal(m.tensors, before->tensors);
    assert_int_equal(m.allocated_bytes, before->allocated_bytes);
    assert_int_equal(m.host_bytes, before->host_bytes);
}

lab_tensor *nn_numbers(lab *l, int ndim, const int64_t *sizes, int seed)
{
    lab_tensor *t;
    int64_t count;
    float *values;

    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, &t));
    count = lab_numel(t);
    values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((double)((i * 37 + seed * 11) % 101) / 50 - 1);
    lab_assert_ok(lab_write(t, values, (uint64_t)count * sizeof *values));
    free(values);
    return t;
}

lab_tensor *nn_wanted(lab *l, int ndim, const int64_t *sizes, int seed)
{
    lab_tensor *t = nn_numbers(l, ndim, sizes, seed);

    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

lab_tensor *nn_indices(lab *l, int ndim, const int64_t *sizes,
                       const int64_t *values)
{
    lab_tensor *t;

    lab_assert_ok(lab_empty(l, LAB_INT64, LAB_DEVICE, ndim, sizes, &t));
    lab_assert_ok(
        lab_write(t, values, (uint64_t)lab_numel(t) * sizeof *values));
    return t;
}

void nn_same(const char *what, lab_tensor *t, const float *want, size_t count)
{
    float *got = calloc(count, sizeof *got);

    assert_non_null(got);
    assert_non_null(t);
    assert_int_equal(lab_numel(t), count);
    lab_assert_ok(lab_read(t, got, count * sizeof *got));
    for (size_t i = 0; i < count; i++) {
        float room = 1e-5F * fmaxf(1, fabsf(want[i]));

        if (!(fabsf(got[i] - want[i]) <= room))
            fail_msg("%s: element %zu is %.8g, should be %.8g", what, i,
                     (double)got[i], (double)want[i]);
    }
    free(got);
}
