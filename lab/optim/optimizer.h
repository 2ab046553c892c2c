/* optimizer.h - an optimizer: parameters, and what it keeps of each.
 *
 * The steps are PyTorch's for one tensor at a time, its temporaries with them:
 * a name in a Python loop holds its tensor until the next turn binds it anew,
 * which is when two of them are alive at once. */
#ifndef LAB_OPTIM_OPTIMIZER_H
#define LAB_OPTIM_OPTIMIZER_H

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

/* A step of all parameters that have a gradient; recording is off. */
larder_result lab__sgd_step(lab_optimizer *o);
larder_result lab__adam_step(lab_optimizer *o);

/* Bind *name, as Python's `name = t` does: t's reference is taken over, and
 * what the name held is let go. */
void lab__rebind(lab_tensor **name, lab_tensor *t);
/* name = grad + decay · param; left as it is where decay is 0. */
larder_result lab__decay(lab_tensor **name, lab_tensor *param, double decay);

#endif
