/* arithmetic.c - element-wise operations on two tensors. */
#include "ops/op.h"

static larder_result arithmetic_record(const struct lab__operation *what,
                                       lab_tensor *a, lab_tensor *b,
                                       lab_tensor **made, lab_tensor **out)
{
    lab_tensor *saved[2];
    bool is_sum = what->op == LAB__ADD || what->op == LAB__SUB;

    lab__operands_saved(a, b, what->op == LAB__DIV, saved);
    return lab__recorded(&(struct lab__recording){.name = what->node,
                                                  .backward = what->backward,
                                                  LAB__INPUTS(a, b),
                                                  .saves = is_sum ? 0 : 2,
                                                  .saved = saved},
                         made, out);
}

static larder_result arithmetic_run(const struct lab__operation *what,
                                    lab_tensor *a, lab_tensor *b,
                                    lab_tensor **out)
{
    LAB__OWNED_OPERANDS struct lab__operands o = {.a = NULL};
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__operands_take(what->name, a, b, what->op == LAB__DIV, &o));
    LAB__TRY(lab__operands_room(&o, o.a->dtype, &made));
    lab__binary(what->op, made, o.a, o.b, 1);
    return arithmetic_record(what, a, b, &made, out);
}

/* ---- sums --------------------------------------------------------------- */

static larder_result sub_back(const struct lab__back *b)
{
    b->results[0] = lab_ref(b->grads[0]);
    return lab__wants(b, 1) ? lab_neg(b->grads[0], &b->results[1]) : LARDER_OK;
}

/* ---- products ----------------------------------------------------------- */

/* The second input's gradient is computed first, as in PyTorch: by argument
 * name. */
larder_result lab__mul_back(const struct lab__back *b)
{
    if (lab__wants(b, 1))
        LAB__TRY(lab_mul(b->grads[0], lab__saved(b, 0), &b->results[1]));
    if (lab__wants(b, 0))
        LAB__TRY(lab_mul(b->grads[0], lab__saved(b, 1), &b->results[0]));
    return LARDER_OK;
}

static const struct lab__operation mul = {"mul", LAB__MUL, "MulBackward0",
                                          lab__mul_back};

/* A float32 tensor and a mask are multiplied without conversion. */
static larder_result mul_masked(lab_tensor *a, lab_tensor *mask,
                                lab_tensor **out)
{
    struct lab__operands o = {.a = a, .b = mask, .place = a->storage->place};
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__check_place("mul", a, mask));
    LAB__TRY(lab__broadcast("mul", a, mask, &o.ndim, o.sizes));
    LAB__TRY(lab__operands_room(&o, a->dtype, &made));
    lab__binary(LAB__MUL, made, a, mask, 1);
    return arithmetic_record(&mul, a, mask, &made, out);
}

larder_result lab_mul(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    if (a->kind == LAB_FLOAT32 && b->dtype == LAB_BOOL)
        return mul_masked(a, b, out);
    return arithmetic_run(&mul, a, b, out);
}

/* ---- quotients ---------------------------------------------------------- */

/* -grad · ((a / b) / b).  The temporaries live until the result is complete,
 * like those of a C++ expression. */
static larder_result divisor_grad(lab_tensor *grad, lab_tensor *a,
                                  lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *minus = NULL, *once = NULL, *twice = NULL;

    LAB__TRY(lab_neg(grad, &minus));
    LAB__TRY(lab_div(a, b, &once));
    LAB__TRY(lab_div(once, b, &twice));
    return lab_mul(minus, twice, out);
}

larder_result lab__div_back(const struct lab__back *b)
{
    lab_tensor *divisor = lab__saved(b, 1);

    if (lab__wants(b, 1))
        LAB__TRY(divisor_grad(b->grads[0], lab__saved(b, 0), divisor,
                              &b->results[1]));
    if (lab__wants(b, 0))
        LAB__TRY(lab_div(b->grads[0], divisor, &b->results[0]));
    return LARDER_OK;
}

/* ---- the operations ----------------------------------------------------- */

#define ARITHMETIC(name, OP, Node, backward)                                   \
    larder_result lab_##name(lab_tensor *a, lab_tensor *b, lab_tensor **out)   \
    {                                                                          \
        static const struct lab__operation what = {#name, OP, Node, backward}; \
                                                                               \
        return arithmetic_run(&what, a, b, out);                               \
    }

ARITHMETIC(add, LAB__ADD, "AddBackward0", lab__pass_back)
ARITHMETIC(sub, LAB__SUB, "SubBackward0", sub_back)
ARITHMETIC(div, LAB__DIV, "DivBackward0", lab__div_back)

/* ---- comparing ---------------------------------------------------------- */

larder_result lab_eq(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED_OPERANDS struct lab__operands o = {.a = NULL};

    LAB__TRY(lab__operands_take("eq", a, b, false, &o));
    LAB__TRY(lab__operands_room(&o, LAB_BOOL, out));
    lab__binary(LAB__EQ, *out, o.a, o.b, 0);
    return LARDER_OK;
}
