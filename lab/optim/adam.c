/* adam.c - Adam and AdamW. */
#include <math.h>

#include "optim/optimizer.h"

/* The variables of PyTorch's loop. */
struct names {
    lab_tensor *grad, *denom;
};

/* Create zeros like `like`, unless *mean exists. */
static larder_result mean_begin(const lab_tensor *like, lab_tensor **mean)
{
    lab_tensor *made;
    larder_result r;

    if (*mean != NULL)
        return LARDER_OK;
    r = lab__tensor_like(like, &made);
    if (r != LARDER_OK)
        return r;
    r = lab__fill(made, 0);
    if (r != LARDER_OK)
        lab_unref(made);
    else
        *mean = made;
    return r;
}

/* For all parameters before the first is updated. */
static larder_result slot_begin(struct lab__slot *slot)
{
    larder_result r = mean_begin(slot->param, &slot->first);

    return r == LARDER_OK ? mean_begin(slot->param, &slot->second) : r;
}

static larder_result means_update(const lab_optimizer_options *opt,
                                  struct lab__slot *slot, lab_tensor *grad)
{
    larder_result r = lab_mul_scalar_inplace(slot->first, opt->beta1);

    if (r == LARDER_OK)
        r = lab_add_inplace(slot->first, grad, 1 - opt->beta1);
    if (r == LARDER_OK)
        r = lab_mul_scalar_inplace(slot->second, opt->beta2);
    if (r == LARDER_OK)
        r = lab_addcmul_inplace(slot->second, grad, grad, 1 - opt->beta2);
    return r;
}

/* √second / √correction + eps */
static larder_result denom_make(const struct lab__slot *slot, double correction,
                                double eps, lab_tensor **denom)
{
    lab_tensor *root, *quotient;
    larder_result r = lab_sqrt(slot->second, &root);

    if (r != LARDER_OK)
        return r;
    r = lab_div_scalar(root, sqrt(correction), &quotient);
    lab_unref(root);
    if (r != LARDER_OK)
        return r;
    r = lab_add_scalar_inplace(quotient, eps);
    if (r == LARDER_OK)
        lab__rebind(denom, quotient);
    else
        lab_unref(quotient);
    return r;
}

/* Adam adds the decay to the gradient, AdamW shrinks the parameter. */
static larder_result decay_apply(const lab_optimizer *o,
                                 const struct lab__slot *slot,
                                 lab_tensor **grad)
{
    const lab_optimizer_options *opt = &o->options;

    if (o->kind == LAB_ADAM)
        return lab__decay(grad, slot->param, opt->weight_decay);
    return lab_mul_scalar_inplace(slot->param, 1 - opt->lr * opt->weight_decay);
}

static larder_result slot_step(const lab_optimizer *o, struct lab__slot *slot,
                               struct names *names)
{
    const lab_optimizer_options *opt = &o->options;
    double steps = (double)(slot->steps + 1);
    larder_result r;

    lab__rebind(&names->grad, lab_ref(lab_grad(slot->param)));
    r = decay_apply(o, slot, &names->grad);
    if (r == LARDER_OK)
        r = means_update(opt, slot, names->grad);
    if (r == LARDER_OK)
        r = denom_make(slot, 1 - pow(opt->beta2, steps), opt->eps,
                       &names->denom);
    if (r == LARDER_OK)
        r = lab_addcdiv_inplace(slot->param, slot->first, names->denom,
                                -opt->lr / (1 - pow(opt->beta1, steps)));
    if (r == LARDER_OK)
        slot->steps++;
    return r;
}

larder_result lab__adam_step(lab_optimizer *o)
{
    struct names names = {NULL, NULL};
    larder_result r = LARDER_OK;

    for (int i = 0; i < o->count && r == LARDER_OK; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            r = slot_begin(&o->slots[i]);
    }
    for (int i = 0; i < o->count && r == LARDER_OK; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            r = slot_step(o, &o->slots[i], &names);
    }
    lab_unref(names.grad);
    lab_unref(names.denom);
    return r;
}
