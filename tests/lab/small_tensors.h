/* small_tensors.h - tensors with values written in the test. */
#pragma once

#include "lab/lab_rig.h"

#define DIMS(...)                                                              \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                 \
        ((const int64_t[]){__VA_ARGS__})
#define NUMBERS(...) ((const float[]){__VA_ARGS__})

/* For cmocka: *state is a session on a small device; the teardown checks that
 * no tensor is left. */
int small_session_open(void **state);
int small_session_close(void **state);
#define ON_SMALL_SESSION(test)                                                 \
    cmocka_unit_test_setup_teardown(test, small_session_open,                  \
                                    small_session_close)

/* float32, on the device. */
lab_tensor *tensor_of(lab *l, int ndim, const int64_t *sizes,
                      const float *values);
lab_tensor *leaf_of(lab *l, int ndim, const int64_t *sizes,
                    const float *values);
/* Zeros that require a gradient. */
lab_tensor *zeros_leaf(lab *l, int64_t count);
lab_tensor *zeros_of(lab *l, int64_t count);

/* t's elements in row-major order, to 2e-6 of 1 or of the value; for any dtype.
 * `what` names it in a failure message. */
void assert_elements(const char *what, lab_tensor *t, const float *values,
                     int64_t count);
void assert_sizes(lab_tensor *t, int ndim, const int64_t *sizes);

lab_tensor *twice(lab_tensor *t);
/* The sum's gradients; the graph is released with the sum. */
void backward_from_sum(lab_tensor *t);
