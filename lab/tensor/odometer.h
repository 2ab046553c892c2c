/* odometer.h - loops over tensors of any strides, by rows.
 *
 * Up to LAB__MAX_OPERANDS tensors are traversed together in the order of the
 * first one's memory; the others are broadcast to its sizes.  Dimensions that
 * are adjacent in memory in all of them are joined, so contiguous tensors are a
 * single row. */
#pragma once

#include "tensor/parallel.h"

#define LAB__MAX_OPERANDS 4

/* Process n elements of each operand: at[i] is the address of the first,
 * step[i] the distance in elements. `context` is the caller's. */
typedef void (*lab__row_fn)(const void *context, int64_t n, char *const *at,
                            const int64_t *step);

struct lab__odometer {
    int operands;
    int ndim; /* 1 or more; the last one is the row */
    int64_t sizes[LAB_MAX_DIMS];
    int64_t strides[LAB__MAX_OPERANDS][LAB_MAX_DIMS]; /* in elements */
    int64_t bytes[LAB__MAX_OPERANDS];                 /* of an element */
    char *base[LAB__MAX_OPERANDS];
    int64_t count; /* total number of elements */
};

/* False: there is nothing to do, because there are no elements or one of the
 * tensors cannot be read. */
bool lab__odometer_init(struct lab__odometer *o, int operands,
                        const lab_tensor *const *tensors);

/* Call fn for every row, or part of a row, on the session's threads. `grain`:
 * minimum number of elements worth a thread. */
void lab__odometer_run(lab *l, const struct lab__odometer *o, int64_t grain,
                       lab__row_fn fn, const void *context);
