/* prompt_optim.c - torch.optim. */
#include <stdlib.h>

#include "prompt_function.h"

typedef struct prompt_value value;

static bool create(struct prompt *p, lab_optimizer_kind kind,
                   const lab_optimizer_options *opt, value params, value *out)
{
    lab_optimizer *o = NULL;
    lab_tensor **all;
    size_t count;
    bool ok;

    if (!prompt_read_tensors(p, params, &all, &count))
        return false;
    if (count == 0 || count > 1 << 20)
        ok = prompt_fail(p, "an optimizer takes a list of parameters");
    else
        ok = prompt_check(
            p, lab_optimizer_create(p->lab, kind, opt, all, (int)count, &o));
    free(all);
    if (!ok)
        return false;
    if (prompt_optimizer(o, out))
        return true;
    lab_optimizer_destroy(o);
    return prompt_fail_memory(p);
}

static PROMPT_FUNCTION(make_sgd)
{
    lab_optimizer_options opt;

    (void)self;
    lab_optimizer_options_init(&opt);
    return prompt_read_number(p, args[1], "lr", &opt.lr) &&
           prompt_read_number(p, args[2], "momentum", &opt.momentum) &&
           prompt_read_number(p, args[3], "weight_decay", &opt.weight_decay) &&
           create(p, LAB_SGD, &opt, args[0], out);
}

static PROMPT_FUNCTION(make_adam)
{
    lab_optimizer_options opt;

    lab_optimizer_options_init(&opt);
    if (!prompt_read_number(p, args[1], "lr", &opt.lr) ||
        !prompt_read_number(p, args[2], "eps", &opt.eps) ||
        !prompt_read_number(p, args[3], "weight_decay", &opt.weight_decay))
        return false;
    /* In the lab's options 0 means the default. */
    if (self->number == LAB_ADAMW && opt.weight_decay == 0)
        opt.weight_decay = -1;
    return create(p, (lab_optimizer_kind)self->number, &opt, args[0], out);
}

static PROMPT_FUNCTION(optimizer_step)
{
    (void)self;
    (void)out;
    return prompt_check(p, lab_optimizer_step(args[0].object->optimizer));
}

static PROMPT_FUNCTION(optimizer_zero_grad)
{
    bool to_none;

    (void)self;
    (void)out;
    return prompt_read_bool(p, args[1], "set_to_none", &to_none) &&
           prompt_check(
               p, lab_optimizer_zero_grad(args[0].object->optimizer, to_none));
}

static PROMPT_FUNCTION(optimizer_lr)
{
    (void)p;
    (void)self;
    *out = prompt_float(lab_optimizer_lr(args[0].object->optimizer));
    return true;
}

const struct prompt_builtin prompt_optim_table[] = {
    {OWNER_OPTIM,
     "SGD",
     "params, lr, momentum=0, weight_decay=0",
     "stochastic gradient descent",
     make_sgd,
     {.number = LAB_SGD}},
    {OWNER_OPTIM,
     "Adam",
     "params, lr=0.001, eps=1e-08, weight_decay=0",
     "two numbers kept for each parameter",
     make_adam,
     {.number = LAB_ADAM}},
    {OWNER_OPTIM,
     "AdamW",
     "params, lr=0.001, eps=1e-08, weight_decay=0.01",
     "Adam with weight decay apart",
     make_adam,
     {.number = LAB_ADAMW}},
    {OWNER_OPTIMIZER,
     "step",
     "self",
     "change the parameters by gradients",
     optimizer_step,
     {.number = 0}},
    {OWNER_OPTIMIZER,
     "zero_grad",
     "self, set_to_none=True",
     "drop the gradients, or fill them with 0",
     optimizer_zero_grad,
     {.number = 0}},
    {OWNER_OPTIMIZER,
     "lr",
     NULL,
     "the learning rate",
     optimizer_lr,
     {.number = 0}},
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
