/* optimizer.c - SGD, Adam and AdamW.
 *
 * The steps are PyTorch's for one tensor at a time, including temporaries: a
 * variable in a Python loop holds its tensor until the next iteration rebinds
 * it, and at that moment two tensors are live. */
#include <math.h>

#include "kernels/kernels.h"
#include "tensor/host_memory.h"
#include "tensor/sized_struct.h"

struct slot {
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
    struct slot *slots;
};

void lab_optimizer_options_init_sized(lab_optimizer_options *opt, size_t size)
{
    if (opt != NULL && size >= sizeof opt->size)
        lab__sized_init(opt, size);
}

/* ---- options -------------------------------------------------------------- */

static void defaults_set(lab_optimizer_kind kind, lab_optimizer_options *opt)
{
    if (opt->lr == 0 && kind != LAB_SGD)
        opt->lr = 1e-3;
    if (opt->beta1 == 0)
        opt->beta1 = 0.9;
    if (opt->beta2 == 0)
        opt->beta2 = 0.999;
    if (opt->eps == 0)
        opt->eps = 1e-8;
    if (kind == LAB_ADAMW && opt->weight_decay == 0)
        opt->weight_decay = 0.01;
    else if (kind == LAB_ADAMW && opt->weight_decay < 0)
        opt->weight_decay = 0;
}

static larder_result number_check(const char *what, double value, double below)
{
    if (value >= 0 && value < below)
        return LARDER_OK;
    return lab__invalid("optimizer: the %s is %g, must be at least 0%s", what,
                        value, below == 1 ? " and below 1" : "");
}

static larder_result options_check(lab_optimizer_kind kind,
                                   const lab_optimizer_options *opt)
{
    if (opt->lr == 0)
        return lab__invalid("optimizer: SGD needs a learning rate");
    LAB__TRY(number_check("learning rate", opt->lr, INFINITY));
    LAB__TRY(number_check("weight decay", opt->weight_decay, INFINITY));
    if (kind == LAB_SGD)
        return number_check("momentum", opt->momentum, INFINITY);
    LAB__TRY(number_check("beta1", opt->beta1, 1));
    LAB__TRY(number_check("beta2", opt->beta2, 1));
    return number_check("eps", opt->eps, INFINITY);
}

static larder_result optimizer_options_read(lab_optimizer_kind kind,
                                            const lab_optimizer_options *given,
                                            lab_optimizer_options *out)
{
    lab_optimizer_options_init(out);
    if (given != NULL)
        LAB__TRY(lab__sized_read(out, sizeof *out, given));
    defaults_set(kind, out);
    return options_check(kind, out);
}

/* ---- creation and destruction --------------------------------------------- */

static larder_result params_check(lab *l, lab_tensor *const *params, int count)
{
    if (count <= 0)
        return lab__invalid("optimizer: there are no parameters");
    for (int i = 0; i < count; i++) {
        if (params[i] == NULL || lab_session(params[i]) != l)
            return lab__invalid(
                "optimizer: parameter %d is not of this session", i);
        if (!lab_is_leaf(params[i]))
            return lab__invalid(
                "optimizer: parameter %d is not a leaf: it was created by %s",
                i, lab_grad_fn_name(params[i]));
    }
    return LARDER_OK;
}

larder_result lab_optimizer_create(lab *l, lab_optimizer_kind kind,
                                   const lab_optimizer_options *opt,
                                   lab_tensor *const *params, int count,
                                   lab_optimizer **out)
{
    lab_optimizer_options options;
    lab_optimizer *o;
    size_t slots_bytes = (size_t)(count > 0 ? count : 0) * sizeof *o->slots;

    if (kind != LAB_SGD && kind != LAB_ADAM && kind != LAB_ADAMW)
        return lab__invalid("optimizer: no kind %d", (int)kind);
    LAB__TRY(optimizer_options_read(kind, opt, &options));
    LAB__TRY(params_check(l, params, count));
    o = lab__host_zeroed(sizeof *o + slots_bytes);
    if (o == NULL)
        return lab__fail_host(sizeof *o + slots_bytes);
    o->session = l;
    o->kind = kind;
    o->options = options;
    o->count = count;
    o->slots = (struct slot *)(void *)(o + 1);
    for (int i = 0; i < count; i++)
        o->slots[i].param = lab_ref(params[i]);
    *out = o;
    return LARDER_OK;
}

void lab_optimizer_destroy(lab_optimizer *o)
{
    if (o == NULL)
        return;
    for (int i = 0; i < o->count; i++) {
        lab_unref(o->slots[i].param);
        lab_unref(o->slots[i].first);
        lab_unref(o->slots[i].second);
    }
    lab__host_free(o);
}

/* ---- shared by the steps -------------------------------------------------- */

/* Rebind *name, as Python's `name = t` does: takes over t's reference, and
 * drops the old tensor. */
static void rebind(lab_tensor **name, lab_tensor *t)
{
    lab_tensor *old = *name;

    *name = t;
    lab_unref(old);
}

