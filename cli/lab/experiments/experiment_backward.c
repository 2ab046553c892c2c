/* experiment_backward.c - experiment 3: the memory that a backward pass
 * holds. */
#include "experiment_backward.h"

#include <stdio.h>

#include "experiment.h"

/* Scalars use the minimum size. */
enum { SCALAR_BYTES = 512 };

static const int64_t sizes[] = {1, 1024, 1024, 256}; /* 1 GiB of float32 */

bool backward_x(struct exp *e)
{
    return exp_zeros(e, BACKWARD_X, LAB_DEVICE, 4, sizes) &&
           exp_try(e, lab_set_requires_grad(e->t[BACKWARD_X], true));
}

bool backward_y(struct exp *e)
{
    return exp_try(e, lab_mul_scalar(e->t[BACKWARD_X], 5, &e->t[BACKWARD_Y]));
}

bool backward_mean(struct exp *e)
{
    lab_tensor *mean;
    bool done;

    if (!exp_try(e, lab_mean(e->t[BACKWARD_Y], &mean)))
        return false;
    done = exp_try(e, lab_backward(mean, NULL, false));
    lab_unref(mean);
    return done;
}

static bool after(struct exp *e, const char *statement, uint64_t allocated)
{
    return exp_after(e, statement, EXP_ALLOCATED, allocated * MIB);
}

/* `peak`: in tensors of x's size.  Two scalars, the mean and its gradient, are
 * live as well. */
static bool end(struct exp *e, uint64_t held, uint64_t peak)
{
    lab_memory m;

    return after(e, "mean(y).backward()", held * 1024) && exp_memory(e, &m) &&
           exp_number(e, "most allocated at once, in whole MiB", EXP_BYTES,
                      peak * GIB, m.allocated_peak / MIB * MIB) &&
           exp_number(e, "and in the two scalars, the mean and its gradient",
                      EXP_BYTES, 2 * SCALAR_BYTES, m.allocated_peak % MIB) &&
           exp_empty_cache(e) &&
           exp_after(e, "empty_cache()", EXP_RESERVED, held * GIB);
}

/* If the device computes, check the gradient's values. */
static bool gradient_is_right(struct exp *e)
{
    lab_tensor *grad = lab_grad(e->t[BACKWARD_X]), *mean;
    const double one = 5.0 / (256.0 * 1024 * 1024);
    double seen = 0;
    bool done;

    if (!lab_computes(e->session) || grad == NULL)
        return true;
    if (!exp_try(e, lab_mean(grad, &mean)))
        return false;
    done = exp_try(e, lab_item(mean, &seen));
    lab_unref(mean);
    return done && exp_yes(e, "the gradient's mean is 5 / 2^28",
                           seen > one * 0.9999 && seen < one * 1.0001);
}

static bool run_backward(struct exp *e)
{
    return exp_open(e, NULL) && backward_x(e) &&
           after(e, "x = zeros(...) # 1 GiB, with grad", 1024) &&
           backward_y(e) && after(e, "y = 5 * x", 2048) && backward_mean(e) &&
           end(e, 3, 4) && gradient_is_right(e);
}

const struct experiment experiment_backward = {
    .number = 3,
    .name = "backward",
    .title = "what backward() holds, and for how long",
    .text = "x takes 1024 MiB and so does y. Multiplying by a number saves no "
            "tensor for the backward pass: the number is enough. mean(y) is a "
            "scalar. The backward pass computes y's gradient (1024 MiB) and "
            "from it x's (1024 MiB), and frees y's at once, since y is not a "
            "leaf and its gradient was not requested. So the peak is one "
            "tensor above the end.",
    .verdict = "At the end x, y and x.grad are alive. At the peak y's "
               "gradient was alive too: x's gradient is computed from it.",
    .run = run_backward,
};

static bool run_retain_grad(struct exp *e)
{
    return exp_open(e, NULL) && backward_x(e) &&
           after(e, "x = zeros(...) # 1 GiB, with grad", 1024) &&
           backward_y(e) && exp_try(e, lab_retain_grad(e->t[BACKWARD_Y])) &&
           after(e, "y = 5 * x; y.retain_grad()", 2048) && backward_mean(e) &&
           end(e, 4, 5) && gradient_is_right(e) &&
           exp_yes(e, "y has a gradient", lab_grad(e->t[BACKWARD_Y]) != NULL);
}

const struct experiment experiment_retain_grad = {
    .number = 3,
    .name = "retain_grad",
    .title = "keeping the gradient of a tensor that is not a leaf",
    .text = "The same with y.retain_grad(), which keeps y.grad. At the end "
            "there are 4096 MiB: x, y, x.grad, y.grad. But the peak is 5120 "
            "MiB, and the extra 1024 MiB is surprising, since y's gradient "
            "existed before as well. The reason: the retained gradient is a "
            "copy. The gradient that arrives at y may still be shared, or be "
            "overwritten by later operations, so y.grad is a clone of it. "
            "While x's gradient is computed, all of these exist: x, y, y's "
            "gradient, its copy, and x.grad.",
    .verdict = "Keeping y's gradient costs 1024 MiB at the end, as "
               "expected, and also 1024 MiB at the peak: the gradient kept "
               "is a copy, made while the original is still in use.",
    .run = run_retain_grad,
};
