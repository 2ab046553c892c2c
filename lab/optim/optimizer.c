/* optimizer.c - creates and runs optimizers. */
#include <math.h>

#include "kernels/kernels.h"
#include "optim/optimizer.h"
#include "tensor/host_memory.h"
#include "tensor/sized_struct.h"

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
    o->slots = (struct lab__slot *)(void *)(o + 1);
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

/* ---- use ------------------------------------------------------------------ */

larder_result lab_optimizer_step(lab_optimizer *o)
{
    bool recorded = lab_set_grad_enabled(o->session, false);
    larder_result r = o->kind == LAB_SGD ? lab__sgd_step(o) : lab__adam_step(o);

    lab_set_grad_enabled(o->session, recorded);
    return r;
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
    bool recorded = lab_set_grad_enabled(o->session, false);
    larder_result r = LARDER_OK;

    for (int i = 0; i < o->count && r == LARDER_OK; i++)
        r = gradient_clear(o->slots[i].param, set_to_none);
    lab_set_grad_enabled(o->session, recorded);
    return r;
}

double lab_optimizer_lr(const lab_optimizer *o)
{
    return o->options.lr;
}

void lab_optimizer_set_lr(lab_optimizer *o, double lr)
{
    o->options.lr = lr;
}

/* ---- shared by the steps -------------------------------------------------- */

void lab__rebind(lab_tensor **name, lab_tensor *t)
{
    lab_tensor *old = *name;

    *name = t;
    lab_unref(old);
}

larder_result lab__decay(lab_tensor **name, lab_tensor *param, double decay)
{
    lab_tensor *sum;

    if (decay == 0)
        return LARDER_OK;
    LAB__TRY(lab__tensor_like(*name, &sum));
    lab__binary(LAB__ADD, sum, *name, param, decay);
    lab__rebind(name, sum);
    return LARDER_OK;
}
