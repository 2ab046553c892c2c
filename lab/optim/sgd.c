/* sgd.c - stochastic gradient descent, with momentum. */
#include "optim/optimizer.h"

/* At the first step momentum is a copy of the gradient. */
static larder_result momentum_update(struct lab__slot *slot, lab_tensor *grad,
                                     double momentum)
{
    if (slot->first == NULL)
        return lab_clone(grad, &slot->first);
    LAB__TRY(lab_mul_scalar_inplace(slot->first, momentum));
    return lab_add_inplace(slot->first, grad, 1);
}

static larder_result slot_step(const lab_optimizer_options *opt,
                               struct lab__slot *slot, lab_tensor **change)
{
    lab__rebind(change, lab_ref(lab_grad(slot->param)));
    LAB__TRY(lab__decay(change, slot->param, opt->weight_decay));
    if (opt->momentum != 0) {
        LAB__TRY(momentum_update(slot, *change, opt->momentum));
        lab__rebind(change, lab_ref(slot->first));
    }
    LAB__TRY(lab_add_inplace(slot->param, *change, -opt->lr));
    slot->steps++;
    return LARDER_OK;
}

larder_result lab__sgd_step(lab_optimizer *o)
{
    LAB__OWNED lab_tensor *change = NULL;

    for (int i = 0; i < o->count; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            LAB__TRY(slot_step(&o->options, &o->slots[i], &change));
    }
    return LARDER_OK;
}
