/* scalar_arithmetic.c - operations on a tensor and a number, which is not made
 * a tensor. */
#include "ops/elementwise_op.h"

#include <math.h>

/* The dtype of t with a number: t's own, except that whole numbers with any
 * other number become float32, and masks int64. */
static larder_result with_number(lab_tensor *t, double number, bool floats,
                                 lab_tensor **out)
{
    bool whole = !floats && number == rint(number) && fabs(number) < 9e15;
    lab_dtype dtype = (lab_dtype)t->dtype;

    if (t->kind != LAB_FLOAT32 && !whole)
        dtype = LAB_FLOAT32;
    else if (t->kind == LAB_BOOL)
        dtype = LAB_INT64;
    return lab__in_dtype(t, dtype, out);
}

/* Computes op(t, number), or op(number, t) if `first`, with the number stored
 * in the node. */
struct operation {
    lab__binary_op op;
    bool first, floats;
    const struct lab__node_kind *kind;
};

static larder_result scalar_arithmetic_make(const struct operation *what,
                                            lab_tensor *t, double number,
                                            lab_tensor **out)
{
    lab_tensor *operand;
    larder_result r = with_number(t, number, what->floats, &operand);

    if (r != LARDER_OK)
        return r;
    r = what->first ? lab__scalar_first_new(what->op, number, operand, out)
                    : lab__scalar_new(what->op, operand, number, out);
    lab_unref(operand);
    return r;
}

static larder_result scalar_arithmetic_run(const struct operation *what,
                                           lab_tensor *t, double number,
                                           lab_tensor **out,
                                           struct lab__node **node)
{
    struct lab__node *mine = NULL;
    lab_tensor *made;
    larder_result r = scalar_arithmetic_make(what, t, number, &made);

    if (r != LARDER_OK)
        return r;
    r = lab__record(what->kind, 1, &t, made, &mine);
    if (mine != NULL)
        mine->number[0] = number;
    if (node != NULL)
        *node = mine;
    return lab__done(r, made, out);
}

/* ---- sums --------------------------------------------------------------- */

static larder_result same_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    (void)node;
    results[0] = lab__grad_take(grads, 0);
    return LARDER_OK;
}

static larder_result negative_backward(struct lab__node *node,
                                       lab_tensor **grads, lab_tensor **results)
{
    (void)node;
    return lab_neg(grads[0], &results[0]);
}

static const struct lab__node_kind add_kind = {"AddBackward0", same_backward,
                                               NULL};
static const struct lab__node_kind sub_kind = {"SubBackward0", same_backward,
                                               NULL};
static const struct lab__node_kind rsub_kind = {"RsubBackward1",
                                                negative_backward, NULL};

larder_result lab_add_scalar(lab_tensor *a, double b, lab_tensor **out)
{
    static const struct operation add = {.op = LAB__ADD, .kind = &add_kind};

    return scalar_arithmetic_run(&add, a, b, out, NULL);
}

larder_result lab_sub_scalar(lab_tensor *a, double b, lab_tensor **out)
{
    static const struct operation sub = {.op = LAB__SUB, .kind = &sub_kind};

    return scalar_arithmetic_run(&sub, a, b, out, NULL);
}

larder_result lab_rsub_scalar(double a, lab_tensor *b, lab_tensor **out)
{
    static const struct operation rsub = {
        .op = LAB__SUB, .first = true, .kind = &rsub_kind};

    return scalar_arithmetic_run(&rsub, b, a, out, NULL);
}

/* ---- products ----------------------------------------------------------- */

static larder_result mul_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    return lab_mul_scalar(grads[0], node->number[0], &results[0]);
}

static larder_result div_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    return lab_div_scalar(grads[0], node->number[0], &results[0]);
}

static const struct lab__node_kind mul_kind = {"MulBackward0", mul_backward,
                                               NULL};
static const struct lab__node_kind div_kind = {"DivBackward0", div_backward,
                                               NULL};

larder_result lab_mul_scalar(lab_tensor *a, double b, lab_tensor **out)
{
    static const struct operation mul = {.op = LAB__MUL, .kind = &mul_kind};

    return scalar_arithmetic_run(&mul, a, b, out, NULL);
}

larder_result lab_div_scalar(lab_tensor *a, double b, lab_tensor **out)
{
    static const struct operation div = {
        .op = LAB__DIV, .floats = true, .kind = &div_kind};

    return scalar_arithmetic_run(&div, a, b, out, NULL);
}

/* ---- a number over a tensor: reciprocal, then a product ------------------ */

/* -grad · (result · result) */
static larder_result reciprocal_backward(struct lab__node *node,
                                         lab_tensor **grads,
                                         lab_tensor **results)
{
    lab_tensor *result, *minus = NULL, *square = NULL;
    larder_result r = lab__node_saved(node, 0, &result);

    if (r == LARDER_OK)
        r = lab_neg(grads[0], &minus);
    if (r == LARDER_OK)
        r = lab_mul(result, result, &square);
    if (r == LARDER_OK)
        r = lab_mul(minus, square, &results[0]);
    lab_unref(square);
    lab_unref(minus);
    return r;
}

static const struct lab__node_kind reciprocal_kind = {
    "ReciprocalBackward0", reciprocal_backward, NULL};

static larder_result reciprocal(lab_tensor *t, lab_tensor **out)
{
    static const struct operation over = {.op = LAB__DIV,
                                          .first = true,
                                          .floats = true,
                                          .kind = &reciprocal_kind};
    struct lab__node *node;
    lab_tensor *made;
    larder_result r = scalar_arithmetic_run(&over, t, 1, &made, &node);

    if (r != LARDER_OK)
        return r;
    if (node != NULL)
        r = lab__node_save(node, 0, made);
    return lab__done(r, made, out);
}

larder_result lab_rdiv_scalar(double a, lab_tensor *b, lab_tensor **out)
{
    lab_tensor *over;
    larder_result r = reciprocal(b, &over);

    if (r != LARDER_OK)
        return r;
    r = lab_mul_scalar(over, a, out);
    lab_unref(over);
    return r;
}

/* ---- powers ------------------------------------------------------------- */

/* grad · (b · aᵇ⁻¹) */
static larder_result pow_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    double b = node->number[0];
    lab_tensor *a, *less = NULL, *slope = NULL;
    larder_result r = lab__node_saved(node, 0, &a);

    if (r == LARDER_OK && b == 0)
        return lab__scalar_new(LAB__MUL, grads[0], 0, &results[0]);
    if (r == LARDER_OK)
        r = lab_pow_scalar(a, b - 1, &less);
    if (r == LARDER_OK)
        r = lab_mul_scalar(less, b, &slope);
    if (r == LARDER_OK)
        r = lab_mul(grads[0], slope, &results[0]);
    lab_unref(slope);
    lab_unref(less);
    return r;
}

static const struct lab__node_kind pow_kind = {"PowBackward0", pow_backward,
                                               NULL};

larder_result lab_pow_scalar(lab_tensor *a, double b, lab_tensor **out)
{
    static const struct operation power = {.op = LAB__POW, .kind = &pow_kind};
    struct lab__node *node;
    lab_tensor *made;
    larder_result r;

    if (a->kind != LAB_FLOAT32 && b < 0 && b == rint(b)) {
        return lab__fail(LARDER_ERR_INVALID,
                         "pow: Integers to negative integer powers are not "
                         "allowed.");
    }
    r = scalar_arithmetic_run(&power, a, b, &made, &node);
    if (r != LARDER_OK)
        return r;
    if (node != NULL)
        r = lab__node_save(node, 0, a);
    return lab__done(r, made, out);
}
