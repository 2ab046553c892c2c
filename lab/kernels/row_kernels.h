/* row_kernels.h - rows of a tensor of any dtype, selected by index.
 *
 * As in kernels.h.  All tensors are contiguous; negative indices count from the
 * end; the caller has checked the indices. */
#ifndef LARDER_LAB_KERNELS_ROW_KERNELS_H
#define LARDER_LAB_KERNELS_ROW_KERNELS_H

#include "tensor/tensor.h"

/* out = t's rows by index */
void lab__rows_gather(lab_tensor *out, const lab_tensor *t,
                      const lab_tensor *index);
/* t's rows by index += grad's; float32 */
void lab__rows_add(lab_tensor *t, const lab_tensor *grad,
                   const lab_tensor *index);

#endif
