/* matrix.c - products of matrices, alone or in batches, as operations that
 * backward knows. */
#include "ops/matrix_op.h"

#include <inttypes.h>

#include "kernels/kernels.h"
#include "ops/nn_common.h"

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
    if (suits_blas(t))
        return lab__as_is(t, out);
    LAB__TRY(lab__tensor_like(t, out));
    return lab__copy(*out, t);
}

static larder_result bad_product(const lab_tensor *a, const lab_tensor *b)
{
    char left[LAB__SHAPE_TEXT], right[LAB__SHAPE_TEXT];

    if (a->ndim == 2) {
        return lab__invalid(
            "matmul: mat1 and mat2 shapes cannot be multiplied (%" PRId64
            "x%" PRId64 " and %" PRId64 "x%" PRId64 ")",
            a->sizes[0], a->sizes[1], b->sizes[0], b->sizes[1]);
    }
    return lab__invalid(
        "matmul: batches of matrices of sizes %s and %s cannot be multiplied",
        lab__shape_text(a->ndim, a->sizes, left),
        lab__shape_text(b->ndim, b->sizes, right));
}

static larder_result product_check(const lab_tensor *a, const lab_tensor *b)
{
    LAB__TRY(lab__check_float("matmul", a));
    LAB__TRY(lab__nn_check_part("matmul", a, b));
    if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 2] ||
        (a->ndim == 3 && a->sizes[0] != b->sizes[0]))
        return bad_product(a, b);
    return LARDER_OK;
}

static larder_result multiply(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    int64_t sizes[3];
    LAB__OWNED lab_tensor *made = NULL, *left = NULL, *right = NULL;

    LAB__TRY(product_check(a, b));
    sizes[0] = a->sizes[0];
    sizes[a->ndim - 2] = a->sizes[a->ndim - 2];
    sizes[a->ndim - 1] = b->sizes[b->ndim - 1];
    LAB__TRY(lab__tensor_of(a, a->ndim, sizes, &made));
    LAB__TRY(operand(a, &left));
    LAB__TRY(operand(b, &right));
    LAB__TRY(lab__matmul(made, left, right));
    return lab__give(&made, out);
}

larder_result lab__last_transposed(lab_tensor *t, lab_tensor **out)
{
    return t->ndim >= 2 ? lab_transpose(t, -2, -1, out) : lab__as_is(t, out);
}

/* ---- gradients ---------------------------------------------------------- */

static larder_result factor(lab_tensor *t, bool turned, lab_tensor **out)
{
    return turned ? lab__last_transposed(t, out) : lab__as_is(t, out);
}

/* left·right, with either transposed first. */
static larder_result product_of(lab_tensor *left, bool left_turned,
                                lab_tensor *right, bool right_turned,
                                lab_tensor **out)
{
    LAB__OWNED lab_tensor *a = NULL, *b = NULL;

    LAB__TRY(factor(left, left_turned, &a));
    LAB__TRY(factor(right, right_turned, &b));
    return multiply(a, b, out);
}

/* grad·bᵀ; by columns it is (b·gradᵀ)ᵀ.  A matrix that is stored by columns has
 * such a gradient. */
static larder_result left_grad(bool by_columns, lab_tensor *grad, lab_tensor *b,
                               lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (!by_columns)
        return product_of(grad, false, b, true, out);
    LAB__TRY(product_of(b, false, grad, true, &made));
    return lab__last_transposed(made, out);
}

/* aᵀ·grad; by columns (gradᵀ·a)ᵀ. */
static larder_result right_grad(bool by_columns, lab_tensor *a,
                                lab_tensor *grad, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (!by_columns)
        return product_of(a, true, grad, false, out);
    LAB__TRY(product_of(grad, true, a, false, &made));
    return lab__last_transposed(made, out);
}

/* mm and bmm: the second argument's gradient comes first. */
static larder_result mm_back(const struct lab__back *b)
{
    const int64_t *by_columns = b->node->integer;

    if (lab__wants(b, 1))
        LAB__TRY(right_grad(by_columns[1], lab__saved(b, 0), b->grads[0],
                            &b->results[1]));
    if (lab__wants(b, 0))
        LAB__TRY(left_grad(by_columns[0], b->grads[0], lab__saved(b, 1),
                           &b->results[0]));
    return LARDER_OK;
}

/* Inputs are bias, a, b; slot 0 has b, slot 1 has a.  The argument names mat1,
 * mat2 and self give a different order than in mm. */
static larder_result addmm_back(const struct lab__back *b)
{
    const int64_t *by_columns = b->node->integer;

    if (lab__wants(b, 1))
        LAB__TRY(left_grad(by_columns[0], b->grads[0], lab__saved(b, 0),
                           &b->results[1]));
    if (lab__wants(b, 2))
        LAB__TRY(right_grad(by_columns[1], lab__saved(b, 1), b->grads[0],
                            &b->results[2]));
    b->results[0] = lab_ref(b->grads[0]);
    return LARDER_OK;
}

/* ---- recorded ----------------------------------------------------------- */

static bool lies_by_columns(const lab_tensor *t)
{
    return t->ndim == 2 && t->strides[0] == 1 && t->strides[1] == t->sizes[0];
}

larder_result lab__mm(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    lab_tensor *saved[2];
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(multiply(a, b, &made));
    lab__operands_saved(a, b, false, saved);
    return lab__recorded(
        &(struct lab__recording){
            .name = a->ndim == 2 ? "MmBackward0" : "BmmBackward0",
            .backward = mm_back,
            LAB__INPUTS(a, b),
            .saves = 2,
            .saved = saved,
            .integer = {lies_by_columns(a), lies_by_columns(b)}},
        &made, out);
}

static larder_result bias_check(const lab_tensor *bias, const lab_tensor *a,
                                const lab_tensor *b)
{
    const int64_t want = b->sizes[1];
    char text[LAB__SHAPE_TEXT];

    LAB__TRY(lab__check_float("linear", bias));
    LAB__TRY(lab__check_place("linear", bias, a));
    if (bias->ndim == 1 && (bias->sizes[0] == want || bias->sizes[0] == 1))
        return LARDER_OK;
    return lab__invalid("linear: a bias of sizes %s for %" PRId64 " outputs",
                        lab__shape_text(bias->ndim, bias->sizes, text), want);
}

larder_result lab__addmm(lab_tensor *bias, lab_tensor *a, lab_tensor *b,
                         lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(bias_check(bias, a, b));
    LAB__TRY(multiply(a, b, &made));
    lab__binary(LAB__ADD, made, made, bias, 1);
    return lab__recorded(
        &(struct lab__recording){
            .name = "AddmmBackward0",
            .backward = addmm_back,
            LAB__INPUTS(bias, a, b),
            LAB__SAVES(lab_requires_grad(a) ? b : NULL,
                       lab_requires_grad(b) ? a : NULL),
            .integer = {lies_by_columns(a), lies_by_columns(b)}},
        &made, out);
}
