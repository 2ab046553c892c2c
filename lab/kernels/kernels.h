/* kernels.h - the loops that compute.
 *
 * Kernels create no tensors and know nothing of graphs: they read and write the
 * storages of the tensors they get, on all cores, and do nothing at all if one
 * of them cannot be read (T4).  The caller has checked shapes.  Inputs may have
 * any strides, and are broadcast where documented. `out` may have any strides
 * too, and in element-wise kernels it may be one of the inputs (exactly the
 * same window). */
#pragma once

#include "tensor/parallel.h"
#include "tensor/tensor.h"

/* ---- elementwise (elementwise.c): float32; inputs broadcast to out ---- */

typedef enum lab__unary_op {
    LAB__NEG,
    LAB__EXP,
    LAB__LOG,
    LAB__SQRT,
    LAB__RELU,
    LAB__GELU,
    LAB__TANH,
    LAB__SIGMOID
} lab__unary_op;

/* out = op(a, b); x is a factor or an addend where documented. */
typedef enum lab__binary_op {
    LAB__ADD,          /* a + x·b; also int64 */
    LAB__SUB,          /* a - b; also int64 */
    LAB__MUL,          /* a·b; also int64; a float32, b bool: x·a·b */
    LAB__DIV,          /* a / b */
    LAB__POW,          /* a to the b; also int64, b >= 0 */
    LAB__EQ,           /* out bool; a, b of one dtype */
    LAB__GE,           /* out bool */
    LAB__RELU_BACK,    /* a gradient, b result: b > 0 ? a : 0 */
    LAB__TANH_BACK,    /* a·(1 - b²), b result */
    LAB__SIGMOID_BACK, /* a·b·(1 - b), b result */
    LAB__GELU_BACK,    /* a·gelu'(b), b input */
    LAB__ADDCMUL,      /* out + x·a·b */
    LAB__ADDCDIV       /* out + x·a / b */
} lab__binary_op;

void lab__unary(lab__unary_op op, lab_tensor *out, const lab_tensor *a);
void lab__binary(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 const lab_tensor *b, double x);
/* b is the number `b` for every element: ADD, SUB, MUL, DIV, POW, EQ, GE. */
void lab__scalar(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 double b);
/* The number comes first: SUB, DIV, POW. */
void lab__scalar_first(lab__binary_op op, lab_tensor *out, double a,
                       const lab_tensor *b);

/* ---- reductions (reduce.c) ---- */

/* out = scale · the sum of a over the dimensions whose bit is set in dims; out
 * has those with size 1, or lacks them.  Sums of many floats are computed
 * pairwise or in double: n numbers of similar size stay exact to ~1e-6. float32
 * to float32; int64 and bool (counted) to int64 or float32. */
void lab__sum_dims(lab_tensor *out, const lab_tensor *a, unsigned dims,
                   double scale);

/* ---- products (matmul.c) ---- */

/* out[..., M, N] = a[..., M, K]·b[..., K, N]: equal leading dimensions in all
 * three, any strides (transposed operands are read in place); out is none of
 * the others.  Fails only for lack of host memory, with nothing written. */
larder_result lab__matmul(lab_tensor *out, const lab_tensor *a,
                          const lab_tensor *b);
