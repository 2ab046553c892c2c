/* op.h - what operations share. */
#ifndef LAB_OPS_OP_H
#define LAB_OPS_OP_H

#include "autograd/node.h"

/* The end of an operation: *out = made, its values what its type can hold; or
 * where r is a failure made is
 * dropped.  Returns r. */
larder_result lab__done(larder_result r, lab_tensor *made, lab_tensor **out);

/* lab__record(), then `saves` tensors into the slots from 0. */
larder_result lab__record_saving(const struct lab__node_kind *kind,
                                 unsigned count, lab_tensor *const *inputs,
                                 lab_tensor *out, unsigned saves,
                                 lab_tensor *const *saved);

/* For products of two: what an operand's gradient needs is the other one.
 * Saves a in slot 0 if b's gradient is wanted, b in slot 1 if a's. */
larder_result lab__save_each_other(struct lab__node *node, lab_tensor *a,
                                   lab_tensor *b);

/* Backward functions that the operations in place have too: mul and div save
 * a in slot 0 and b in slot 1, relu its result. */
larder_result lab__mul_backward(struct lab__node *node, lab_tensor **grads,
                                lab_tensor **results);
larder_result lab__div_backward(struct lab__node *node, lab_tensor **grads,
                                lab_tensor **results);
larder_result lab__div_save(struct lab__node *node, lab_tensor *a,
                            lab_tensor *b);
larder_result lab__relu_backward(struct lab__node *node, lab_tensor **grads,
                                 lab_tensor **results);

/* The strides with which t's elements can be seen in these sizes without a
 * copy; false where they cannot. */
bool lab__view_strides(const lab_tensor *t, int ndim, const int64_t *sizes,
                       int64_t *strides);

/* lab__check_dim() for what takes a tensor to parts: a number has none. */
larder_result lab__check_part_dim(const char *op, const lab_tensor *t,
                                  int *dim);

/* Gives t, just made, the order in memory that these operands, which broadcast
 * to it, have (layout.c). */
void lab__lay_out(lab_tensor *t, int count, const lab_tensor *const *operands);

/* A tensor of t's sizes laid out as t, without its gaps; of this dtype, on
 * this place. */
larder_result lab__empty_as(const lab_tensor *t, lab_dtype dtype,
                            lab_place place, lab_tensor **out);

/* What backward of a slice does: zeros of these sizes with grad in the window
 * given by dim, start and step; grad has no dim `dim` where `gone`. */
struct lab__window {
    int dim;
    int64_t start, step;
    bool gone;
};
larder_result lab__pad_window(lab_tensor *grad, int ndim, const int64_t *sizes,
                              const struct lab__window *window,
                              lab_tensor **out);

#endif
