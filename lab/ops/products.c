/* products.c - products of matrices, alone or in batches, and what torch.matmul and
 * torch.nn.functional.linear make of them. */
#include <inttypes.h>

#include "ops/op.h"

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

/* Transpose the last two dimensions; a vector is unchanged. */
static larder_result last_transposed(lab_tensor *t, lab_tensor **out)
{
    return t->ndim >= 2 ? lab_transpose(t, -2, -1, out) : lab__as_is(t, out);
}

/* ---- gradients ---------------------------------------------------------- */

static larder_result factor(lab_tensor *t, bool turned, lab_tensor **out)
{
    return turned ? last_transposed(t, out) : lab__as_is(t, out);
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
    return last_transposed(made, out);
}

/* aᵀ·grad; by columns (gradᵀ·a)ᵀ. */
static larder_result right_grad(bool by_columns, lab_tensor *a,
                                lab_tensor *grad, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (!by_columns)
        return product_of(a, true, grad, false, out);
    LAB__TRY(product_of(grad, true, a, false, &made));
    return last_transposed(made, out);
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

/* [M, K]·[K, N], or with one leading dimension of the same size in both. */
static larder_result mm(lab_tensor *a, lab_tensor *b, lab_tensor **out)
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

/* The first plus a bias of N (or broadcastable). */
static larder_result addmm(lab_tensor *bias, lab_tensor *a, lab_tensor *b,
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

/* ==== torch.matmul ========================================================
 * The matrix product to compute for operands of any dimensions, and the copies it
 * needs. */

/* ---- a batch of matrices times one matrix: a single product -------------- */

/* Not if the batch's matrices are transposed in memory: that product needs no
 * copy, one by one. */
static bool folds(const lab_tensor *many, int other_ndim)
{
    int n = many->ndim;

    if (n < 3 || other_ndim > 2)
        return false;
    return !(n == 3 && other_ndim == 2 && many->strides[2] != 1 &&
             many->strides[0] == many->sizes[1] * many->sizes[2]);
}

/* many: [..., K]; one: [K, N] */
static larder_result fold(lab_tensor *many, lab_tensor *one, lab_tensor **out)
{
    int last = many->ndim - 1;
    int64_t flat_sizes[2] = {lab__count(last, many->sizes), many->sizes[last]};
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *made = NULL, *flat = NULL;

    LAB__TRY(lab_reshape(many, 2, flat_sizes, &flat));
    LAB__TRY(mm(flat, one, &made));
    for (int i = 0; i < last; i++)
        sizes[i] = many->sizes[i];
    sizes[last] = one->sizes[1];
    return lab_reshape(made, many->ndim, sizes, out);
}

/* one·many is (manyᵀ·oneᵀ)ᵀ, made contiguous again. */
static larder_result fold_turned(lab_tensor *one, lab_tensor *many,
                                 lab_tensor **out)
{
    LAB__OWNED lab_tensor *left = NULL, *right = NULL, *made = NULL;
    LAB__OWNED lab_tensor *back = NULL;

    LAB__TRY(last_transposed(many, &left));
    LAB__TRY(last_transposed(one, &right));
    LAB__TRY(fold(left, right, &made));
    LAB__TRY(last_transposed(made, &back));
    return lab_contiguous(back, out);
}

/* ---- two batches -------------------------------------------------------- */

/* t with these leading dimensions, flattened to one. */
static larder_result as_batch(lab_tensor *t, int count, const int64_t *sizes,
                              lab_tensor **out)
{
    int64_t wide[LAB_MAX_DIMS], flat[3];
    LAB__OWNED lab_tensor *expanded = NULL;

    for (int i = 0; i < count; i++)
        wide[i] = sizes[i];
    wide[count] = flat[1] = t->sizes[t->ndim - 2];
    wide[count + 1] = flat[2] = t->sizes[t->ndim - 1];
    flat[0] = lab__count(count, sizes);
    LAB__TRY(lab_expand(t, count + 2, wide, &expanded));
    return lab_reshape(expanded, 3, flat, out);
}

static larder_result multiply_batches(lab_tensor *a, lab_tensor *b,
                                      lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *made = NULL, *left = NULL, *right = NULL;
    int count = 0;

    LAB__TRY(
        lab__broadcast_with("matmul", a->ndim - 2, a->sizes, &count, sizes));
    LAB__TRY(
        lab__broadcast_with("matmul", b->ndim - 2, b->sizes, &count, sizes));
    LAB__TRY(as_batch(a, count, sizes, &left));
    LAB__TRY(as_batch(b, count, sizes, &right));
    LAB__TRY(mm(left, right, &made));
    sizes[count] = a->sizes[a->ndim - 2];
    sizes[count + 1] = b->sizes[b->ndim - 1];
    return lab_reshape(made, count + 2, sizes, out);
}

/* ---- the whole product -------------------------------------------------- */

static larder_result multiply_matrices(lab_tensor *a, lab_tensor *b,
                                       lab_tensor **out)
{
    if (a->ndim == 2 && b->ndim == 2)
        return mm(a, b, out);
    if (folds(a, b->ndim))
        return fold(a, b, out);
    if (folds(b, a->ndim))
        return fold_turned(a, b, out);
    return multiply_batches(a, b, out);
}

/* A vector is a matrix of one row, or of one column. */
static larder_result as_matrix(lab_tensor *t, int at, lab_tensor **out)
{
    return t->ndim == 1 ? lab_unsqueeze(t, at, out) : lab__as_is(t, out);
}

static larder_result drop_dim(lab_tensor **t, int dim)
{
    LAB__OWNED lab_tensor *whole = NULL;

    lab__give(t, &whole);
    return lab_squeeze(whole, dim, t);
}

static larder_result operands_check(const lab_tensor *a, const lab_tensor *b)
{
    if (a->ndim == 0 || b->ndim == 0) {
        return lab__invalid("matmul: both arguments need to be at least 1-D, "
                            "but they are %d-D and %d-D",
                            a->ndim, b->ndim);
    }
    return lab__check_place("matmul", a, b);
}

larder_result lab_matmul(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *left = NULL, *right = NULL;

    LAB__TRY(operands_check(a, b));
    LAB__TRY(as_matrix(a, 0, &left));
    LAB__TRY(as_matrix(b, 1, &right));
    LAB__TRY(multiply_matrices(left, right, &made));
    if (a->ndim == 1)
        LAB__TRY(drop_dim(&made, -2));
    if (b->ndim == 1)
        LAB__TRY(drop_dim(&made, -1));
    return lab__give(&made, out);
}

/* ==== linear ============================================================== */

static larder_result linear_check(const lab_tensor *x, const lab_tensor *w)
{
    char text[LAB__SHAPE_TEXT];

    if (w->ndim != 2 || x->ndim == 0) {
        return lab__invalid("linear: the weight must have 2 dimensions and the "
                            "input at least 1; they have %d and %d",
                            w->ndim, x->ndim);
    }
    if (x->sizes[x->ndim - 1] != w->sizes[1]) {
        return lab__invalid(
            "linear: mat1 and mat2 shapes cannot be multiplied (an input of "
            "sizes %s and a layer of %" PRId64 " inputs, %" PRId64 " outputs)",
            lab__shape_text(x->ndim, x->sizes, text), w->sizes[1], w->sizes[0]);
    }
    return LARDER_OK;
}

/* Three dimensions without gaps are flattened to two, and the result
 * unflattened. */
static larder_result flatten(lab_tensor *x, lab_tensor *turned, lab_tensor *b,
                             lab_tensor **out)
{
    int64_t flat_sizes[2] = {x->sizes[0] * x->sizes[1], x->sizes[2]};
    int64_t sizes[3] = {x->sizes[0], x->sizes[1], turned->sizes[1]};
    LAB__OWNED lab_tensor *made = NULL, *flat = NULL;

    LAB__TRY(lab_view(x, 2, flat_sizes, &flat));
    LAB__TRY(addmm(b, flat, turned, &made));
    return lab_view(made, 3, sizes, out);
}

/* Compute the product and add the bias in place. */
static larder_result multiply_and_add(lab_tensor *x, lab_tensor *turned,
                                      lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab_matmul(x, turned, &made));
    if (b != NULL)
        LAB__TRY(lab_add_inplace(made, b, 1));
    return lab__done(&made, out);
}

larder_result lab_linear(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                         lab_tensor **out)
{
    LAB__OWNED lab_tensor *turned = NULL;

    LAB__TRY(linear_check(x, w));
    LAB__TRY(lab_transpose(w, 0, 1, &turned));
    if (b != NULL && x->ndim == 2)
        return addmm(b, x, turned, out);
    if (b != NULL && x->ndim == 3 && lab_is_contiguous(x))
        return flatten(x, turned, b, out);
    return multiply_and_add(x, turned, b, out);
}
