/* nn_kernels.h - the loops of layers and losses, and those of the operations in
 * lab_raw.h.
 *
 * As in kernels.h: no tensors are created, nothing is done if one of the
 * tensors cannot be read, and the caller has checked shapes.  Unlike there,
 * every tensor is contiguous unless documented otherwise: the operations ensure
 * this, as PyTorch's do. */
#pragma once

#include <larder/lab_raw.h>

#include "tensor/tensor.h"

/* ---- layers and losses ---- */

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

/* ---- operations of lab_raw.h ---- */

/* ---- reductions (raw_reduce.c) ---- */

/* t may have any strides; out has its dimensions, with size 1 for those in
 * dims. */
void lab__reduce(lab_reduction op, lab_tensor *out, const lab_tensor *t,
                 unsigned dims, double p);
/* The largest or smallest elements along dim, the first of equal ones; a NaN comes
 * before all others.  t may have any strides; values may be NULL. */
void lab__extreme(lab_tensor *values, lab_tensor *indices, const lab_tensor *t,
                  int dim, bool largest);
void lab__scan(bool product, lab_tensor *out, const lab_tensor *t, int dim);
/* Fails only for lack of host memory. */
larder_result lab__sort(lab_tensor *values, lab_tensor *indices,
                        const lab_tensor *t, int dim, bool descending);

/* ---- by index (raw_index_kernels.c) ---- */

void lab__gather(lab_tensor *out, const lab_tensor *t, int dim,
                 const lab_tensor *index);
/* t of any strides; src NULL: use the number */
void lab__scatter(lab_tensor *t, int dim, const lab_tensor *index,
                  const lab_tensor *src, double number, bool add);

/* Positions in dimensions dim … dim + count - 1 of a tensor, by index tensors of
 * these sizes, and any strides. */
struct lab__places {
    int dim, count;
    lab_tensor *const *indices;
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
};
/* out = the selected elements of t; t of any strides. */
void lab__places_take(lab_tensor *out, const lab_tensor *t,
                      const struct lab__places *places);
/* The selected elements of t = src, which has as many, or += if `add`; t and src of
 * any strides. */
void lab__places_put(lab_tensor *t, const lab_tensor *src,
                     const struct lab__places *places, bool add);

int64_t lab__nonzero_count(const lab_tensor *t);
void lab__nonzero(lab_tensor *out, const lab_tensor *t);
void lab__bincount(lab_tensor *out, const lab_tensor *t,
                   const lab_tensor *weights);

/* ---- another order (raw_order_kernels.c) ---- */

void lab__triangle(lab_tensor *out, const lab_tensor *t, int64_t diagonal,
                   bool upper);
/* big has sizes that are multiples of small's; the same number of dimensions.
 */
void lab__repeat(lab_tensor *big, const lab_tensor *small);
void lab__repeat_sum(lab_tensor *small, const lab_tensor *big);

/* ---- windows (convolution_kernels.c, pooling_kernels.c,
 *      raw_resize_kernels.c) ---- */

/* x: N×C×H×W, w: O×C/groups×KH×KW, b: O or NULL, out: N×O×OH×OW */
void lab__window_conv(lab_tensor *out, const lab_tensor *x, const lab_tensor *w,
                      const lab_tensor *b, const lab_window *win);
void lab__window_conv_input(lab_tensor *grad_x, const lab_tensor *grad,
                            const lab_tensor *w, const lab_window *win);
void lab__window_conv_weight(lab_tensor *grad_w, const lab_tensor *grad,
                             const lab_tensor *x, const lab_window *win);
/* out += b, which has an element for each channel */
void lab__channels_add(lab_tensor *out, const lab_tensor *b);
/* indices: int64, the position of each maximum in its H×W plane. */
void lab__window_max(lab_tensor *out, lab_tensor *indices, const lab_tensor *x,
                     const lab_window *win);
void lab__window_max_backward(lab_tensor *grad_x, const lab_tensor *grad,
                              const lab_tensor *indices);
/* In backward, input and output exchange roles. */
void lab__window_average(lab_tensor *out, const lab_tensor *x,
                         const lab_window *win);
void lab__window_average_backward(lab_tensor *grad_x, const lab_tensor *grad,
                                  const lab_window *win);
void lab__resize(lab_tensor *out, const lab_tensor *x, bool linear,
                 bool align_corners);
void lab__resize_backward(lab_tensor *grad_x, const lab_tensor *grad,
                          bool linear, bool align_corners);

/* ---- normalisation (raw_normalize_kernels.c) ---- */

/* groups as in lab_raw_normalize(). */
void lab__moments(lab_tensor *mean, lab_tensor *rstd, const lab_tensor *x,
                  int64_t groups, double eps);
void lab__normalize(lab_tensor *out, const lab_tensor *x, int64_t groups,
                    const lab_tensor *mean, const lab_tensor *rstd,
                    const lab_tensor *w, const lab_tensor *b);
struct lab__normalize_grads {
    lab_tensor *x, *w, *b; /* NULL: not needed */
};
void lab__normalize_backward(const struct lab__normalize_grads *to,
                             const lab_tensor *grad, const lab_tensor *x,
                             int64_t groups, const lab_tensor *mean,
                             const lab_tensor *rstd, const lab_tensor *w,
                             bool live);

/* ---- recurrent layers (rnn_kernels.c) ---- */

/* The number of blocks of H rows in its weights. */
int lab__cell_gates(lab_cell cell);

/* As lab_raw_rnn() and lab_raw_rnn_backward(), with contiguous tensors; they
 * fail only for lack of host memory. */
larder_result lab__rnn_forward(const lab_rnn *rnn, const lab_tensor *x,
                               lab_tensor *out, lab_tensor *h_last,
                               lab_tensor *c_last, lab_tensor *kept);
larder_result lab__rnn_backward(const lab_rnn *rnn, const lab_tensor *x,
                                const lab_tensor *out, const lab_tensor *kept,
                                const lab_tensor *grad_out,
                                const lab_tensor *grad_h,
                                const lab_tensor *grad_c,
                                const lab_rnn_grads *to);
