/* inplace.c - in-place operations, which write to the first argument's memory.
 *
 * If recorded, such an operation is a new node on top of the tensor's history.
 * Views of the same memory would have to follow; PyTorch rebuilds their
 * history, the lab reports an error if there are any. */
#include "kernels/kernels.h"
#include "ops/elementwise_op.h"
#include "tensor/numbers.h"

/* ---- checks ------------------------------------------------------------- */

static larder_result history_check(const char *op, lab_tensor *a)
{
    const struct lab__storage *s = a->storage;

    if (lab_is_leaf(a) && lab_requires_grad(a)) {
        return lab__fail(LARDER_ERR_INVALID,
                         "%s: a leaf that requires grad is being used in an "
                         "in-place operation; do it under no_grad",
                         op);
    }
    if (s->refs - s->saved == 1)
        return LARDER_OK;
    return lab__fail(LARDER_ERR_UNSUPPORTED,
                     "%s: recording an operation in place on a tensor that "
                     "shares its memory with another is not supported",
                     op);
}

/* Create a node for a and the others, to be attached at the end; NULL if
 * nothing is recorded.  Nothing can fail afterwards. */
static larder_result node_for(const char *op, const struct lab__node_kind *kind,
                              unsigned count, lab_tensor *const *inputs,
                              struct lab__node **out)
{
    lab_tensor *a = inputs[0];
    struct lab__meta *meta;
    larder_result r;

    *out = NULL;
    if (!lab__records(a->storage->session, count, inputs))
        return LARDER_OK;
    r = history_check(op, a);
    if (r == LARDER_OK && kind == NULL) {
        return lab__fail(LARDER_ERR_UNSUPPORTED,
                         "%s: no gradient; do it under no_grad", op);
    }
    if (r == LARDER_OK)
        r = lab__check_float(op, a);
    if (r == LARDER_OK)
        r = lab__meta_of(a, &meta);
    if (r != LARDER_OK)
        return r;
    r = lab__node_new(a->storage->session, kind, count, inputs, 1, out);
    if (r == LARDER_OK && meta->retains_grad)
        r = lab__node_retain(*out, 0, NULL);
    if (r != LARDER_OK) {
        lab__node_unref(*out);
        *out = NULL;
    }
    return r;
}

/* After the operation: a becomes the node's output. */
static void inplace_finish(lab_tensor *a, struct lab__node *node)
{
    a->storage->version++;
    if (node != NULL)
        (void)lab__node_attach(node, a); /* cannot fail: meta and room exist */
}

/* The end of the memory that a dense tensor fills. */
static uint64_t end_of(const lab_tensor *t)
{
    return lab_address(t) +
           (uint64_t)lab_numel(t) * lab__dtype_bytes((lab_dtype)t->dtype);
}

/* Whether a can be written while b is read: no element of a is a different
 * element of b.  As in PyTorch only tensors without gaps are checked. */
static larder_result overlap_check(const char *op, const lab_tensor *a,
                                   const lab_tensor *b)
{
    larder_result r = lab__check_writable(op, a);

    if (r != LARDER_OK || a->storage != b->storage || lab_numel(a) == 0 ||
        !lab__is_dense(a) || !lab__is_dense(b))
        return r;
    if ((lab_address(a) == lab_address(b) && end_of(a) == end_of(b)) ||
        lab_address(a) >= end_of(b) || lab_address(b) >= end_of(a))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "%s: unsupported operation: some elements of the input "
                     "tensor and the written-to tensor refer to a single "
                     "memory location; clone() one of them first",
                     op);
}

static bool broadcasts_to(const struct lab__operands *o, const lab_tensor *a)
{
    if (o->place != a->storage->place || o->ndim != a->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++) {
        if (o->sizes[i] != a->sizes[i])
            return false;
    }
    return true;
}

/* b in a's dtype, checked for broadcasting to a. */
static larder_result take_other(const char *op, lab_tensor *a, lab_tensor *b,
                                lab_tensor **out)
{
    char have[LAB__SHAPE_TEXT], got[LAB__SHAPE_TEXT];
    struct lab__operands o;
    larder_result r;

    if (a->kind != LAB_FLOAT32 &&
        (b->kind == LAB_FLOAT32 || a->dtype == LAB_BOOL)) {
        return lab__fail(LARDER_ERR_INVALID,
                         "%s: the result, %s, can't be cast to %s", op,
                         lab__dtype_name((lab_dtype)b->dtype),
                         lab__dtype_name((lab_dtype)a->dtype));
    }
    r = lab__operands_take(op, a, b, false, &o);
    if (r != LARDER_OK)
        return r;
    if (broadcasts_to(&o, a)) {
        r = overlap_check(op, a, o.b);
        if (r == LARDER_OK)
            *out = lab_ref(o.b);
    } else {
        r = lab__fail(LARDER_ERR_INVALID,
                      "%s: output with sizes %s doesn't match the broadcast "
                      "shape %s",
                      op, lab__shape_text(a->ndim, a->sizes, have),
                      lab__shape_text(o.ndim, o.sizes, got));
    }
    lab__operands_drop(&o);
    return r;
}

