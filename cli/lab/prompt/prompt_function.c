/* prompt_function.c - torch's functions, and the table rows that map directly
 * to one C function of the lab. */
#include <stdlib.h>
#include <string.h>

#include "prompt_function.h"
#include "prompt_module.h"

typedef struct prompt_value value;

bool prompt_call_unary(struct prompt *p, const struct prompt_builtin *self,
                       value *args, value *out)
{
    lab_tensor *made = NULL;
    lab_tensor *a;

    if (!prompt_read_tensor(p, args[0], self->name, &a))
        return false;
    return prompt_made(p, self->unary(a, &made), &made, out);
}

bool prompt_call_binary(struct prompt *p, const struct prompt_builtin *self,
                        value *args, value *out)
{
    lab_tensor *made = NULL;
    lab_tensor *a, *b;

    if (!prompt_read_tensor(p, args[0], "the first argument", &a) ||
        !prompt_read_tensor(p, args[1], "the second argument", &b))
        return false;
    return prompt_made(p, self->binary(a, b, &made), &made, out);
}

bool prompt_call_operator(struct prompt *p, const struct prompt_builtin *self,
                          value *args, value *out)
{
    static const char *const operators[] = {"+", "-", "*", "/", "**"};

    if (args[0].kind != VALUE_TENSOR && args[1].kind != VALUE_TENSOR)
        return prompt_fail(p, "%s takes a tensor", self->name);
    return prompt_operate(p, operators[self->number], args[0], args[1], out);
}

bool prompt_call_reduction(struct prompt *p, const struct prompt_builtin *self,
                           value *args, value *out)
{
    bool mean = self->number == REDUCE_MEAN;
    lab_tensor *made = NULL;
    lab_tensor *a;
    bool keep;
    int dim = 0;

    if (!prompt_read_tensor(p, args[0], self->name, &a) ||
        !prompt_read_bool(p, args[2], "keepdim", &keep))
        return false;
    if (args[1].kind == VALUE_NONE)
        return prompt_made(p, mean ? lab_mean(a, &made) : lab_sum(a, &made),
                           &made, out);
    if (!prompt_read_dim(p, args[1], &dim))
        return false;
    return prompt_made(p,
                       mean ? lab_mean_dim(a, dim, keep, &made)
                            : lab_sum_dim(a, dim, keep, &made),
                       &made, out);
}

typedef larder_result by_dim(lab_tensor *a, int dim, lab_tensor **out);

bool prompt_call_dim(struct prompt *p, const struct prompt_builtin *self,
                     value *args, value *out)
{
    static by_dim *const functions[] = {
        [DIM_SOFTMAX] = lab_softmax,     [DIM_LOG_SOFTMAX] = lab_log_softmax,
        [DIM_ARGMAX] = lab_argmax,       [DIM_SQUEEZE] = lab_squeeze,
        [DIM_UNSQUEEZE] = lab_unsqueeze,
    };
    lab_tensor *made = NULL;
    lab_tensor *a;
    int dim;

    if (!prompt_read_tensor(p, args[0], self->name, &a) ||
        !prompt_read_dim(p, args[1], &dim))
        return false;
    return prompt_made(p, functions[self->number](a, dim, &made), &made, out);
}

/* ---- several tensors ------------------------------------------------------------------ */

static bool call_join(struct prompt *p, const struct prompt_builtin *self,
                      value *args, value *out)
{
    lab_tensor *made = NULL;
    lab_tensor **all;
    size_t count;
    int dim;
    bool ok;

    if (!prompt_read_dim(p, args[1], &dim) ||
        !prompt_read_tensors(p, args[0], &all, &count))
        return false;
    if (count == 0 || count > 1 << 20)
        ok = prompt_fail(p, "%s takes a list of tensors", self->name);
    else
        ok = prompt_made(p,
                         self->number == JOIN_CAT
                             ? lab_cat(all, (int)count, dim, &made)
                             : lab_stack(all, (int)count, dim, &made),
                         &made, out);
    free(all);
    return ok;
}

/* ---- recording ------------------------------------------------------------------------- */

static bool call_mode(struct prompt *p, const struct prompt_builtin *self,
                      value *args, value *out)
{
    (void)p;
    (void)args;
    *out = (value){.kind = VALUE_MODE, .integer = self->number};
    return true;
}

static bool call_set_grad_enabled(struct prompt *p,
                                  const struct prompt_builtin *self,
                                  value *args, value *out)
{
    bool on;

    (void)self;
    (void)out;
    if (!prompt_read_bool(p, args[0], "mode", &on))
        return false;
    lab_set_grad_enabled(p->lab, on);
    return true;
}

static bool call_is_grad_enabled(struct prompt *p,
                                 const struct prompt_builtin *self, value *args,
                                 value *out)
{
    (void)self;
    (void)args;
    *out = prompt_bool(lab_grad_enabled(p->lab));
    return true;
}

static bool call_manual_seed(struct prompt *p,
                             const struct prompt_builtin *self, value *args,
                             value *out)
{
    int64_t seed;

    (void)self;
    (void)out;
    if (!prompt_read_int(p, args[0], "seed", &seed))
        return false;
    lab_seed(p->lab, (uint64_t)seed);
    return true;
}

