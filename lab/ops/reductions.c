/* reductions.c - sums and means, and summing to undo broadcasts. */
#include "kernels/kernels.h"
#include "ops/op.h"

/* ---- summing without recording ------------------------------------------ */

/* scale · the sum over the dimensions in `dims`, these kept with size 1, in
 * the dtype of t. */
static larder_result sum_keeping(lab_tensor *t, unsigned dims, double scale,
                                 lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    larder_result r;

    for (int i = 0; i < t->ndim; i++)
        sizes[i] = (dims & 1U << i) != 0 ? 1 : t->sizes[i];
    r = lab__tensor_of(t, t->ndim, sizes, out);
    if (r == LARDER_OK)
        lab__sum_dims(*out, t, dims, scale);
    return r;
}

/* Set the sizes of a tensor just created, which nobody else refers to. */
static void set_sizes(lab_tensor *t, int ndim, const int64_t *sizes)
{
    t->ndim = (unsigned char)ndim;
    for (int i = 0; i < ndim; i++)
        t->sizes[i] = sizes[i];
    lab__strides_of(ndim, sizes, t->strides);
}

static larder_result sum_to_check(const lab_tensor *grad, int ndim,
                                  const int64_t *sizes)
{
    char have[LAB__SHAPE_TEXT], want[LAB__SHAPE_TEXT];
    int more = grad->ndim - ndim;
    bool fits = more >= 0;

    for (int i = 0; fits && i < ndim; i++)
        fits = sizes[i] == 1 || sizes[i] == grad->sizes[i + more];
    if (fits)
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "backward: a gradient of sizes %s for a tensor of %s",
                     lab__shape_text(grad->ndim, grad->sizes, have),
                     lab__shape_text(ndim, sizes, want));
}

larder_result lab__sum_to(lab_tensor *grad, int ndim, const int64_t *sizes,
                          lab_tensor **out)
{
    int more = grad->ndim - ndim;
    unsigned dims = 0;
    larder_result r = sum_to_check(grad, ndim, sizes);

    if (r != LARDER_OK)
        return r;
    for (int i = 0; i < grad->ndim; i++) {
        if (i < more || sizes[i - more] != grad->sizes[i])
            dims |= 1U << i;
    }
    if (dims == 0) {
        *out = lab_ref(grad);
        return LARDER_OK;
    }
    r = sum_keeping(grad, dims, 1, out);
    if (r == LARDER_OK)
        set_sizes(*out, ndim, sizes);
    return r;
}

/* ---- recorded ----------------------------------------------------------- */

/* node: number[0] is the divisor, integer[0] the dimensions summed over,
 * integer[1] whether they were kept. */
static larder_result spread(const struct lab__node *node, lab_tensor *grad,
                            lab_tensor **out)
{
    const struct lab__edge *edge = &node->edge[0];
    unsigned dims = (unsigned)node->integer[0];
    int64_t sizes[LAB_MAX_DIMS];
    lab_tensor *kept;
    larder_result r;

    for (int i = 0; i < edge->ndim; i++)
        sizes[i] = (dims & 1U << i) != 0 ? 1 : edge->sizes[i];
    r = lab_reshape(grad, edge->ndim, sizes, &kept);
    if (r != LARDER_OK)
        return r;
    r = lab_expand(kept, edge->ndim, edge->sizes, out);
    lab_unref(kept);
    return r;
}

static larder_result sum_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    return spread(node, grads[0], &results[0]);
}

static larder_result mean_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    lab_tensor *wide;
    larder_result r = spread(node, grads[0], &wide);

    if (r != LARDER_OK)
        return r;
    r = lab_div_scalar(wide, node->number[0], &results[0]);
    lab_unref(wide);
    return r;
}

static const struct lab__node_kind sum_kind = {"SumBackward0", sum_backward,
                                               NULL};
static const struct lab__node_kind mean_kind = {"MeanBackward0", mean_backward,
                                                NULL};
static const struct lab__node_kind sum_dim_kind = {"SumBackward1", sum_backward,
                                                   NULL};
