/* nn_common.h - what the operations of layers and losses share. */
#ifndef LARDER_LAB_OPS_NN_COMMON_H
#define LARDER_LAB_OPS_NN_COMMON_H

#include "ops/op.h"

/* t itself (another reference) if it is contiguous, otherwise a contiguous copy
 * without history: PyTorch creates and drops the same one.  NULL stays NULL. */
larder_result lab__nn_dense(lab_tensor *t, lab_tensor **out);

/* The same of several tensors. */
struct lab__dense {
    lab_tensor *t[LAB_MAX_DIMS];
};
/* Before a declaration, which sets all to NULL: they are dropped at the end of
 * the block. */
#define LAB__OWNED_DENSE __attribute__((cleanup(lab__dense_drop)))
void lab__dense_drop(struct lab__dense *dense);
larder_result lab__dense_all(int count, lab_tensor *const *ts,
                             struct lab__dense *out);

/* t's rows by index, both contiguous, with indices in range (indexing.c). */
larder_result lab__rows_of(const lab_tensor *t, const lab_tensor *index,
                           lab_tensor **out);

/* ERR_INVALID unless t has `ndim` dimensions. */
larder_result lab__nn_check_ndim(const char *op, const char *what,
                                 const lab_tensor *t, int ndim);
/* ERR_INVALID unless t is int64. */
larder_result lab__nn_check_index(const char *op, const lab_tensor *t);
/* lab__check_float() and lab__check_place() with `like`, unless t is NULL. */
larder_result lab__nn_check_part(const char *op, const lab_tensor *like,
                                 const lab_tensor *t);

#endif
