/* activation.c - element-wise operations on one tensor. */
#include "ops/op.h"

/* What backward needs in slot 0: nothing, the input or the result. */
enum keep { KEEP_NOTHING, KEEP_INPUT, KEEP_RESULT };

struct operation {
    const char *name;
    lab__unary_op op;
    enum keep keep;
    const char *node;
    lab__backward_fn backward;
    lab__binary_op back; /* of lab__saved_back() */
};

static larder_result activation_run(const struct operation *what, lab_tensor *a,
                                    lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__check_float(what->name, a));
    LAB__TRY(lab__room_like(a, &made));
    lab__unary(what->op, made, a);
    return lab__recorded(
        &(struct lab__recording){.name = what->node,
                                 .backward = what->backward,
                                 LAB__INPUTS(a),
                                 .saves = what->keep != KEEP_NOTHING,
                                 .saved = what->keep == KEEP_INPUT ? &a : &made,
                                 .integer = {what->back}},
        &made, out);
}

larder_result lab__saved_back(const struct lab__back *b)
{
    LAB__OWNED_OPERANDS struct lab__operands o = {.a = NULL};

    LAB__TRY(lab__operands_take("gradient", b->grads[0], lab__saved(b, 0), true,
                                &o));
    LAB__TRY(lab__operands_room(&o, o.a->dtype, &b->results[0]));
    lab__binary((lab__binary_op)b->node->integer[0], b->results[0], o.a, o.b,
                1);
    return LARDER_OK;
}

static larder_result neg_back(const struct lab__back *b)
{
    return lab_neg(b->grads[0], &b->results[0]);
}

/* grad / (2 · result) */
static larder_result sqrt_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *twice = NULL;

    LAB__TRY(lab_mul_scalar(lab__saved(b, 0), 2, &twice));
    return lab_div(b->grads[0], twice, &b->results[0]);
}

#define UNARY(name, OP, Node, keep, backward, back)                            \
    larder_result lab_##name(lab_tensor *a, lab_tensor **out)                  \
    {                                                                          \
        static const struct operation what = {                                 \
            #name, OP, keep, Node "Backward0", backward, back};                \
                                                                               \
        return activation_run(&what, a, out);                                  \
    }

UNARY(exp, LAB__EXP, "Exp", KEEP_RESULT, lab__saved_back, LAB__MUL)
UNARY(log, LAB__LOG, "Log", KEEP_INPUT, lab__saved_back, LAB__DIV)
UNARY(sqrt, LAB__SQRT, "Sqrt", KEEP_RESULT, sqrt_back, 0)
UNARY(relu, LAB__RELU, "Relu", KEEP_RESULT, lab__saved_back, LAB__RELU_BACK)
UNARY(gelu, LAB__GELU, "Gelu", KEEP_INPUT, lab__saved_back, LAB__GELU_BACK)
UNARY(tanh, LAB__TANH, "Tanh", KEEP_RESULT, lab__saved_back, LAB__TANH_BACK)
UNARY(sigmoid, LAB__SIGMOID, "Sigmoid", KEEP_RESULT, lab__saved_back,
      LAB__SIGMOID_BACK)

/* Also for whole numbers. */
larder_result lab_neg(lab_tensor *a, lab_tensor **out)
{
    static const struct operation neg = {.name = "neg",
                                         .op = LAB__NEG,
                                         .node = "NegBackward0",
                                         .backward = neg_back};

    if (a->kind == LAB_INT64)
        return lab_mul_scalar(a, -1, out);
    return activation_run(&neg, a, out);
}
