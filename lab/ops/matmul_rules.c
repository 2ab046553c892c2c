/* matmul_rules.c - torch.matmul's rules: the matrix product to compute for
 * operands of any dimensions, and the copies it needs. */
#include "ops/matrix_op.h"

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
    LAB__TRY(lab__mm(flat, one, &made));
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

    LAB__TRY(lab__last_transposed(many, &left));
    LAB__TRY(lab__last_transposed(one, &right));
    LAB__TRY(fold(left, right, &made));
    LAB__TRY(lab__last_transposed(made, &back));
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
    LAB__TRY(lab__mm(left, right, &made));
    sizes[count] = a->sizes[a->ndim - 2];
    sizes[count + 1] = b->sizes[b->ndim - 1];
    return lab_reshape(made, count + 2, sizes, out);
}

/* ---- the whole product -------------------------------------------------- */

static larder_result multiply_matrices(lab_tensor *a, lab_tensor *b,
                                       lab_tensor **out)
{
    if (a->ndim == 2 && b->ndim == 2)
        return lab__mm(a, b, out);
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
