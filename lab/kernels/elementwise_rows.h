/* elementwise_rows.h - element-wise operations on a row of elements, for
 * elementwise.c only.
 *
 * Operand 0 is the result.  The context is a float: the factor of LAB__ADD and
 * of the two below; all others ignore it.  NULL in a table: there is no such
 * operation. */
#ifndef LARDER_LAB_KERNELS_ELEMENTWISE_ROWS_H
#define LARDER_LAB_KERNELS_ELEMENTWISE_ROWS_H

#include "kernels/kernels.h"
#include "tensor/odometer.h"

#define LAB__UNARY_OPS (LAB__SIGMOID + 1)
#define LAB__BINARY_OPS (LAB__GELU_BACK + 1)

extern const lab__row_fn lab__unary_rows[LAB__UNARY_OPS];
extern const lab__row_fn lab__float_rows[LAB__BINARY_OPS];
extern const lab__row_fn lab__int_rows[LAB__BINARY_OPS]; /* context: int64 */
lab__row_fn lab__eq_row(lab_dtype dtype);

void lab__mask_row(const void *context, int64_t n, char *const *at,
                   const int64_t *step); /* float × bool */
void lab__addcmul_row(const void *context, int64_t n, char *const *at,
                      const int64_t *step);
void lab__addcdiv_row(const void *context, int64_t n, char *const *at,
                      const int64_t *step);

#endif
