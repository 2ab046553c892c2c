/* raw_common.h - what operations that are not recorded share. */
#ifndef LAB_OPS_RAW_COMMON_H
#define LAB_OPS_RAW_COMMON_H

#include <larder/lab_raw.h>

#include "kernels/raw_kernels.h"
#include "ops/nn_common.h"

/* Contiguous ones, where a tensor is not: without history, as lab__nn_dense().
 * NULLs stay NULL; a failure leaves none. */
larder_result lab__dense_all(int count, lab_tensor *const *ts,
                             lab_tensor **dense);
void lab__drop_all(int count, lab_tensor **ts);

/* As `like`, of other sizes, all zeros. */
larder_result lab__zeros_of(const lab_tensor *like, int ndim,
                            const int64_t *sizes, lab_tensor **out);

/* ERR_UNSUPPORTED where t's values cannot be read. */
larder_result lab__check_values(const char *op, const lab_tensor *t);

#endif
