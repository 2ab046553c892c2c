/* odometer.h - loops over tensors of any strides, in rows.
 *
 * Up to LAB__MAX_OPERANDS tensors are walked together in the order of the
 * first one's memory; the others are broadcast to its sizes.  Dimensions that
 * lie one after the other in all of them become one, so that what is
 * contiguous is a single row. */
#ifndef LAB_TENSOR_ODOMETER_H
#define LAB_TENSOR_ODOMETER_H

#include "tensor/parallel.h"

#define LAB__MAX_OPERANDS 4

/* n elements of each operand: at[i] the first's address, step[i] the elements
 * between two.  Context is the caller's. */
typedef void (*lab__row_fn)(const void *context, int64_t n, char *const *at,
                            const int64_t *step);

struct lab__odometer {
    int operands;
    int ndim; /* 1 or more; the last one is the row */
    int64_t sizes[LAB_MAX_DIMS];
    int64_t strides[LAB__MAX_OPERANDS][LAB_MAX_DIMS]; /* in elements */
    int64_t bytes[LAB__MAX_OPERANDS];                 /* of an element */
    char *base[LAB__MAX_OPERANDS];
    int64_t count; /* elements in all */
};

/* False when there is nothing to do: no elements, or one of the tensors cannot
 * be read. */
bool lab__odometer_init(struct lab__odometer *o, int operands,
                        const lab_tensor *const *tensors);

/* Calls fn for every row, or part of one, on the session's threads.
 * `grain`: elements worth a thread. */
void lab__odometer_run(lab *l, const struct lab__odometer *o, int64_t grain,
                       lab__row_fn fn, const void *context);

#endif
