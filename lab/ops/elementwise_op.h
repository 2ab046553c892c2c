/* elementwise_op.h - operands of elementwise operations made alike, and room
 * for their results. */
#ifndef LAB_OPS_ELEMENTWISE_OP_H
#define LAB_OPS_ELEMENTWISE_OP_H

#include "kernels/kernels.h"
#include "ops/op.h"

/* a and b in one dtype: references, or copies where one had to be converted.
 * Sizes are those of the result. */
struct lab__operands {
    lab_tensor *a, *b;
    lab_place place;
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
};

/* Checks places and sizes.  The dtype is that of both, int64 for two masks, of
 * floats where `floats`.  A number (no dimensions) in host memory
 * goes with tensors anywhere. */
larder_result lab__operands_take(const char *op, lab_tensor *a, lab_tensor *b,
                                 bool floats, struct lab__operands *out);
void lab__operands_drop(struct lab__operands *operands);

/* The dtype that a and b meet in, as in PyTorch: floats before whole numbers
 * before bool, then tensors before numbers (no dimensions), then the wider. */
lab_dtype lab__dtype_of_both(const lab_tensor *a, const lab_tensor *b);

/* t in that dtype: t itself, or a copy without history. */
larder_result lab__in_dtype(lab_tensor *t, lab_dtype dtype, lab_tensor **out);

/* Room for the result of a and b: laid out like them where they are alike and
 * without gaps, contiguous otherwise. */
larder_result lab__operands_room(const struct lab__operands *operands,
                                 lab_dtype dtype, lab_tensor **out);

/* op(a, b) of float32 tensors, b broadcast to a's sizes or the other way
 * round: a new tensor, not recorded. */
larder_result lab__binary_new(lab__binary_op op, lab_tensor *a, lab_tensor *b,
                              double x, lab_tensor **out);
larder_result lab__unary_new(lab__unary_op op, lab_tensor *a, lab_tensor **out);
larder_result lab__scalar_new(lab__binary_op op, lab_tensor *a, double b,
                              lab_tensor **out);
larder_result lab__scalar_first_new(lab__binary_op op, double a, lab_tensor *b,
                                    lab_tensor **out);

#endif