static const struct lab__node_kind mean_dim_kind = {"MeanBackward1",
                                                    mean_backward, NULL};

static int64_t count_over(const lab_tensor *t, unsigned dims)
{
    int64_t count = 1;

    for (int i = 0; i < t->ndim; i++) {
        if ((dims & 1U << i) != 0)
            count *= t->sizes[i];
    }
    return count;
}

static void drop_dims(lab_tensor *t, unsigned dims)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = 0;

    for (int i = 0; i < t->ndim; i++) {
        if ((dims & 1U << i) == 0)
            sizes[n++] = t->sizes[i];
    }
    set_sizes(t, n, sizes);
}

static larder_result reduce(const struct lab__node_kind *kind, lab_tensor *a,
                            unsigned dims, bool mean, bool keep,
                            lab_tensor **out)
{
    double count = mean ? (double)count_over(a, dims) : 1;
    struct lab__node *node;
    lab_tensor *made;
    larder_result r = sum_keeping(a, dims, 1 / count, &made);

    if (r != LARDER_OK)
        return r;
    if (!keep)
        drop_dims(made, dims);
    r = lab__record(kind, 1, &a, made, &node);
    if (r == LARDER_OK && node != NULL) {
        node->number[0] = count;
        node->integer[0] = (int64_t)dims;
    }
    return lab__done(r, made, out);
}

/* Masks are counted; whole numbers are summed in int64. */
static larder_result sum_over(const struct lab__node_kind *kind, lab_tensor *a,
                              unsigned dims, bool keep, lab_tensor **out)
{
    lab_tensor *counted;
    larder_result r;

    if (a->kind == LAB_FLOAT32 || a->dtype == LAB_INT64)
        return reduce(kind, a, dims, false, keep, out);
    r = lab_to_dtype(a, LAB_INT64, &counted);
    if (r != LARDER_OK)
        return r;
    r = reduce(kind, counted, dims, false, keep, out);
    lab_unref(counted);
    return r;
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
    return sum_over(&sum_kind, a, all_dims(a), false, out);
}

larder_result lab_mean(lab_tensor *a, lab_tensor **out)
{
    larder_result r = lab__check_float("mean", a);

    return r != LARDER_OK
               ? r
               : reduce(&mean_kind, a, all_dims(a), true, false, out);
}

larder_result lab_sum_dim(lab_tensor *a, int dim, bool keep, lab_tensor **out)
{
    larder_result r = lab__check_dim("sum", a, &dim);

    return r != LARDER_OK
               ? r
               : sum_over(&sum_dim_kind, a, one_dim(a, dim), keep, out);
}

larder_result lab_mean_dim(lab_tensor *a, int dim, bool keep, lab_tensor **out)
{
    larder_result r = lab__check_float("mean", a);

    if (r == LARDER_OK)
        r = lab__check_dim("mean", a, &dim);
    return r != LARDER_OK
               ? r
               : reduce(&mean_dim_kind, a, one_dim(a, dim), true, keep, out);
}

/* ---- the largest -------------------------------------------------------- */

larder_result lab_argmax(lab_tensor *a, int dim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = 0;
    larder_result r = lab__check_dim("argmax", a, &dim);

    if (r != LARDER_OK)
        return r;
    if (a->ndim > 0 && a->sizes[dim] == 0) {
        return lab__fail(LARDER_ERR_INVALID,
                         "argmax: dimension %d has no elements", dim);
    }
    if (a->dtype == LAB_BOOL) {
        return lab__fail(LARDER_ERR_UNSUPPORTED,
                         "argmax: not implemented for bool");
    }
    for (int i = 0; i < a->ndim; i++) {
        if (i != dim)
            sizes[n++] = a->sizes[i];
    }
    r = lab__tensor_new(a->storage->session, LAB_INT64, a->storage->place, n,
                        sizes, out);
    if (r != LARDER_OK)
        return r;
    if (a->ndim == 0)
        return lab__fill(*out, 0);
    lab__argmax(*out, a, dim);
    return LARDER_OK;
}
