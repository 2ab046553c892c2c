/* scalar_arithmetic.c - operations on a tensor and a number, which is not made
 * a tensor. */
#include "ops/op.h"

#include <math.h>

/* The dtype of t with a number: t's own, except that whole numbers with any
 * other number become float32, and masks int64. */
static larder_result with_number(lab_tensor *t, double number, bool floats,
                                 lab_tensor **out)
{
    bool whole = !floats && number == rint(number) && fabs(number) < 9e15;
    lab_dtype dtype = t->dtype;

    if (t->kind != LAB_FLOAT32 && !whole)
        dtype = LAB_FLOAT32;
    else if (t->kind == LAB_BOOL)
        dtype = LAB_INT64;
    return lab__in_dtype(t, dtype, out);
}

/* op(t, number), or op(number, t).  Backward finds the number in the node, and
 * in slot 0 what is saved. */
struct operation {
    lab__binary_op op;
    enum { NUMBER_FIRST = 1, SAVES_INPUT = 2, SAVES_RESULT = 4 } flags;
    const char *node;
    lab__backward_fn backward;
};

static larder_result scalar_arithmetic_run(const struct operation *what,
                                           lab_tensor *t, double number,
                                           lab_tensor **out)
{
    LAB__OWNED lab_tensor *operand = NULL, *made = NULL;

    LAB__TRY(with_number(t, number, what->op == LAB__DIV, &operand));
    LAB__TRY(lab__room_like(operand, &made));
    if ((what->flags & NUMBER_FIRST) != 0)
        lab__scalar_first(what->op, made, number, operand);
    else
        lab__scalar(what->op, made, operand, number);
    return lab__recorded(
        &(struct lab__recording){
            .name = what->node,
            .backward = what->backward,
            LAB__INPUTS(t),
            .saves = (what->flags & (SAVES_INPUT | SAVES_RESULT)) != 0,
            .saved = (what->flags & SAVES_INPUT) != 0 ? &t : &made,
            .number = number},
        &made, out);
}

/* ---- gradients ---------------------------------------------------------- */

static larder_result rsub_back(const struct lab__back *b)
{
    return lab_neg(b->grads[0], &b->results[0]);
}

larder_result lab__mul_scalar_back(const struct lab__back *b)
{
    return lab_mul_scalar(b->grads[0], b->node->number, &b->results[0]);
}

static larder_result div_back(const struct lab__back *b)
{
    return lab_div_scalar(b->grads[0], b->node->number, &b->results[0]);
}

/* -grad · (result · result) */
static larder_result reciprocal_back(const struct lab__back *b)
{
    lab_tensor *result = lab__saved(b, 0);
    LAB__OWNED lab_tensor *minus = NULL, *square = NULL;

    LAB__TRY(lab_neg(b->grads[0], &minus));
    LAB__TRY(lab_mul(result, result, &square));
    return lab_mul(minus, square, &b->results[0]);
}

/* grad · (b · aᵇ⁻¹) */
static larder_result pow_back(const struct lab__back *b)
{
    double exponent = b->node->number;
    LAB__OWNED lab_tensor *less = NULL, *slope = NULL;

    if (exponent == 0)
        return lab_mul_scalar(b->grads[0], 0, &b->results[0]);
    LAB__TRY(lab_pow_scalar(lab__saved(b, 0), exponent - 1, &less));
    LAB__TRY(lab_mul_scalar(less, exponent, &slope));
    return lab_mul(b->grads[0], slope, &b->results[0]);
}

/* ---- the operations ----------------------------------------------------- */

#define SCALAR(name, OP, Node, backward)                                       \
    larder_result lab_##name##_scalar(lab_tensor *a, double b,                 \
                                      lab_tensor **out)                        \
    {                                                                          \
        static const struct operation what = {OP, 0, Node, backward};          \
                                                                               \
        return scalar_arithmetic_run(&what, a, b, out);                        \
    }

SCALAR(add, LAB__ADD, "AddBackward0", lab__pass_back)
SCALAR(sub, LAB__SUB, "SubBackward0", lab__pass_back)
SCALAR(mul, LAB__MUL, "MulBackward0", lab__mul_scalar_back)
SCALAR(div, LAB__DIV, "DivBackward0", div_back)

static const struct operation rsub = {LAB__SUB, NUMBER_FIRST, "RsubBackward1",
                                      rsub_back},
                              reciprocal = {LAB__DIV,
                                            NUMBER_FIRST | SAVES_RESULT,
                                            "ReciprocalBackward0",
                                            reciprocal_back},
                              power = {LAB__POW, SAVES_INPUT, "PowBackward0",
                                       pow_back};

larder_result lab_rsub_scalar(double a, lab_tensor *b, lab_tensor **out)
{
    return scalar_arithmetic_run(&rsub, b, a, out);
}

/* A number over a tensor: reciprocal, then a product. */
larder_result lab_rdiv_scalar(double a, lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *over = NULL;

    LAB__TRY(scalar_arithmetic_run(&reciprocal, b, 1, &over));
    return lab_mul_scalar(over, a, out);
}

larder_result lab_pow_scalar(lab_tensor *a, double b, lab_tensor **out)
{
    if (a->kind != LAB_FLOAT32 && b < 0 && b == rint(b)) {
        return lab__invalid(
            "pow: Integers to negative integer powers are not allowed.");
    }
    return scalar_arithmetic_run(&power, a, b, out);
}
