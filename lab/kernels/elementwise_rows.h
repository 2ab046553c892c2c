/* elementwise_rows.h - element-wise operations on a row of elements, for
 * elementwise.c only.
 *
 * Operand 0 is the result.  The context is a float, the factor of operations
 * that have one, for whole numbers an int64.  NULL: there is no such
 * operation. */
#ifndef LARDER_LAB_KERNELS_ELEMENTWISE_ROWS_H
#define LARDER_LAB_KERNELS_ELEMENTWISE_ROWS_H

#include "kernels/kernels.h"
#include "tensor/odometer.h"

lab__row_fn lab__unary_row(lab__unary_op op);
/* Of operands of these kinds. */
lab__row_fn lab__binary_row(lab__binary_op op, lab_dtype a, lab_dtype b);

#endif
