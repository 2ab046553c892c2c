/* matrix.c - products of matrices, alone or in batches, as operations that
 * backward knows. */
#include "ops/matrix_op.h"

#include <inttypes.h>

#include "kernels/kernels.h"

/* ---- the product -------------------------------------------------------- */

/* BLAS libraries need matrices whose rows or columns are adjacent and do not
 * overlap. */
static bool suits_blas(const lab_tensor *t)
{
    int64_t rows = t->sizes[t->ndim - 2], columns = t->sizes[t->ndim - 1];
    int64_t down = t->strides[t->ndim - 2], right = t->strides[t->ndim - 1];

    return (right == 1 && down >= (columns > 1 ? columns : 1)) ||
           (down == 1 && right >= (rows > 1 ? rows : 1)) ||
           lab_is_contiguous(t);
}

/* Other matrices are copied temporarily, as PyTorch's kernels do. */
static larder_result operand(lab_tensor *t, lab_tensor **out)
{
    larder_result r;

    if (suits_blas(t)) {
        *out = lab_ref(t);
        return LARDER_OK;
    }
    r = lab__tensor_like(t, out);
    if (r != LARDER_OK)
        return r;
    r = lab__copy(*out, t);
    if (r != LARDER_OK)
        lab_unref(*out);
    return r;
}

static larder_result multiply_into(lab_tensor *made, lab_tensor *a,
                                   lab_tensor *b)
{
    lab_tensor *left, *right;
    larder_result r = operand(a, &left);

    if (r != LARDER_OK)
        return r;
    r = operand(b, &right);
    if (r == LARDER_OK) {
        r = lab__matmul(made, left, right);
        lab_unref(right);
    }
    lab_unref(left);
    return r;
}

static larder_result bad_product(const lab_tensor *a, const lab_tensor *b)
{
    char left[LAB__SHAPE_TEXT], right[LAB__SHAPE_TEXT];

    if (a->ndim == 2) {
        return lab__fail(LARDER_ERR_INVALID,
                         "matmul: mat1 and mat2 shapes cannot be multiplied "
                         "(%" PRId64 "x%" PRId64 " and %" PRId64 "x%" PRId64
                         ")",
                         a->sizes[0], a->sizes[1], b->sizes[0], b->sizes[1]);
    }
    return lab__fail(LARDER_ERR_INVALID,
                     "matmul: batches of matrices of sizes %s and %s cannot be "
                     "multiplied",
                     lab__shape_text(a->ndim, a->sizes, left),
                     lab__shape_text(b->ndim, b->sizes, right));
}

static larder_result product_check(const lab_tensor *a, const lab_tensor *b)
{
    larder_result r = lab__check_float("matmul", a);

    if (r == LARDER_OK)
        r = lab__check_float("matmul", b);
    if (r == LARDER_OK)
        r = lab__check_place("matmul", a, b);
    if (r != LARDER_OK)
        return r;
    if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 2] ||
        (a->ndim == 3 && a->sizes[0] != b->sizes[0]))
        return bad_product(a, b);
    return LARDER_OK;
}

static larder_result multiply(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    int64_t sizes[3];
    larder_result r = product_check(a, b);

    if (r != LARDER_OK)
        return r;
    sizes[0] = a->sizes[0];
    sizes[a->ndim - 2] = a->sizes[a->ndim - 2];
    sizes[a->ndim - 1] = b->sizes[b->ndim - 1];
    r = lab__tensor_of(a, a->ndim, sizes, out);
    if (r != LARDER_OK)
        return r;
    r = multiply_into(*out, a, b);
    if (r != LARDER_OK)
        lab_unref(*out);
    return r;
}

larder_result lab__last_transposed(lab_tensor *t, lab_tensor **out)
{
    if (t->ndim >= 2)
        return lab_transpose(t, -2, -1, out);
    *out = lab_ref(t);
    return LARDER_OK;
}

/* ---- gradients ---------------------------------------------------------- */

static larder_result factor(lab_tensor *t, bool turned, lab_tensor **out)
{
    if (turned)
        return lab__last_transposed(t, out);
    *out = lab_ref(t);
    return LARDER_OK;
}

/* left·right, with either transposed first. */
static larder_result product_of(lab_tensor *left, bool left_turned,
                                lab_tensor *right, bool right_turned,
                                lab_tensor **out)
{
    lab_tensor *a, *b;
    larder_result r = factor(left, left_turned, &a);

    if (r != LARDER_OK)
        return r;
    r = factor(right, right_turned, &b);
    if (r == LARDER_OK) {
        r = multiply(a, b, out);
        lab_unref(b);
    }
    lab_unref(a);
    return r;
}

/* Whether a matrix is stored by columns: then its gradient is too. */
static bool is_by_columns(const struct lab__node *node, unsigned i)
{
    return node->integer[i] != 0;
}

static larder_result turned(larder_result r, lab_tensor *made, lab_tensor **out)
{
    if (r != LARDER_OK)
        return r;
    r = lab__last_transposed(made, out);
    lab_unref(made);
    return r;
}