/* ---- with a tensor ------------------------------------------------------ */

struct operation {
    const char *name;
    lab__binary_op op;
    const struct lab__node_kind *kind;
    /* Saves what the gradient needs of b and of a before the write. */
    larder_result (*save)(struct lab__node *node, lab_tensor *a, lab_tensor *b);
};

/* b's gradient needs a before the write: a copy, as in PyTorch. */
static larder_result save_copy(const struct operation *what,
                               struct lab__node *node, lab_tensor *a,
                               lab_tensor *b)
{
    lab_tensor *before = a;
    larder_result r = LARDER_OK;

    if (node == NULL || what->save == NULL)
        return LARDER_OK;
    if (lab__node_wants(node, 1)) {
        r = lab__tensor_like(a, &before);
        if (r == LARDER_OK)
            r = lab__copy(before, a);
    }
    if (r == LARDER_OK)
        r = what->save(node, before, b);
    if (before != a)
        lab_unref(before);
    return r;
}

static larder_result inplace_run(const struct operation *what, lab_tensor *a,
                                 lab_tensor *b, double x)
{
    lab_tensor *inputs[] = {a, b}, *other;
    struct lab__node *node = NULL;
    larder_result r = take_other(what->name, a, b, &other);

    if (r != LARDER_OK)
        return r;
    r = node_for(what->name, what->kind, 2, inputs, &node);
    if (r == LARDER_OK)
        r = save_copy(what, node, a, b);
    if (r == LARDER_OK) {
        if (node != NULL)
            node->number[0] = x;
        lab__binary(what->op, a, a, other, x);
        inplace_finish(a, node);
    } else {
        lab__node_unref(node);
    }
    lab_unref(other);
    return r;
}

/* b's gradient comes first; with alpha 1 it is the same tensor. */
static larder_result add_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    larder_result r = LARDER_OK;

    if (lab__node_wants(node, 1) && node->number[0] == 1)
        results[1] = lab__grad_take(grads, 0);
    else if (lab__node_wants(node, 1))
        r = lab_mul_scalar(grads[0], node->number[0], &results[1]);
    if (r == LARDER_OK && lab__node_wants(node, 0))
        results[0] = lab__grad_take(grads, 0);
    return r;
}

static const struct lab__node_kind add_kind = {"AddBackward0", add_backward,
                                               NULL};
static const struct lab__node_kind mul_kind = {"MulBackward0",
                                               lab__mul_backward, NULL};
static const struct lab__node_kind div_kind = {"DivBackward0",
                                               lab__div_backward, NULL};

larder_result lab_add_inplace(lab_tensor *a, lab_tensor *b, double alpha)
{
    static const struct operation add = {"add_", LAB__ADD, &add_kind, NULL};

    return inplace_run(&add, a, b, alpha);
}

larder_result lab_mul_inplace(lab_tensor *a, lab_tensor *b)
{
    static const struct operation mul = {"mul_", LAB__MUL, &mul_kind,
                                         lab__save_each_other};

    return inplace_run(&mul, a, b, 1);
}

larder_result lab_div_inplace(lab_tensor *a, lab_tensor *b)
{
    static const struct operation div = {"div_", LAB__DIV, &div_kind,
                                         lab__div_save};
    larder_result r = lab__check_float("div_", a);

    return r != LARDER_OK ? r : inplace_run(&div, a, b, 1);
}

/* ---- with a number ------------------------------------------------------ */

static larder_result add_scalar_backward(struct lab__node *node,
                                         lab_tensor **grads,
                                         lab_tensor **results)
{
    (void)node;
    results[0] = lab__grad_take(grads, 0);
    return LARDER_OK;
}

static larder_result mul_scalar_backward(struct lab__node *node,
                                         lab_tensor **grads,
                                         lab_tensor **results)
{
    return lab_mul_scalar(grads[0], node->number[0], &results[0]);
}

static const struct lab__node_kind add_scalar_kind = {
    "AddBackward0", add_scalar_backward, NULL};
static const struct lab__node_kind mul_scalar_kind = {
    "MulBackward0", mul_scalar_backward, NULL};

static larder_result number_check(const char *op, const lab_tensor *a, double b)
{
    if (a->kind == LAB_FLOAT32 ||
        (a->kind == LAB_INT64 && b == (double)lab__to_int64(b)))
        return lab__check_writable(op, a);
    return lab__fail(LARDER_ERR_INVALID, "%s: the result can't be cast to %s",
                     op, lab__dtype_name((lab_dtype)a->dtype));
}

static larder_result run_scalar(const char *name, lab__binary_op op,
                                const struct lab__node_kind *kind,
                                lab_tensor *a, double b)
{
    struct lab__node *node;
    larder_result r = number_check(name, a, b);

    if (r == LARDER_OK)
        r = node_for(name, kind, 1, &a, &node);
    if (r != LARDER_OK)
        return r;
    if (node != NULL)
        node->number[0] = b;
    lab__scalar(op, a, a, b);
    inplace_finish(a, node);
    return LARDER_OK;
}

