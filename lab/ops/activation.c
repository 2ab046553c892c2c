/* activation.c - element-wise operations on one tensor. */
#include "ops/elementwise_op.h"

/* What backward needs in slot 0: the input, the result or nothing. */
enum keep { KEEP_NOTHING, KEEP_INPUT, KEEP_RESULT };

struct operation {
    const char *name;
    lab__unary_op op;
    enum keep keep;
    const struct lab__node_kind *kind;
};

static larder_result activation_run(const struct operation *what, lab_tensor *a,
                                    lab_tensor **out)
{
    lab_tensor *made, *kept;
    larder_result r = lab__check_float(what->name, a);

    if (r == LARDER_OK)
        r = lab__unary_new(what->op, a, &made);
    if (r != LARDER_OK)
        return r;
    kept = what->keep == KEEP_INPUT ? a : made;
    r = lab__record_saving(what->kind, 1, &a, made, what->keep != KEEP_NOTHING,
                           &kept);
    return lab__done(r, made, out);
}

/* op(gradient, saved tensor) */
static larder_result with_saved(struct lab__node *node, lab__binary_op op,
                                lab_tensor **grads, lab_tensor **results)
{
    lab_tensor *saved;
    larder_result r = lab__node_saved(node, 0, &saved);

    return r != LARDER_OK
               ? r
               : lab__binary_new(op, grads[0], saved, 1, &results[0]);
}

static larder_result neg_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    (void)node;
    return lab_neg(grads[0], &results[0]);
}

static larder_result exp_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    return with_saved(node, LAB__MUL, grads, results);
}

static larder_result log_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    return with_saved(node, LAB__DIV, grads, results);
}

/* grad / (2 · result) */
static larder_result sqrt_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    lab_tensor *result, *twice;
    larder_result r = lab__node_saved(node, 0, &result);

    if (r == LARDER_OK)
        r = lab_mul_scalar(result, 2, &twice);
    if (r != LARDER_OK)
        return r;
    r = lab_div(grads[0], twice, &results[0]);
    lab_unref(twice);
    return r;
}

larder_result lab__relu_backward(struct lab__node *node, lab_tensor **grads,
                                 lab_tensor **results)
{
    return with_saved(node, LAB__RELU_BACK, grads, results);
}

static larder_result gelu_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    return with_saved(node, LAB__GELU_BACK, grads, results);
}

static larder_result tanh_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    return with_saved(node, LAB__TANH_BACK, grads, results);
}

static larder_result sigmoid_backward(struct lab__node *node,
                                      lab_tensor **grads, lab_tensor **results)
{
    return with_saved(node, LAB__SIGMOID_BACK, grads, results);
}

#define UNARY(name, OP, keep_what, Node, backward_fn)                          \
    larder_result lab_##name(lab_tensor *a, lab_tensor **out)                  \
    {                                                                          \
        static const struct lab__node_kind kind = {Node "Backward0",           \
                                                   backward_fn, NULL};         \
        static const struct operation what = {#name, OP, keep_what, &kind};    \
                                                                               \
        return activation_run(&what, a, out);                                  \
    }

UNARY(exp, LAB__EXP, KEEP_RESULT, "Exp", exp_backward)
UNARY(log, LAB__LOG, KEEP_INPUT, "Log", log_backward)
UNARY(sqrt, LAB__SQRT, KEEP_RESULT, "Sqrt", sqrt_backward)
UNARY(relu, LAB__RELU, KEEP_RESULT, "Relu", lab__relu_backward)
UNARY(gelu, LAB__GELU, KEEP_INPUT, "Gelu", gelu_backward)
UNARY(tanh, LAB__TANH, KEEP_RESULT, "Tanh", tanh_backward)
UNARY(sigmoid, LAB__SIGMOID, KEEP_RESULT, "Sigmoid", sigmoid_backward)

static const struct lab__node_kind neg_kind = {"NegBackward0", neg_backward,
                                               NULL};

/* Also for whole numbers. */
larder_result lab_neg(lab_tensor *a, lab_tensor **out)
{
    static const struct operation neg = {"neg", LAB__NEG, KEEP_NOTHING,
                                         &neg_kind};

    if (a->kind == LAB_INT64)
        return lab__scalar_new(LAB__MUL, a, -1, out);
    return activation_run(&neg, a, out);
}
