/* inplace.c - in-place operations, which write to the first argument's memory.
 *
 * If recorded, such an operation is a new node on top of the tensor's history.
 * Views of the same memory would have to follow; PyTorch rebuilds their
 * history, the lab reports an error if there are any. */
#include "ops/op.h"
#include "tensor/element.h"

/* ---- checks ------------------------------------------------------------- */

static larder_result history_check(const char *op, lab_tensor *a)
{
    const struct lab__storage *s = a->storage;

    if (lab_is_leaf(a) && lab_requires_grad(a)) {
        return lab__invalid("%s: a leaf that requires grad is being used in an "
                            "in-place operation; do it under no_grad",
                            op);
    }
    if (s->refs - s->saved == 1)
        return LARDER_OK;
    return lab__fail(LARDER_ERR_UNSUPPORTED,
                     "%s: recording an in-place operation on a tensor that "
                     "shares its memory with another is not supported",
                     op);
}

/* Whether the operation may be recorded, if it is. */
static larder_result record_check(const char *op,
                                  const struct lab__recording *what)
{
    lab_tensor *a = what->inputs[0];

    if (!lab__records(a->storage->session, what->count, what->inputs))
        return LARDER_OK;
    LAB__TRY(history_check(op, a));
    if (what->backward == NULL) {
        return lab__fail(LARDER_ERR_UNSUPPORTED,
                         "%s: has no gradient formula; call it under no_grad",
                         op);
    }
    return lab__check_float(op, a);
}

/* Create a node for the first input, to be attached at the end; NULL if nothing
 * is recorded.  Nothing can fail afterwards. */
static larder_result node_make(const struct lab__recording *what,
                               struct lab__node **out)
{
    lab_tensor *a = what->inputs[0];
    lab *l = a->storage->session;
    struct lab__meta *meta;
    larder_result r;

    *out = NULL;
    if (!lab__records(l, what->count, what->inputs))
        return LARDER_OK;
    LAB__TRY(lab__meta_of(a, &meta));
    LAB__TRY(lab__node_new(l, what, 1, out));
    if (!meta->retains_grad)
        return LARDER_OK;
    r = lab__node_retain(*out, 0, NULL);
    if (r != LARDER_OK)
        lab__node_unref(*out);
    return r;
}

static larder_result node_for(const char *op, const struct lab__recording *what,
                              struct lab__node **out)
{
    LAB__TRY(record_check(op, what));
    return node_make(what, out);
}

/* After the operation: a becomes the node's output. */
static larder_result inplace_finish(lab_tensor *a, struct lab__node *node)
{
    a->storage->version++;
    /* Cannot fail: meta and room exist. */
    return node != NULL ? lab__node_attach(node, a) : LARDER_OK;
}

/* The same with the operation's result. */
static larder_result inplace_end(larder_result r, lab_tensor *a,
                                 struct lab__node *node)
{
    if (r == LARDER_OK)
        return inplace_finish(a, node);
    lab__node_unref(node);
    return r;
}

/* The end of the memory that a dense tensor fills. */
static uint64_t end_of(const lab_tensor *t)
{
    return lab_address(t) + (uint64_t)lab_numel(t) * lab__dtype_bytes(t->dtype);
}

/* Whether a can be written while b is read: no element of a is a different
 * element of b.  As in PyTorch only tensors without gaps are checked. */
static larder_result overlap_check(const char *op, const lab_tensor *a,
                                   const lab_tensor *b)
{
    LAB__TRY(lab__check_writable(op, a));
    if (a->storage != b->storage || lab_numel(a) == 0 || !lab__is_dense(a) ||
        !lab__is_dense(b))
        return LARDER_OK;
    if ((lab_address(a) == lab_address(b) && end_of(a) == end_of(b)) ||
        lab_address(a) >= end_of(b) || lab_address(b) >= end_of(a))
        return LARDER_OK;
    return lab__invalid("%s: unsupported operation: some elements of the input "
                        "tensor and the written-to tensor refer to a single "
                        "memory location; clone() one of them first",
                        op);
}

