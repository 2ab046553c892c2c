/* optimizer.h - an optimizer: its parameters, and the state of each.
 *
 * The steps are PyTorch's for one tensor at a time, including temporaries: a
 * variable in a Python loop holds its tensor until the next iteration rebinds
 * it, and at that moment two tensors are live. */
#ifndef LARDER_LAB_OPTIM_OPTIMIZER_H
#define LARDER_LAB_OPTIM_OPTIMIZER_H

#include "tensor/tensor.h"

struct lab__slot {
    lab_tensor *param;
    lab_tensor *first;  /* SGD: momentum; Adam: mean of gradients */
    lab_tensor *second; /* Adam: mean of their squares */
    uint64_t steps;
};

struct lab_optimizer {
    lab *session;
    lab_optimizer_kind kind;
    lab_optimizer_options options;
    int count;
    struct lab__slot *slots;
};

/* Update all parameters that have a gradient, with recording off. */
larder_result lab__sgd_step(lab_optimizer *o);
larder_result lab__adam_step(lab_optimizer *o);

/* Rebind *name, as Python's `name = t` does: takes over t's reference, and
 * drops the old tensor. */
void lab__rebind(lab_tensor **name, lab_tensor *t);
/* name = grad + decay · param; unchanged if decay is 0. */
larder_result lab__decay(lab_tensor **name, lab_tensor *param, double decay);

#endif
