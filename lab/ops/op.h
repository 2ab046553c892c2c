/* op.h - functions that operations share. */
#pragma once

#include <larder/lab_raw.h>

#include "autograd/node.h"
#include "kernels/kernels.h"

/* ---- all operations ---- */

/* The end of an operation: *made moves to *out, with its values rounded to its
 * type. */
larder_result lab__done(lab_tensor **made, lab_tensor **out);
/* The same, after recording. */
larder_result lab__recorded(const struct lab__recording *what,
                            lab_tensor **made, lab_tensor **out);

/* Backward of operations on one tensor whose gradient is one operation on the
 * result's and on what is in slot 0: node->integer[0], a lab__binary_op. */
larder_result lab__saved_back(const struct lab__back *b);
/* Products and quotients of two operands: a is in slot 0, b in slot 1. */
larder_result lab__mul_back(const struct lab__back *b);
larder_result lab__div_back(const struct lab__back *b);
/* Products with node->number. */
larder_result lab__mul_scalar_back(const struct lab__back *b);
/* What those need: each operand for the other one's gradient, a divisor for
 * both. */
void lab__operands_saved(lab_tensor *a, lab_tensor *b, bool is_quotient,
                         lab_tensor *saved[2]);

/* A view of t, from `offset` of its storage on; recorded with t as its input
 * unless `what` is NULL (views.c). */
larder_result lab__view_made(const struct lab__recording *what, lab_tensor *t,
                             int ndim, const int64_t *sizes,
                             const int64_t *strides, int64_t offset,
                             lab_tensor **out);

/* `length` elements of dimension dim from `start` on, or a single one of them
 * without that dimension if it is `gone`. */
struct lab__part {
    int dim;
    int64_t start, step, length;
    bool gone;
};

/* A view of that part of t, recorded like lab__view_made() (slicing.c). */
larder_result lab__part_of(const struct lab__recording *what, lab_tensor *t,
                           const struct lab__part *part, lab_tensor **out);

/* lab__check_dim() for operations that split a tensor: a number has no
 * dimension. */
larder_result lab__check_part_dim(const char *op, const lab_tensor *t,
                                  int *dim);

/* Give t, just created, the memory order of these operands, which broadcast to
 * it (layout.c). */
void lab__lay_out(lab_tensor *t, int count, const lab_tensor *const *operands);

/* A tensor of t's sizes and layout, without gaps, of this dtype, in this
 * place. */
larder_result lab__empty_as(const lab_tensor *t, lab_dtype dtype,
                            lab_place place, lab_tensor **out);
/* Zeros like t with other sizes. */
larder_result lab__zeros_of(const lab_tensor *t, int ndim, const int64_t *sizes,
                            lab_tensor **out);
/* A reference to t itself. */
larder_result lab__as_is(lab_tensor *t, lab_tensor **out);
/* Indices (int64) in t's place. */
larder_result lab__ints_of(const lab_tensor *t, int ndim, const int64_t *sizes,
                           lab_tensor **out);

/* ---- what layers and losses share ---- */

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

/* Whether an element is outside [lowest, rows) and, if allowed is not NULL, not
 * *allowed; *value is the first one.  False if index cannot be read (rows.c). */
bool lab__index_outside(const lab_tensor *index, int64_t lowest, int64_t rows,
                        const int64_t *allowed, int64_t *value);

/* ERR_INVALID unless t has `ndim` dimensions. */
larder_result lab__nn_check_ndim(const char *op, const char *what,
                                 const lab_tensor *t, int ndim);
/* ERR_INVALID unless t is int64. */
larder_result lab__nn_check_index(const char *op, const lab_tensor *t);
/* lab__check_float() and lab__check_place() with `like`, unless t is NULL. */
larder_result lab__nn_check_part(const char *op, const lab_tensor *like,
                                 const lab_tensor *t);

/* The elements of t on and below the diagonal, or on and above it if `upper`; out
 * may be t, both are contiguous (raw_order.c). */
void lab__triangle(lab_tensor *out, const lab_tensor *t, int64_t diagonal,
                   bool upper);

/* The largest or smallest elements along dim, the first of equal ones; a NaN comes
 * before all others.  t may have any strides; values may be NULL (raw_reduce.c). */
void lab__extreme(lab_tensor *values, lab_tensor *indices, const lab_tensor *t,
                  int dim, bool largest);

/* ERR_INVALID unless the window is possible and x are images of floats. */
larder_result lab__window_check(const char *op, const lab_tensor *x,
                                const lab_window *win);
/* The result's height and width, in sizes[2] and sizes[3]. */
larder_result lab__window_sizes(const char *op, const lab_tensor *x,
                                const lab_window *win, int64_t sizes[4]);

/* ---- element-wise operations (elementwise_op.c): operands and results ---- */

/* a and b in one dtype: references, or copies if one was converted.  The sizes
 * are those of the result. */
struct lab__operands {
    lab_tensor *a, *b;
    lab_place place;
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
};

/* Before the declaration of operands that are dropped at the end of the block,
 * and have no tensors at first. */
#define LAB__OWNED_OPERANDS __attribute__((cleanup(lab__operands_drop)))
void lab__operands_drop(struct lab__operands *operands);

/* Checks places and sizes.  The dtype is the common one, int64 for two masks, a
 * float if `floats`.  A number (no dimensions) in host memory combines with
 * tensors in any place. */
larder_result lab__operands_take(const char *op, lab_tensor *a, lab_tensor *b,
                                 bool floats, struct lab__operands *out);

/* *where: a tensor in the place of the result.  Numbers (of no dimensions) in host
 * memory combine with tensors in any place. */
larder_result lab__places_meet(const char *op, int count, lab_tensor *const *ts,
                               const lab_tensor **where);

/* The common dtype of a and b, as in PyTorch: floats before whole numbers
 * before bool, then tensors before numbers (no dimensions), then the wider. */
lab_dtype lab__dtype_of_both(const lab_tensor *a, const lab_tensor *b);

/* t in that dtype: t itself, or a copy without history. */
larder_result lab__in_dtype(lab_tensor *t, lab_dtype dtype, lab_tensor **out);

/* Create the result of a and b: with their layout if it is the same and has no
 * gaps, otherwise contiguous. */
larder_result lab__operands_room(const struct lab__operands *operands,
                                 lab_dtype dtype, lab_tensor **out);
/* An operation on two operands, the second perhaps a number. */
struct lab__operation {
    const char *name; /* "add" */
    lab__binary_op op;
    const char *node; /* "AddBackward0" */
    lab__backward_fn backward;
};

/* The result of an operation on t alone. */
larder_result lab__room_like(const lab_tensor *t, lab_tensor **out);