larder_result lab_add_scalar_inplace(lab_tensor *a, double b)
{
    return run_scalar("add_", LAB__ADD, &add_scalar_kind, a, b);
}

larder_result lab_mul_scalar_inplace(lab_tensor *a, double b)
{
    return run_scalar("mul_", LAB__MUL, &mul_scalar_kind, a, b);
}

/* ---- relu --------------------------------------------------------------- */

static const struct lab__node_kind relu_kind = {"ReluBackward0",
                                                lab__relu_backward, NULL};

/* The result is saved, with the version it will have. */
larder_result lab_relu_inplace(lab_tensor *a)
{
    struct lab__node *node = NULL;
    larder_result r = lab__check_float("relu_", a);

    if (r == LARDER_OK)
        r = lab__check_writable("relu_", a);
    if (r == LARDER_OK)
        r = node_for("relu_", &relu_kind, 1, &a, &node);
    if (r == LARDER_OK && node != NULL)
        r = lab__node_save(node, 0, a);
    if (r != LARDER_OK) {
        lab__node_unref(node);
        return r;
    }
    if (node != NULL)
        node->saved[0].version++;
    lab__unary(LAB__RELU, a, a);
    inplace_finish(a, node);
    return LARDER_OK;
}

/* ---- products and quotients added --------------------------------------- */

static larder_result check_three(const char *op, lab_tensor *a, lab_tensor *b,
                                 lab_tensor *c)
{
    lab_tensor *inputs[] = {a, b, c}, *other;
    struct lab__node *node;
    larder_result r = lab__check_float(op, a);

    for (int i = 1; r == LARDER_OK && i < 3; i++) {
        r = lab__check_float(op, inputs[i]);
        if (r == LARDER_OK)
            r = take_other(op, a, inputs[i], &other);
        if (r == LARDER_OK)
            lab_unref(other);
    }
    return r == LARDER_OK ? node_for(op, NULL, 3, inputs, &node) : r;
}

larder_result lab_addcmul_inplace(lab_tensor *a, lab_tensor *b, lab_tensor *c,
                                  double value)
{
    larder_result r = check_three("addcmul_", a, b, c);

    if (r == LARDER_OK) {
        lab__addcmul(a, b, c, value);
        inplace_finish(a, NULL);
    }
    return r;
}

larder_result lab_addcdiv_inplace(lab_tensor *a, lab_tensor *b, lab_tensor *c,
                                  double value)
{
    larder_result r = check_three("addcdiv_", a, b, c);

    if (r == LARDER_OK) {
        lab__addcdiv(a, b, c, value);
        inplace_finish(a, NULL);
    }
    return r;
}

/* ---- overwriting -------------------------------------------------------- */

/* Nothing of the old values is left: a's gradient is zero. */
static larder_result overwrite_backward(struct lab__node *node,
                                        lab_tensor **grads,
                                        lab_tensor **results)
{
    lab_tensor *g = grads[0];
    larder_result r = LARDER_OK;

    if (lab__node_wants(node, 0))
        r = lab_zeros(node->session, (lab_dtype)g->dtype, g->storage->place,
                      g->ndim, g->sizes, &results[0]);
    if (r == LARDER_OK && lab__node_wants(node, 1))
        r = lab_to(g, (lab_place)node->integer[0], &results[1]);
    return r;
}

static const struct lab__node_kind fill_kind = {"FillBackward0",
                                                overwrite_backward, NULL};
static const struct lab__node_kind copy_kind = {"CopyBackwards",
                                                overwrite_backward, NULL};

larder_result lab_fill_inplace(lab_tensor *a, double value)
{
    struct lab__node *node;
    larder_result r = node_for("fill_", &fill_kind, 1, &a, &node);

    if (r != LARDER_OK)
        return r;
    r = lab__fill(a, value);
    if (r == LARDER_OK)
        inplace_finish(a, node);
    else
        lab__node_unref(node);
    return r;
}

static larder_result copy_check(const lab_tensor *a, const lab_tensor *b)
{
    if (a->storage->session == b->storage->session)
        return LARDER_OK;
    return lab__check_place("copy_", a, b);
}

/* From any place and dtype, broadcast to a. */
larder_result lab_copy_inplace(lab_tensor *a, lab_tensor *b)
{
    lab_tensor *inputs[] = {a, b}, *plain, *wide = NULL;
    struct lab__node *node = NULL;
    larder_result r = copy_check(a, b);

    if (r == LARDER_OK)
        r = lab__tensor_alias(b, &plain);
    if (r != LARDER_OK)
        return r;
    r = lab_expand(plain, a->ndim, a->sizes, &wide);
    if (r == LARDER_OK)
        r = overlap_check("copy_", a, b);
    if (r == LARDER_OK)
        r = node_for("copy_", &copy_kind, 2, inputs, &node);
    if (r == LARDER_OK)
        r = lab__copy(a, wide);
    if (r == LARDER_OK) {
        if (node != NULL)
            node->integer[0] = (int64_t)b->storage->place;
        inplace_finish(a, node);
    } else {
        lab__node_unref(node);
    }
    lab_unref(wide);
    lab_unref(plain);
    return r;
}
