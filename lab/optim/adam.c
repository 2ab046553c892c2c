/* adam.c - Adam and AdamW. */
#include <math.h>

#include "optim/optimizer.h"

/* Create zeros like `like`, unless *mean exists. */
static larder_result mean_begin(const lab_tensor *like, lab_tensor **mean)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (*mean != NULL)
        return LARDER_OK;
    LAB__TRY(lab__tensor_like(like, &made));
    LAB__TRY(lab__fill(made, 0));
    return lab__give(&made, mean);
}

/* For all parameters before the first is updated. */
static larder_result slot_begin(struct lab__slot *slot)
{
    LAB__TRY(mean_begin(slot->param, &slot->first));
    return mean_begin(slot->param, &slot->second);
}

static larder_result means_update(const lab_optimizer_options *opt,
                                  struct lab__slot *slot, lab_tensor *grad)
{
    LAB__TRY(lab_mul_scalar_inplace(slot->first, opt->beta1));
    LAB__TRY(lab_add_inplace(slot->first, grad, 1 - opt->beta1));
    LAB__TRY(lab_mul_scalar_inplace(slot->second, opt->beta2));
    return lab_addcmul_inplace(slot->second, grad, grad, 1 - opt->beta2);
}

/* √second / √correction + eps */
static larder_result denom_make(const struct lab__slot *slot, double correction,
                                double eps, lab_tensor **denom)
{
    LAB__OWNED lab_tensor *root = NULL, *quotient = NULL;

    LAB__TRY(lab_sqrt(slot->second, &root));
    LAB__TRY(lab_div_scalar(root, sqrt(correction), &quotient));
    lab__drop(&root);
    LAB__TRY(lab_add_scalar_inplace(quotient, eps));
    lab__drop(denom);
    return lab__give(&quotient, denom);
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

/* *grad and *denom are the variables of PyTorch's loop. */
static larder_result slot_step(const lab_optimizer *o, struct lab__slot *slot,
                               lab_tensor **grad, lab_tensor **denom)
{
    const lab_optimizer_options *opt = &o->options;
    double steps = (double)(slot->steps + 1);

    lab__rebind(grad, lab_ref(lab_grad(slot->param)));
    LAB__TRY(decay_apply(o, slot, grad));
    LAB__TRY(means_update(opt, slot, *grad));
    LAB__TRY(denom_make(slot, 1 - pow(opt->beta2, steps), opt->eps, denom));
    LAB__TRY(lab_addcdiv_inplace(slot->param, slot->first, *denom,
                                 -opt->lr / (1 - pow(opt->beta1, steps))));
    slot->steps++;
    return LARDER_OK;
}

larder_result lab__adam_step(lab_optimizer *o)
{
    LAB__OWNED lab_tensor *denom = NULL, *grad = NULL;

    for (int i = 0; i < o->count; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            LAB__TRY(slot_begin(&o->slots[i]));
    }
    for (int i = 0; i < o->count; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            LAB__TRY(slot_step(o, &o->slots[i], &grad, &denom));
    }
    return LARDER_OK;
}
