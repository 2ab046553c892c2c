/* matrix_op.h - matrix products, the basis of matmul and linear. */
#ifndef LARDER_LAB_OPS_MATRIX_OP_H
#define LARDER_LAB_OPS_MATRIX_OP_H

#include "ops/op.h"

/* [M, K]·[K, N], or with one leading dimension of the same size in both;
 * recorded. */
larder_result lab__mm(lab_tensor *a, lab_tensor *b, lab_tensor **out);
/* The first plus a bias of N (or broadcastable). */
larder_result lab__addmm(lab_tensor *bias, lab_tensor *a, lab_tensor *b,
                         lab_tensor **out);
/* Transpose the last two dimensions; a vector is unchanged. */
larder_result lab__last_transposed(lab_tensor *t, lab_tensor **out);

#endif
