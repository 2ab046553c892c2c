/* finite_differences.h - gradients checked against differences of values. */
#pragma once

#include <larder/lab.h>

/* Computes *out, of any sizes, from the inputs. */
typedef larder_result (*output_fn)(void *context, lab_tensor **inputs,
                                   lab_tensor **out);

/* For each float32 input that requires a gradient, compare the gradient of
 * sum(weights · out), with weights that differ from element to element, to
 * central differences in every element.  Fails the test, naming input and
 * element, if one is off by more than 1 % of the largest gradient of that input
 * (and 0.002).
 *
 * Inputs are leaves; give them values between about -2 and 2, away from places
 * where fn has a kink.  Their gradients are dropped. fn must return the same
 * each time. */
void check_gradients(lab *l, output_fn fn, void *context, lab_tensor **inputs,
                     int count);

/* A leaf on the device with pseudo-random values low … high, the same for the
 * same seed. */
lab_tensor *leaf_between(lab *l, int ndim, const int64_t *sizes, double low,
                         double high, unsigned seed);