/* name = grad + decay · param; unchanged if decay is 0. */
static larder_result decay_add(lab_tensor **name, lab_tensor *param,
                               double decay)
{
    lab_tensor *sum;

    if (decay == 0)
        return LARDER_OK;
    LAB__TRY(lab__tensor_like(*name, &sum));
    lab__binary(LAB__ADD, sum, *name, param, decay);
    rebind(name, sum);
    return LARDER_OK;
}

/* ---- SGD ------------------------------------------------------------------ */

/* At the first step momentum is a copy of the gradient. */
static larder_result momentum_update(struct slot *slot, lab_tensor *grad,
                                     double momentum)
{
    if (slot->first == NULL)
        return lab_clone(grad, &slot->first);
    LAB__TRY(lab_mul_scalar_inplace(slot->first, momentum));
    return lab_add_inplace(slot->first, grad, 1);
}

static larder_result sgd_slot_step(const lab_optimizer_options *opt,
                                   struct slot *slot, lab_tensor **change)
{
    rebind(change, lab_ref(lab_grad(slot->param)));
    LAB__TRY(decay_add(change, slot->param, opt->weight_decay));
    if (opt->momentum != 0) {
        LAB__TRY(momentum_update(slot, *change, opt->momentum));
        rebind(change, lab_ref(slot->first));
    }
    LAB__TRY(lab_add_inplace(slot->param, *change, -opt->lr));
    slot->steps++;
    return LARDER_OK;
}

/* Update all parameters that have a gradient, with recording off. */
static larder_result sgd_step(lab_optimizer *o)
{
    LAB__OWNED lab_tensor *change = NULL;

    for (int i = 0; i < o->count; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            LAB__TRY(sgd_slot_step(&o->options, &o->slots[i], &change));
    }
    return LARDER_OK;
}

/* ---- Adam and AdamW ------------------------------------------------------- */

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
static larder_result slot_begin(struct slot *slot)
{
    LAB__TRY(mean_begin(slot->param, &slot->first));
    return mean_begin(slot->param, &slot->second);
}

static larder_result means_update(const lab_optimizer_options *opt,
                                  struct slot *slot, lab_tensor *grad)
{
    LAB__TRY(lab_mul_scalar_inplace(slot->first, opt->beta1));
    LAB__TRY(lab_add_inplace(slot->first, grad, 1 - opt->beta1));
    LAB__TRY(lab_mul_scalar_inplace(slot->second, opt->beta2));
    return lab_addcmul_inplace(slot->second, grad, grad, 1 - opt->beta2);
}

/* √second / √correction + eps */
static larder_result denom_make(const struct slot *slot, double correction,
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
                                 const struct slot *slot, lab_tensor **grad)
{
    const lab_optimizer_options *opt = &o->options;

    if (o->kind == LAB_ADAM)
        return decay_add(grad, slot->param, opt->weight_decay);
    return lab_mul_scalar_inplace(slot->param, 1 - opt->lr * opt->weight_decay);
}

/* *grad and *denom are the variables of PyTorch's loop. */
static larder_result adam_slot_step(const lab_optimizer *o, struct slot *slot,
                                    lab_tensor **grad, lab_tensor **denom)
{
    const lab_optimizer_options *opt = &o->options;
    double steps = (double)(slot->steps + 1);

    rebind(grad, lab_ref(lab_grad(slot->param)));
    LAB__TRY(decay_apply(o, slot, grad));
    LAB__TRY(means_update(opt, slot, *grad));
    LAB__TRY(denom_make(slot, 1 - pow(opt->beta2, steps), opt->eps, denom));
    LAB__TRY(lab_addcdiv_inplace(slot->param, slot->first, *denom,
                                 -opt->lr / (1 - pow(opt->beta1, steps))));
    slot->steps++;
    return LARDER_OK;
}

static larder_result adam_step(lab_optimizer *o)
{
    LAB__OWNED lab_tensor *denom = NULL, *grad = NULL;

    for (int i = 0; i < o->count; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            LAB__TRY(slot_begin(&o->slots[i]));
    }
    for (int i = 0; i < o->count; i++) {
        if (lab_grad(o->slots[i].param) != NULL)
            LAB__TRY(adam_slot_step(o, &o->slots[i], &grad, &denom));
    }
    return LARDER_OK;
}

/* ---- use ------------------------------------------------------------------ */

larder_result lab_optimizer_step(lab_optimizer *o)
{
    LAB__RECORDING(o->session, false);

    return o->kind == LAB_SGD ? sgd_step(o) : adam_step(o);
}

static larder_result gradient_clear(lab_tensor *param, bool set_to_none)
{
    lab_tensor *grad = lab_grad(param);

    if (grad == NULL)
        return LARDER_OK;
    return set_to_none ? lab_set_grad(param, NULL) : lab_fill_inplace(grad, 0);
}

larder_result lab_optimizer_zero_grad(lab_optimizer *o, bool set_to_none)
{
    LAB__RECORDING(o->session, false);

    for (int i = 0; i < o->count; i++)
        LAB__TRY(gradient_clear(o->slots[i].param, set_to_none));
    return LARDER_OK;
}

double lab_optimizer_lr(const lab_optimizer *o)
{
    return o->options.lr;
}

void lab_optimizer_set_lr(lab_optimizer *o, double lr)
{
    o->options.lr = lr;
}
