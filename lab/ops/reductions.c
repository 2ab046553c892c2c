/* reductions.c - sums and means, and summing to undo broadcasts. */
#include "ops/op.h"

/* ---- summing without recording ------------------------------------------ */

/* scale · the sum over the dimensions in `dims`, which stay with size 1 if `keep`,
 * in the dtype of t. */
static larder_result sum_without(lab_tensor *t, unsigned dims, double scale,
                                 bool keep, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = lab__reduced_sizes(t, dims, keep, sizes);

    LAB__TRY(lab__tensor_of(t, n, sizes, out));
    lab__sum_dims(*out, t, dims, scale);
    return LARDER_OK;
}

static larder_result sum_to_check(const lab_tensor *grad, int ndim,
                                  const int64_t *sizes)
{
    char have[LAB__SHAPE_TEXT], want[LAB__SHAPE_TEXT];

    if (lab__fits(ndim, sizes, grad))
        return LARDER_OK;
    return lab__invalid("backward: a gradient of sizes %s for a tensor of %s",
                        lab__shape_text(grad->ndim, grad->sizes, have),
                        lab__shape_text(ndim, sizes, want));
}

larder_result lab__sum_to(lab_tensor *grad, int ndim, const int64_t *sizes,
                          lab_tensor **out)
{
    int more = grad->ndim - ndim;
    unsigned dims = 0;

    LAB__TRY(sum_to_check(grad, ndim, sizes));
    for (int i = 0; i < grad->ndim; i++) {
        if (i < more || sizes[i - more] != grad->sizes[i])
            dims |= 1U << i;
    }
    if (dims == 0)
        return lab__as_is(grad, out);
    LAB__TRY(sum_without(grad, dims, 1, true, out));
    /* The summed dimensions may be fewer: there is no other reference yet. */
    (*out)->ndim = ndim;
    for (int i = 0; i < ndim; i++)
        (*out)->sizes[i] = sizes[i];
    lab__strides_of(ndim, sizes, (*out)->strides);
    return LARDER_OK;
}

/* ---- recorded ----------------------------------------------------------- */

/* node: the number is the divisor, integer[0] the dimensions summed over. */
static larder_result spread(const struct lab__back *b, lab_tensor **out)
{
    const struct lab__edge *edge = &b->node->edge[0];
    unsigned dims = (unsigned)b->node->integer[0];
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *kept = NULL;

    for (int i = 0; i < edge->ndim; i++)
        sizes[i] = (dims & 1U << i) != 0 ? 1 : edge->sizes[i];
    LAB__TRY(lab_reshape(b->grads[0], edge->ndim, sizes, &kept));
    return lab_expand(kept, edge->ndim, edge->sizes, out);
}

static larder_result sum_back(const struct lab__back *b)
{
    return spread(b, &b->results[0]);
}

static larder_result mean_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *wide = NULL;

    LAB__TRY(spread(b, &wide));
    return lab_div_scalar(wide, b->node->number, &b->results[0]);
}

static int64_t count_over(const lab_tensor *t, unsigned dims)
{
    int64_t count = 1;

    for (int i = 0; i < t->ndim; i++) {
        if ((dims & 1U << i) != 0)
            count *= t->sizes[i];
    }
    return count;
}

static larder_result reduce(const char *node, lab_tensor *a, unsigned dims,
                            bool is_mean, bool keep, lab_tensor **out)
{
    double count = is_mean ? (double)count_over(a, dims) : 1;
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(sum_without(a, dims, 1 / count, keep, &made));
    return lab__recorded(
        &(struct lab__recording){.name = node,
                                 .backward = is_mean ? mean_back : sum_back,
                                 LAB__INPUTS(a),
                                 .number = count,
                                 .integer = {dims}},
        &made, out);
}

/* Masks are counted; whole numbers are summed in int64. */
static larder_result sum_over(const char *node, lab_tensor *a, unsigned dims,
                              bool keep, lab_tensor **out)
{
    LAB__OWNED lab_tensor *counted = NULL;

    if (a->kind == LAB_FLOAT32 || a->dtype == LAB_INT64)
        return reduce(node, a, dims, false, keep, out);
    LAB__TRY(lab_to_dtype(a, LAB_INT64, &counted));
    return reduce(node, counted, dims, false, keep, out);
}

static unsigned all_dims(const lab_tensor *t)
{
    return (1U << t->ndim) - 1;
}

static unsigned one_dim(const lab_tensor *t, int dim)
{
    return t->ndim == 0 ? 0 : 1U << dim;
}

larder_result lab_sum(lab_tensor *a, lab_tensor **out)
{
    return sum_over("SumBackward0", a, all_dims(a), false, out);
}

larder_result lab_mean(lab_tensor *a, lab_tensor **out)
{
    LAB__TRY(lab__check_float("mean", a));
    return reduce("MeanBackward0", a, all_dims(a), true, false, out);
}

larder_result lab_sum_dim(lab_tensor *a, int dim, bool keep, lab_tensor **out)
{
    LAB__TRY(lab__check_dim("sum", a, &dim));
    return sum_over("SumBackward1", a, one_dim(a, dim), keep, out);
}

larder_result lab_mean_dim(lab_tensor *a, int dim, bool keep, lab_tensor **out)
{
    LAB__TRY(lab__check_float("mean", a));
    LAB__TRY(lab__check_dim("mean", a, &dim));
    return reduce("MeanBackward1", a, one_dim(a, dim), true, keep, out);
}

/* ---- the largest -------------------------------------------------------- */

larder_result lab_argmax(lab_tensor *a, int dim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n;

    LAB__TRY(lab__check_dim("argmax", a, &dim));
    if (a->ndim > 0 && a->sizes[dim] == 0)
        return lab__invalid("argmax: dimension %d has no elements", dim);
    if (a->dtype == LAB_BOOL) {
        return lab__fail(LARDER_ERR_UNSUPPORTED,
                         "argmax: not implemented for bool");
    }
    n = lab__reduced_sizes(a, 1U << dim, false, sizes);
    LAB__TRY(lab__ints_of(a, n, sizes, out));
    lab__extreme(NULL, *out, a, dim, true);
    return LARDER_OK;
}
