/* arithmetic.c - element-wise operations on two tensors. */
#include "ops/elementwise_op.h"

/* The operation, and what its gradient needs. */
struct operation {
    const char *name;
    lab__binary_op op;
    double x;    /* the kernel's factor */
    bool floats; /* the result is always float32 */
    const struct lab__node_kind *kind;
    larder_result (*save)(struct lab__node *node, lab_tensor *a, lab_tensor *b);
};

static larder_result arithmetic_record(const struct operation *what,
                                       lab_tensor *a, lab_tensor *b,
                                       lab_tensor *made)
{
    lab_tensor *inputs[] = {a, b};
    struct lab__node *node;
    larder_result r = lab__record(what->kind, 2, inputs, made, &node);

    if (r != LARDER_OK || node == NULL || what->save == NULL)
        return r;
    return what->save(node, a, b);
}

static larder_result arithmetic_run(const struct operation *what, lab_tensor *a,
                                    lab_tensor *b, lab_tensor **out)
{
    struct lab__operands o;
    lab_tensor *made;
    larder_result r = lab__operands_take(what->name, a, b, what->floats, &o);

    if (r != LARDER_OK)
        return r;
    r = lab__operands_room(&o, (lab_dtype)o.a->dtype, &made);
    if (r == LARDER_OK) {
        lab__binary(what->op, made, o.a, o.b, what->x);
        r = lab__done(arithmetic_record(what, a, b, made), made, out);
    }
    lab__operands_drop(&o);
    return r;
}

/* ---- sums --------------------------------------------------------------- */

/* Both inputs get the same gradient. */
static larder_result add_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    for (unsigned i = 0; i < 2; i++) {
        if (lab__node_wants(node, i))
            results[i] = lab__grad_take(grads, 0);
    }
    return LARDER_OK;
}

static larder_result sub_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    if (lab__node_wants(node, 0))
        results[0] = lab__grad_take(grads, 0);
    return lab__node_wants(node, 1) ? lab_neg(grads[0], &results[1])
                                    : LARDER_OK;
}

static const struct lab__node_kind add_kind = {"AddBackward0", add_backward,
                                               NULL};
static const struct lab__node_kind sub_kind = {"SubBackward0", sub_backward,
                                               NULL};

larder_result lab_add(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    static const struct operation add = {
        .name = "add", .op = LAB__ADD, .x = 1, .kind = &add_kind};

    return arithmetic_run(&add, a, b, out);
}

larder_result lab_sub(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    static const struct operation sub = {
        .name = "sub", .op = LAB__SUB, .kind = &sub_kind};

    return arithmetic_run(&sub, a, b, out);
}

/* ---- products ----------------------------------------------------------- */

/* The second input's gradient is computed first, as in PyTorch: by argument
 * name. */
larder_result lab__mul_backward(struct lab__node *node, lab_tensor **grads,
                                lab_tensor **results)
{
    lab_tensor *a, *b;
    larder_result r = lab__node_saved(node, 0, &a);

    if (r == LARDER_OK)
        r = lab__node_saved(node, 1, &b);
    if (r == LARDER_OK && lab__node_wants(node, 1))
        r = lab_mul(grads[0], a, &results[1]);
    if (r == LARDER_OK && lab__node_wants(node, 0))
        r = lab_mul(grads[0], b, &results[0]);
    return r;
}

static const struct lab__node_kind mul_kind = {"MulBackward0",
                                               lab__mul_backward, NULL};

/* A float32 tensor and a mask are multiplied without conversion. */
static larder_result mul_masked(lab_tensor *a, lab_tensor *mask,
                                lab_tensor **out)
{
    struct lab__operands o = {.a = a, .b = mask, .place = a->storage->place};
    lab_tensor *inputs[] = {a, mask}, *made;
    struct lab__node *node;
    larder_result r = lab__check_place("mul", a, mask);

    if (r == LARDER_OK)
        r = lab__broadcast("mul", a, mask, &o.ndim, o.sizes);
    if (r == LARDER_OK)
        r = lab__operands_room(&o, (lab_dtype)o.a->dtype, &made);
    if (r != LARDER_OK)
        return r;
    lab__binary(LAB__MUL, made, a, mask, 1);
    r = lab__record(&mul_kind, 2, inputs, made, &node);
    if (r == LARDER_OK)
        r = lab__save_each_other(node, a, mask);
    return lab__done(r, made, out);
}

larder_result lab_mul(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    static const struct operation mul = {.name = "mul",
                                         .op = LAB__MUL,
                                         .kind = &mul_kind,
                                         .save = lab__save_each_other};

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
    lab_tensor *minus = NULL, *once = NULL, *twice = NULL;
    larder_result r = lab_neg(grad, &minus);

    if (r == LARDER_OK)
        r = lab_div(a, b, &once);
    if (r == LARDER_OK)
        r = lab_div(once, b, &twice);
    if (r == LARDER_OK)
        r = lab_mul(minus, twice, out);
    lab_unref(twice);
    lab_unref(once);
    lab_unref(minus);
    return r;
}

larder_result lab__div_backward(struct lab__node *node, lab_tensor **grads,
                                lab_tensor **results)
{
    lab_tensor *a, *b;
    larder_result r = lab__node_saved(node, 0, &a);

    if (r == LARDER_OK)
        r = lab__node_saved(node, 1, &b);
    if (r == LARDER_OK && lab__node_wants(node, 1))
        r = divisor_grad(grads[0], a, b, &results[1]);
    if (r == LARDER_OK && lab__node_wants(node, 0))
        r = lab_div(grads[0], b, &results[0]);
    return r;
}

/* Both gradients need the divisor. */
larder_result lab__div_save(struct lab__node *node, lab_tensor *a,
                            lab_tensor *b)
{
    larder_result r = LARDER_OK;

    if (lab__node_wants(node, 1))
        r = lab__node_save(node, 0, a);
    return r == LARDER_OK ? lab__node_save(node, 1, b) : r;
}

static const struct lab__node_kind div_kind = {"DivBackward0",
                                               lab__div_backward, NULL};

larder_result lab_div(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    static const struct operation div = {.name = "div",
                                         .op = LAB__DIV,
                                         .floats = true,
                                         .kind = &div_kind,
                                         .save = lab__div_save};

    return arithmetic_run(&div, a, b, out);
}

/* ---- comparing ---------------------------------------------------------- */

larder_result lab_eq(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    struct lab__operands o;
    larder_result r = lab__operands_take("eq", a, b, false, &o);

    if (r != LARDER_OK)
        return r;
    r = lab__operands_room(&o, LAB_BOOL, out);
    if (r == LARDER_OK)
        lab__binary(LAB__EQ, *out, o.a, o.b, 0);
    lab__operands_drop(&o);
    return r;
}