/* grad·bᵀ */
static larder_result left_grad(const struct lab__node *node, lab_tensor *grad,
                               lab_tensor *b, lab_tensor **out)
{
    lab_tensor *made = NULL;
    larder_result r;

    if (!is_by_columns(node, 0))
        return product_of(grad, false, b, true, out);
    r = product_of(b, false, grad, true, &made);
    return turned(r, made, out);
}

/* aᵀ·grad */
static larder_result right_grad(const struct lab__node *node, lab_tensor *a,
                                lab_tensor *grad, lab_tensor **out)
{
    lab_tensor *made = NULL;
    larder_result r;

    if (!is_by_columns(node, 1))
        return product_of(a, true, grad, false, out);
    r = product_of(grad, true, a, false, &made);
    return turned(r, made, out);
}

/* mm and bmm: the second argument's gradient comes first. */
static larder_result mm_backward(struct lab__node *node, lab_tensor **grads,
                                 lab_tensor **results)
{
    lab_tensor *a, *b;
    larder_result r = lab__node_saved(node, 0, &a);

    if (r == LARDER_OK)
        r = lab__node_saved(node, 1, &b);
    if (r == LARDER_OK && lab__node_wants(node, 1))
        r = right_grad(node, a, grads[0], &results[1]);
    if (r == LARDER_OK && lab__node_wants(node, 0))
        r = left_grad(node, grads[0], b, &results[0]);
    return r;
}

/* Inputs are bias, a, b; slot 0 has b, slot 1 has a.  The argument names mat1,
 * mat2 and self give a different order than in mm. */
static larder_result addmm_backward(struct lab__node *node, lab_tensor **grads,
                                    lab_tensor **results)
{
    lab_tensor *a, *b;
    larder_result r = lab__node_saved(node, 0, &b);

    if (r == LARDER_OK)
        r = lab__node_saved(node, 1, &a);
    if (r == LARDER_OK && lab__node_wants(node, 1))
        r = left_grad(node, grads[0], b, &results[1]);
    if (r == LARDER_OK && lab__node_wants(node, 2))
        r = right_grad(node, a, grads[0], &results[2]);
    if (r == LARDER_OK && lab__node_wants(node, 0))
        results[0] = lab__grad_take(grads, 0);
    return r;
}

/* ---- recorded ----------------------------------------------------------- */

static const struct lab__node_kind mm_kind = {"MmBackward0", mm_backward, NULL};
static const struct lab__node_kind bmm_kind = {"BmmBackward0", mm_backward,
                                               NULL};
static const struct lab__node_kind addmm_kind = {"AddmmBackward0",
                                                 addmm_backward, NULL};

static bool lies_by_columns(const lab_tensor *t)
{
    return t->ndim == 2 && t->strides[0] == 1 && t->strides[1] == t->sizes[0];
}

static void note_layouts(struct lab__node *node, const lab_tensor *a,
                         const lab_tensor *b)
{
    node->integer[0] = lies_by_columns(a);
    node->integer[1] = lies_by_columns(b);
}

larder_result lab__mm(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    lab_tensor *inputs[] = {a, b}, *made;
    struct lab__node *node;
    larder_result r = multiply(a, b, &made);

    if (r != LARDER_OK)
        return r;
    r = lab__record(a->ndim == 2 ? &mm_kind : &bmm_kind, 2, inputs, made,
                    &node);
    if (r == LARDER_OK && node != NULL) {
        note_layouts(node, a, b);
        r = lab__save_each_other(node, a, b);
    }
    return lab__done(r, made, out);
}

static larder_result addmm_record(lab_tensor *bias, lab_tensor *a,
                                  lab_tensor *b, lab_tensor *made)
{
    lab_tensor *inputs[] = {bias, a, b};
    struct lab__node *node;
    larder_result r = lab__record(&addmm_kind, 3, inputs, made, &node);

    if (r != LARDER_OK || node == NULL)
        return r;
    note_layouts(node, a, b);
    if (lab__node_wants(node, 1))
        r = lab__node_save(node, 0, b);
    if (r == LARDER_OK && lab__node_wants(node, 2))
        r = lab__node_save(node, 1, a);
    return r;
}

static larder_result bias_check(const lab_tensor *bias, const lab_tensor *a,
                                const lab_tensor *b)
{
    const int64_t want = b->sizes[1];
    char text[LAB__SHAPE_TEXT];
    larder_result r = lab__check_float("linear", bias);

    if (r == LARDER_OK)
        r = lab__check_place("linear", bias, a);
    if (r != LARDER_OK)
        return r;
    if (bias->ndim == 1 && (bias->sizes[0] == want || bias->sizes[0] == 1))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "linear: a bias of sizes %s for %" PRId64 " outputs",
                     lab__shape_text(bias->ndim, bias->sizes, text), want);
}

larder_result lab__addmm(lab_tensor *bias, lab_tensor *a, lab_tensor *b,
                         lab_tensor **out)
{
    lab_tensor *made;
    larder_result r = bias_check(bias, a, b);

    if (r == LARDER_OK)
        r = multiply(a, b, &made);
    if (r != LARDER_OK)
        return r;
    lab__binary(LAB__ADD, made, made, bias, 1);
    return lab__done(addmm_record(bias, a, b, made), made, out);
}