static bool call_device(struct prompt *p, const struct prompt_builtin *self,
                        value *args, value *out)
{
    lab_place place = LAB_HOST;

    (void)self;
    if (!prompt_read_place(p, args[0], &place))
        return false;
    *out = (value){.kind = VALUE_PLACE, .integer = place};
    return true;
}

/* ---- checkpointing ----------------------------------------------------------------------- */

struct segment {
    struct prompt *p;
    struct prompt_module *module;
};

static larder_result run_segment(void *context, lab_tensor *input,
                                 lab_tensor **out)
{
    struct segment *s = context;

    if (prompt_module_forward(s->p, s->module, input, NULL, out))
        return LARDER_OK;
    /* The session's error has the reason already. */
    return LARDER_ERR_INVALID;
}

static void release_segment(void *context)
{
    struct segment *s = context;

    prompt_module_unref(s->module);
    free(s);
}

static bool call_checkpoint(struct prompt *p, const struct prompt_builtin *self,
                            value *args, value *out)
{
    lab_tensor *made = NULL;
    struct segment *s;
    lab_tensor *input;

    (void)self;
    if (args[0].kind != VALUE_MODULE || prompt_module_is_loss(args[0].module))
        return prompt_fail(p, "checkpoint runs a module, not %s",
                           prompt_value_what(args[0]));
    if (!prompt_read_tensor(p, args[1], "the input", &input))
        return false;
    s = malloc(sizeof *s);
    if (s == NULL)
        return prompt_fail_memory(p);
    s->p = p;
    s->module = prompt_module_ref(args[0].module);
    return prompt_made(
        p, lab_checkpoint(run_segment, s, release_segment, input, &made), &made,
        out);
}

#define UNARY(name, function, text)                                            \
    PROMPT_ROW(OWNER_TORCH, #name, "input", text, prompt_call_unary, unary,    \
               function)
#define OPERATOR(name, which, text)                                            \
    PROMPT_ROW(OWNER_TORCH, #name, "input, other", text, prompt_call_operator, \
               number, which)
#define NUMBER(name, parameters, text, function, which)                        \
    PROMPT_ROW(OWNER_TORCH, name, parameters, text, function, number, which)

const struct prompt_builtin prompt_function_table[] = {
    OPERATOR(add, 0, "input + other"),
    OPERATOR(sub, 1, "input - other"),
    OPERATOR(mul, 2, "input * other"),
    OPERATOR(div, 3, "input / other"),
    OPERATOR(pow, 4, "input ** other"),
    UNARY(neg, lab_neg, "-input"),
    UNARY(exp, lab_exp, "e to the power of each element"),
    UNARY(log, lab_log, "the natural logarithm of each element"),
    UNARY(sqrt, lab_sqrt, "the square root of each element"),
    UNARY(relu, lab_relu, "0 for what is negative"),
    UNARY(tanh, lab_tanh, "hyperbolic tangent"),
    UNARY(sigmoid, lab_sigmoid, "1 / (1 + exp(-x))"),
    {OWNER_TORCH,
     "matmul",
     "input, other",
     "matrix product: input @ other",
     prompt_call_binary,
     {.binary = lab_matmul}},
    NUMBER("softmax", "input, dim", "exp(x) / sum(exp(x)) along a dimension",
           prompt_call_dim, DIM_SOFTMAX),
    NUMBER("log_softmax", "input, dim", "the logarithm of softmax",
           prompt_call_dim, DIM_LOG_SOFTMAX),
    NUMBER("sum", "input, dim=None, keepdim=False",
           "the sum, of all or along a dimension", prompt_call_reduction,
           REDUCE_SUM),
    NUMBER("mean", "input, dim=None, keepdim=False",
           "the mean, of all or along a dimension", prompt_call_reduction,
           REDUCE_MEAN),
    NUMBER("argmax", "input, dim", "where the largest is, along a dimension",
           prompt_call_dim, DIM_ARGMAX),
    NUMBER("cat", "tensors, dim=0", "tensors one after the other", call_join,
           JOIN_CAT),
    NUMBER("stack", "tensors, dim=0", "tensors along a new dimension",
           call_join, JOIN_STACK),
    NUMBER("no_grad", "", "with no_grad(): nothing is recorded for backward",
           call_mode, 0),
    NUMBER("enable_grad", "", "with enable_grad(): operations are recorded",
           call_mode, 1),
    NUMBER("set_grad_enabled", "mode", "whether operations are recorded",
           call_set_grad_enabled, 0),
    NUMBER("is_grad_enabled", "", "whether operations are recorded",
           call_is_grad_enabled, 0),
    NUMBER("manual_seed", "seed", "begin the random numbers anew",
           call_manual_seed, 0),
    NUMBER("device", "type", "device('cuda') or device('cpu')", call_device, 0),
    NUMBER("checkpoint", "module, input",
           "run a module, keep only its input, run it again in backward",
           call_checkpoint, 0),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
