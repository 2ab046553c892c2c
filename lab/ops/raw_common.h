/* raw_common.h - functions shared by operations that are not recorded. */
#ifndef LARDER_LAB_OPS_RAW_COMMON_H
#define LARDER_LAB_OPS_RAW_COMMON_H

#include <larder/lab_raw.h>

#include "kernels/raw_kernels.h"
#include "ops/nn_common.h"

/* Contiguous versions of the tensors, without history, as by lab__nn_dense().
 * NULLs stay NULL; on failure all are dropped. */
larder_result lab__dense_all(int count, lab_tensor *const *ts,
                             lab_tensor **dense);
void lab__drop_all(int count, lab_tensor **ts);

/* Zeros like `like`, with other sizes. */
larder_result lab__zeros_of(const lab_tensor *like, int ndim,
                            const int64_t *sizes, lab_tensor **out);

/* ERR_UNSUPPORTED if t's values cannot be read. */
larder_result lab__check_values(const char *op, const lab_tensor *t);

#endif
