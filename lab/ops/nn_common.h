/* nn_common.h - what the operations of layers and losses share. */
#ifndef LARDER_LAB_OPS_NN_COMMON_H
#define LARDER_LAB_OPS_NN_COMMON_H

#include "ops/op.h"

/* t itself (another reference) if it is contiguous, otherwise a contiguous copy
 * without history: PyTorch creates and drops the same one. */
larder_result lab__nn_dense(lab_tensor *t, lab_tensor **out);

/* A saved tensor, contiguous: a reference of the caller's. */
larder_result lab__nn_saved_dense(struct lab__node *node, unsigned slot,
                                  lab_tensor **out);

/* ERR_INVALID unless t has `ndim` dimensions. */
larder_result lab__nn_check_ndim(const char *op, const char *what,
                                 const lab_tensor *t, int ndim);
/* ERR_INVALID unless t is int64. */
larder_result lab__nn_check_index(const char *op, const lab_tensor *t);

#endif
