/* sgd.c - stochastic gradient descent, with momentum. */
#include "optim/optimizer.h"

/* At the first step momentum is a copy of the gradient. */
static larder_result momentum_update(struct lab__slot *slot, lab_tensor *grad,
                                     double momentum)
{
    larder_result r;

    if (slot->first == NULL)
        return lab_clone(grad, &slot->first);
    r = lab_mul_scalar_inplace(slot->first, momentum);
    return r == LARDER_OK ? lab_add_inplace(slot->first, grad, 1) : r;
}

static larder_result slot_step(const lab_optimizer_options *opt,
                               struct lab__slot *slot, lab_tensor **change)
{
    larder_result r;

    lab__rebind(change, lab_ref(lab_grad(slot->param)));
    r = lab__decay(change, slot->param, opt->weight_decay);
    if (r == LARDER_OK && opt->momentum != 0) {
        r = momentum_update(slot, *change, opt->momentum);
        if (r == LARDER_OK)
            lab__rebind(change, lab_ref(slot->first));
    }
    if (r == LARDER_OK)
        r = lab_add_inplace(slot->param, *change, -opt->lr);
    if (r == LARDER_OK)
        slot->steps++;
    return r;
}

larder_result lab__sgd_step(lab_optimizer *o)
{
    lab_tensor *change = NULL;
    larder_result r = LARDER_OK;

    for (int i = 0; i < o->count && r == LARDER_OK; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            r = slot_step(&o->options, &o->slots[i], &change);
    }
    lab_unref(change);
    return r;
}
