/* matrix_op.h - products of matrices, which matmul and linear are made of. */
#ifndef LAB_OPS_MATRIX_OP_H
#define LAB_OPS_MATRIX_OP_H

#include "ops/op.h"

/* [M, K]·[K, N], or with one leading dimension of the same size in both;
 * recorded. */
larder_result lab__mm(lab_tensor *a, lab_tensor *b, lab_tensor **out);
/* The first with a bias of N (or what can be broadcast) added. */
larder_result lab__addmm(lab_tensor *bias, lab_tensor *a, lab_tensor *b,
                         lab_tensor **out);
/* The transpose of the last two dimensions; of one dimension: itself. */
larder_result lab__last_transposed(lab_tensor *t, lab_tensor **out);

#endif
