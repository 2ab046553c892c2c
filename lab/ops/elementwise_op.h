/* elementwise_op.h - converts operands of element-wise operations to a common
 * type, and creates results. */
#ifndef LARDER_LAB_OPS_ELEMENTWISE_OP_H
#define LARDER_LAB_OPS_ELEMENTWISE_OP_H

#include "kernels/kernels.h"
#include "ops/op.h"

/* a and b in one dtype: references, or copies if one was converted.  The sizes
 * are those of the result. */
struct lab__operands {
    lab_tensor *a, *b;
    lab_place place;
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
};

/* Before the declaration of operands that are dropped at the end of the block,
 * and have no tensors at first. */
#define LAB__OWNED_OPERANDS __attribute__((cleanup(lab__operands_drop)))
void lab__operands_drop(struct lab__operands *operands);

/* Checks places and sizes.  The dtype is the common one, int64 for two masks, a
 * float if `floats`.  A number (no dimensions) in host memory combines with
 * tensors in any place. */
larder_result lab__operands_take(const char *op, lab_tensor *a, lab_tensor *b,
                                 bool floats, struct lab__operands *out);

/* *where: a tensor in the place of the result.  Numbers (of no dimensions) in host
 * memory combine with tensors in any place. */
larder_result lab__places_meet(const char *op, int count, lab_tensor *const *ts,
                               const lab_tensor **where);

/* The common dtype of a and b, as in PyTorch: floats before whole numbers
 * before bool, then tensors before numbers (no dimensions), then the wider. */
lab_dtype lab__dtype_of_both(const lab_tensor *a, const lab_tensor *b);

/* t in that dtype: t itself, or a copy without history. */
larder_result lab__in_dtype(lab_tensor *t, lab_dtype dtype, lab_tensor **out);

/* Create the result of a and b: with their layout if it is the same and has no
 * gaps, otherwise contiguous. */
larder_result lab__operands_room(const struct lab__operands *operands,
                                 lab_dtype dtype, lab_tensor **out);
/* An operation on two operands, the second perhaps a number. */
struct lab__operation {
    const char *name; /* "add" */
    lab__binary_op op;
    const char *node; /* "AddBackward0" */
    lab__backward_fn backward;
};

/* The result of an operation on t alone. */
larder_result lab__room_like(const lab_tensor *t, lab_tensor **out);

#endif
