/* nn_kernels.h - the loops of layers and losses.
 *
 * As in kernels.h: no tensors are created, nothing is done if one of the
 * tensors cannot be read, and the caller has checked shapes.  Unlike there,
 * every tensor is contiguous: the operations ensure this, as PyTorch's do. */
#ifndef LARDER_LAB_KERNELS_NN_KERNELS_H
#define LARDER_LAB_KERNELS_NN_KERNELS_H

#include "tensor/tensor.h"

/* ---- softmax (softmax_kernels.c) ---- */

/* out = softmax of a along dim, or its logarithm. */
void lab__softmax_forward(lab_tensor *out, const lab_tensor *a, int dim,
                          bool logarithm);
/* out = the gradient, from the result's gradient and the result. */
void lab__softmax_backward(lab_tensor *out, const lab_tensor *grad,
                           const lab_tensor *result, int dim, bool logarithm);

/* ---- normalisation over the last dimension (normalize_kernels.c) ---- */

/* mean and rstd have an element for each row; w and b may be NULL. */
void lab__layer_norm_forward(lab_tensor *out, lab_tensor *mean,
                             lab_tensor *rstd, const lab_tensor *a,
                             const lab_tensor *w, const lab_tensor *b,
                             double eps);
void lab__layer_norm_grad_input(lab_tensor *out, const lab_tensor *grad,
                                const lab_tensor *a, const lab_tensor *mean,
                                const lab_tensor *rstd, const lab_tensor *w);
/* Gradients of weight and bias; either may be NULL. */
void lab__layer_norm_grad_affine(lab_tensor *grad_w, lab_tensor *grad_b,
                                 const lab_tensor *grad, const lab_tensor *a,
                                 const lab_tensor *mean,
                                 const lab_tensor *rstd);

/* ---- rows by index (row_kernels.c) ---- */

/* Whether an element is outside [lowest, rows) and, if allowed is not NULL, not
 * *allowed; *value is the first one.  False if index cannot be read. */
bool lab__index_outside(const lab_tensor *index, int64_t lowest, int64_t rows,
                        const int64_t *allowed, int64_t *value);

/* Negative indices count from the end; the caller has checked them.
 * out = t's rows by index, of any dtype */
void lab__rows_gather(lab_tensor *out, const lab_tensor *t,
                      const lab_tensor *index);
/* t's rows by index += grad's; float32 */
void lab__rows_add(lab_tensor *t, const lab_tensor *grad,
                   const lab_tensor *index);

/* ---- losses (loss_kernels.c) ---- */

/* out: minus the mean of each row's log-probability of its class; total: the
 * number of rows that count.  Rows of class `ignored` do not. */
void lab__nll_forward(lab_tensor *out, lab_tensor *total,
                      const lab_tensor *logp, const lab_tensor *target,
                      int64_t ignored);
/* out, zeros before: -grad / total at each row's class. */
void lab__nll_backward(lab_tensor *out, const lab_tensor *grad,
                       const lab_tensor *target, const lab_tensor *total,
                       int64_t ignored);

#endif