/* b in a's dtype, checked for broadcasting to a. */
static larder_result take_other(const char *op, lab_tensor *a, lab_tensor *b,
                                lab_tensor **out)
{
    char have[LAB__SHAPE_TEXT], got[LAB__SHAPE_TEXT];
    LAB__OWNED_OPERANDS struct lab__operands o = {.a = NULL};

    if (a->kind != LAB_FLOAT32 &&
        (b->kind == LAB_FLOAT32 || a->dtype == LAB_BOOL)) {
        return lab__invalid("%s: the result, %s, can't be cast to %s", op,
                            lab__dtype_name(b->dtype),
                            lab__dtype_name(a->dtype));
    }
    LAB__TRY(lab__operands_take(op, a, b, false, &o));
    if (o.place != a->storage->place || !lab__is_sized(a, o.ndim, o.sizes)) {
        return lab__invalid(
            "%s: output with sizes %s doesn't match the broadcast shape %s", op,
            lab__shape_text(a->ndim, a->sizes, have),
            lab__shape_text(o.ndim, o.sizes, got));
    }
    LAB__TRY(overlap_check(op, a, o.b));
    return lab__give(&o.b, out);
}

/* ---- with a tensor ------------------------------------------------------ */

/* The other operand's gradient needs a before the write: a copy, as in
 * PyTorch. */
static larder_result copy_before(const struct lab__recording *what,
                                 lab_tensor **before)
{
    lab_tensor *a = what->inputs[0];

    if (!lab__records(a->storage->session, what->count, what->inputs) ||
        !lab_requires_grad(what->inputs[1]))
        return LARDER_OK;
    LAB__TRY(lab__tensor_like(a, before));
    return lab__copy(*before, a);
}

static larder_result inplace_run(const struct lab__operation *what,
                                 lab_tensor *a, lab_tensor *b, double x)
{
    lab_tensor *saved[2];
    const struct lab__recording recording = {.name = what->node,
                                             .backward = what->backward,
                                             LAB__INPUTS(a, b),
                                             .saves =
                                                 what->op == LAB__ADD ? 0 : 2,
                                             .saved = saved,
                                             .number = x};
    LAB__OWNED lab_tensor *other = NULL, *before = NULL;
    struct lab__node *node;

    LAB__TRY(take_other(what->name, a, b, &other));
    LAB__TRY(record_check(what->name, &recording));
    if (recording.saves > 0)
        LAB__TRY(copy_before(&recording, &before));
    lab__operands_saved(a, b, what->op == LAB__DIV, saved);
    saved[0] = before;
    LAB__TRY(node_make(&recording, &node));
    lab__binary(what->op, a, a, other, x);
    return inplace_finish(a, node);
}

/* b's gradient comes first; with alpha 1 it is the same tensor. */
static larder_result add_back(const struct lab__back *b)
{
    if (b->node->number == 1)
        b->results[1] = lab_ref(b->grads[0]);
    else if (lab__wants(b, 1))
        LAB__TRY(lab_mul_scalar(b->grads[0], b->node->number, &b->results[1]));
    b->results[0] = lab_ref(b->grads[0]);
    return LARDER_OK;
}

larder_result lab_add_inplace(lab_tensor *a, lab_tensor *b, double alpha)
{
    return inplace_run(
        &(struct lab__operation){"add_", LAB__ADD, "AddBackward0", add_back}, a,
        b, alpha);
}

larder_result lab_mul_inplace(lab_tensor *a, lab_tensor *b)
{
    return inplace_run(&(struct lab__operation){"mul_", LAB__MUL,
                                                "MulBackward0", lab__mul_back},
                       a, b, 1);
}

larder_result lab_div_inplace(lab_tensor *a, lab_tensor *b)
{
    LAB__TRY(lab__check_float("div_", a));
    return inplace_run(&(struct lab__operation){"div_", LAB__DIV,
                                                "DivBackward0", lab__div_back},
                       a, b, 1);
}

/* ---- with a number ------------------------------------------------------ */

static larder_result number_check(const char *op, const lab_tensor *a, double b)
{
    if (a->kind == LAB_FLOAT32 ||
        (a->kind == LAB_INT64 && b == (double)lab__to_int64(b)))
        return lab__check_writable(op, a);
    return lab__invalid("%s: the result can't be cast to %s", op,
                        lab__dtype_name(a->dtype));
}

