/* op.h - functions that operations share. */
#ifndef LARDER_LAB_OPS_OP_H
#define LARDER_LAB_OPS_OP_H

#include "autograd/node.h"

/* The end of an operation: *out = made, with its values rounded to its type; if
 * r is an error, made is dropped.  Returns r. */
larder_result lab__done(larder_result r, lab_tensor *made, lab_tensor **out);

/* lab__record(), then save `saves` tensors in the slots from 0 on. */
larder_result lab__record_saving(const struct lab__node_kind *kind,
                                 unsigned count, lab_tensor *const *inputs,
                                 lab_tensor *out, unsigned saves,
                                 lab_tensor *const *saved);

/* For products of two operands, where each one's gradient needs the other:
 * saves a in slot 0 if b's gradient is needed, b in slot 1 if a's is. */
larder_result lab__save_each_other(struct lab__node *node, lab_tensor *a,
                                   lab_tensor *b);

/* Backward functions shared with the in-place operations: mul and div save a in
 * slot 0 and b in slot 1, relu saves its result. */
larder_result lab__mul_backward(struct lab__node *node, lab_tensor **grads,
                                lab_tensor **results);
larder_result lab__div_backward(struct lab__node *node, lab_tensor **grads,
                                lab_tensor **results);
larder_result lab__div_save(struct lab__node *node, lab_tensor *a,
                            lab_tensor *b);
larder_result lab__relu_backward(struct lab__node *node, lab_tensor **grads,
                                 lab_tensor **results);

/* The strides for viewing t's elements with these sizes without a copy.  False:
 * there are none. */
bool lab__view_strides(const lab_tensor *t, int ndim, const int64_t *sizes,
                       int64_t *strides);

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

/* Backward of a slice: zeros of these sizes, with grad in the window given by
 * dim, start and step; if `gone`, grad lacks dimension `dim`. */
struct lab__window {
    int dim;
    int64_t start, step;
    bool gone;
};
larder_result lab__pad_window(lab_tensor *grad, int ndim, const int64_t *sizes,
                              const struct lab__window *window,
                              lab_tensor **out);

#endif
