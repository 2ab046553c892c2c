/* nn_inputs.h - sessions, the same inputs as in make_expected.py, and
 * comparisons. */
#pragma once

#include "lab/lab_rig.h"

#define SIZES(...) ((const int64_t[]){__VA_ARGS__})

/* For cmocka: *state is a session on a device of 64 MiB. */
int nn_session_open(void **state);
int nn_session_close(void **state);

/* There are exactly as many tensors as at `before`. */
void nn_memory_same(lab *l, const lab_memory *before);

/* A float32 tensor on the device, by make_expected.py's formula. */
lab_tensor *nn_numbers(lab *l, int ndim, const int64_t *sizes, int seed);
/* The same, requiring a gradient. */
lab_tensor *nn_wanted(lab *l, int ndim, const int64_t *sizes, int seed);

/* An int64 tensor on the device. */
lab_tensor *nn_indices(lab *l, int ndim, const int64_t *sizes,
                       const int64_t *values);

/* t holds these values in row-major order, to 1e-5 of 1 or of the value. */
void nn_same(const char *what, lab_tensor *t, const float *want, size_t count);