static larder_result run_scalar(const struct lab__operation *what,
                                lab_tensor *a, double b)
{
    const struct lab__recording recording = {.name = what->node,
                                             .backward = what->backward,
                                             LAB__INPUTS(a),
                                             .number = b};
    struct lab__node *node;

    LAB__TRY(number_check(what->name, a, b));
    LAB__TRY(node_for(what->name, &recording, &node));
    lab__scalar(what->op, a, a, b);
    return inplace_finish(a, node);
}

larder_result lab_add_scalar_inplace(lab_tensor *a, double b)
{
    return run_scalar(&(struct lab__operation){"add_", LAB__ADD, "AddBackward0",
                                               lab__pass_back},
                      a, b);
}

larder_result lab_mul_scalar_inplace(lab_tensor *a, double b)
{
    return run_scalar(&(struct lab__operation){"mul_", LAB__MUL, "MulBackward0",
                                               lab__mul_scalar_back},
                      a, b);
}

/* ---- relu --------------------------------------------------------------- */

/* The result is saved, with the version it will have. */
larder_result lab_relu_inplace(lab_tensor *a)
{
    const struct lab__recording recording = {.name = "ReluBackward0",
                                             .backward = lab__saved_back,
                                             LAB__INPUTS(a),
                                             LAB__SAVES(a),
                                             .integer = {LAB__RELU_BACK}};
    struct lab__node *node;

    LAB__TRY(lab__check_float("relu_", a));
    LAB__TRY(lab__check_writable("relu_", a));
    LAB__TRY(node_for("relu_", &recording, &node));
    if (node != NULL)
        node->version[0]++;
    lab__unary(LAB__RELU, a, a);
    return inplace_finish(a, node);
}

/* ---- products and quotients added --------------------------------------- */

static larder_result add_combined(const char *name, lab__binary_op op,
                                  lab_tensor *a, lab_tensor *b, lab_tensor *c,
                                  double value)
{
    lab_tensor *inputs[] = {a, b, c};

    LAB__TRY(lab__check_float(name, a));
    for (int i = 1; i < 3; i++) {
        LAB__OWNED lab_tensor *other = NULL;

        LAB__TRY(lab__check_float(name, inputs[i]));
        LAB__TRY(take_other(name, a, inputs[i], &other));
    }
    LAB__TRY(record_check(
        name, &(struct lab__recording){.count = 3, .inputs = inputs}));
    lab__binary(op, a, b, c, value);
    return inplace_finish(a, NULL);
}

larder_result lab_addcmul_inplace(lab_tensor *a, lab_tensor *b, lab_tensor *c,
                                  double value)
{
    return add_combined("addcmul_", LAB__ADDCMUL, a, b, c, value);
}

larder_result lab_addcdiv_inplace(lab_tensor *a, lab_tensor *b, lab_tensor *c,
                                  double value)
{
    return add_combined("addcdiv_", LAB__ADDCDIV, a, b, c, value);
}

/* ---- overwriting -------------------------------------------------------- */

/* Nothing of the old values is left: a's gradient is zero. */
static larder_result overwrite_back(const struct lab__back *b)
{
    lab_tensor *g = b->grads[0];

    if (lab__wants(b, 0))
        LAB__TRY(lab__zeros_of(g, g->ndim, g->sizes, &b->results[0]));
    if (lab__wants(b, 1))
        LAB__TRY(lab_to(g, (lab_place)b->node->integer[0], &b->results[1]));
    return LARDER_OK;
}

larder_result lab_fill_inplace(lab_tensor *a, double value)
{
    const struct lab__recording recording = {
        .name = "FillBackward0", .backward = overwrite_back, LAB__INPUTS(a)};
    struct lab__node *node;

    LAB__TRY(node_for("fill_", &recording, &node));
    return inplace_end(lab__fill(a, value), a, node);
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
    const struct lab__recording recording = {.name = "CopyBackwards",
                                             .backward = overwrite_back,
                                             LAB__INPUTS(a, b),
                                             .integer = {b->storage->place}};
    LAB__OWNED lab_tensor *plain = NULL, *wide = NULL;
    struct lab__node *node;

    LAB__TRY(copy_check(a, b));
    LAB__TRY(lab__tensor_alias(b, &plain));
    LAB__TRY(lab_expand(plain, a->ndim, a->sizes, &wide));
    LAB__TRY(overlap_check("copy_", a, b));
    LAB__TRY(node_for("copy_", &recording, &node));
    return inplace_end(lab__copy(a, wide), a, node);
}
