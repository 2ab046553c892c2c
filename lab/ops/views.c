/* views.c - views that reorder, add or remove dimensions. */
#include "ops/op.h"

/* A window on t, with a node that undoes it; *node (may be NULL) as in
 * lab__record(). */
static larder_result make_view(const struct lab__node_kind *kind, lab_tensor *t,
                               int ndim, const int64_t *sizes,
                               const int64_t *strides, lab_tensor **out,
                               struct lab__node **node)
{
    lab_tensor *made;
    larder_result r =
        lab__tensor_window(t, ndim, sizes, strides, t->offset, &made);

    if (r != LARDER_OK)
        return r;
    return lab__done(lab__record(kind, 1, &t, made, node), made, out);
}

/* ---- transpose ---------------------------------------------------------- */

static larder_result transpose_backward(struct lab__node *node,
                                        lab_tensor **grads,
                                        lab_tensor **results)
{
    return lab_transpose(grads[0], (int)node->integer[0], (int)node->integer[1],
                         &results[0]);
}

static const struct lab__node_kind transpose_kind = {"TransposeBackward0",
                                                     transpose_backward, NULL};

static void swap(int64_t *values, int a, int b)
{
    int64_t value = values[a];

    values[a] = values[b];
    values[b] = value;
}

larder_result lab_transpose(lab_tensor *t, int dim0, int dim1, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    struct lab__node *node;
    larder_result r = lab__check_dim("transpose", t, &dim0);

    if (r == LARDER_OK)
        r = lab__check_dim("transpose", t, &dim1);
    if (r != LARDER_OK)
        return r;
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[i];
        strides[i] = t->strides[i];
    }
    if (t->ndim > 0) {
        swap(sizes, dim0, dim1);
        swap(strides, dim0, dim1);
    }
    r = make_view(&transpose_kind, t, t->ndim, sizes, strides, out, &node);
    if (r == LARDER_OK && node != NULL) {
        node->integer[0] = dim0;
        node->integer[1] = dim1;
    }
    return r;
}

/* ---- permute ------------------------------------------------------------ */

static larder_result permute_backward(struct lab__node *node,
                                      lab_tensor **grads, lab_tensor **results)
{
    int ndim = grads[0]->ndim, back[LAB_MAX_DIMS];

    for (int i = 0; i < ndim; i++)
        back[node->integer[i]] = i;
    return lab_permute(grads[0], ndim, back, &results[0]);
}

static const struct lab__node_kind permute_kind = {"PermuteBackward0",
                                                   permute_backward, NULL};

static larder_result permutation_check(const lab_tensor *t, int ndim,
                                       const int *dims, int from[LAB_MAX_DIMS])
{
    unsigned seen = 0;

    if (ndim != t->ndim) {
        return lab__fail(LARDER_ERR_INVALID,
                         "permute: the tensor has %d dimensions, %d were named",
                         t->ndim, ndim);
    }
    for (int i = 0; i < ndim; i++) {
        larder_result r;

        from[i] = dims[i];
        r = lab__check_dim("permute", t, &from[i]);
        if (r != LARDER_OK)
            return r;
        if ((seen & 1U << from[i]) != 0) {
            return lab__fail(LARDER_ERR_INVALID,
                             "permute: dimension %d is named twice", from[i]);
        }
        seen |= 1U << from[i];
    }
    return LARDER_OK;
}

larder_result lab_permute(lab_tensor *t, int ndim, const int *dims,
                          lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    int from[LAB_MAX_DIMS];
    struct lab__node *node;
    larder_result r = permutation_check(t, ndim, dims, from);

    if (r != LARDER_OK)
        return r;
    for (int i = 0; i < ndim; i++) {
        sizes[i] = t->sizes[from[i]];
        strides[i] = t->strides[from[i]];
    }
    r = make_view(&permute_kind, t, ndim, sizes, strides, out, &node);
    for (int i = 0; r == LARDER_OK && node != NULL && i < ndim; i++)
        node->integer[i] = from[i];
    return r;
}

/* ---- expand ------------------------------------------------------------- */

/* backward.c sums it down. */
static larder_result expand_backward(struct lab__node *node, lab_tensor **grads,
                                     lab_tensor **results)
{
    (void)node;
    results[0] = lab__grad_take(grads, 0);
    return LARDER_OK;
}

static const struct lab__node_kind expand_kind = {"ExpandBackward0",
                                                  expand_backward, NULL};

static larder_result bad_expand(const lab_tensor *t, int ndim,
                                const int64_t *sizes)
{
    char want[LAB__SHAPE_TEXT], have[LAB__SHAPE_TEXT];

    if (ndim < t->ndim || ndim > LAB_MAX_DIMS) {
        return lab__fail(LARDER_ERR_INVALID,
                         "expand: %d dimensions asked of a tensor with %d",
                         ndim, t->ndim);
    }
    return lab__fail(LARDER_ERR_INVALID,
                     "expand: %s cannot be expanded to %s: only dimensions of "
                     "1 can",
                     lab__shape_text(t->ndim, t->sizes, have),
                     lab__shape_text(ndim, sizes, want));
}

larder_result lab_expand(lab_tensor *t, int ndim, const int64_t *sizes,
                         lab_tensor **out)
{
    int64_t full[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    int more;
    larder_result r;

    if (ndim < t->ndim || ndim > LAB_MAX_DIMS)
        return bad_expand(t, ndim, sizes);
    more = ndim - t->ndim;
    for (int i = 0; i < ndim; i++) {
        int64_t have = i < more ? 1 : t->sizes[i - more];

        full[i] = sizes[i] == -1 && i >= more ? have : sizes[i];
        strides[i] = i < more ? 0 : t->strides[i - more];
        if (full[i] < 0 || (full[i] != have && have != 1))
            return bad_expand(t, ndim, sizes);
        if (full[i] != have)
            strides[i] = 0;
    }
    r = lab__check_shape((lab_dtype)t->dtype, t->storage->place, ndim, full);
    return r != LARDER_OK
               ? r
               : make_view(&expand_kind, t, ndim, full, strides, out, NULL);
}

/* ---- squeeze, unsqueeze ------------------------------------------------- */

static larder_result squeeze_backward(struct lab__node *node,
                                      lab_tensor **grads, lab_tensor **results)
{
    return lab_unsqueeze(grads[0], (int)node->integer[0], &results[0]);
}

static larder_result unsqueeze_backward(struct lab__node *node,
                                        lab_tensor **grads,
                                        lab_tensor **results)
{
    return lab_squeeze(grads[0], (int)node->integer[0], &results[0]);
}

static const struct lab__node_kind squeeze_kind = {"SqueezeBackward1",
                                                   squeeze_backward, NULL};
static const struct lab__node_kind unsqueeze_kind = {"UnsqueezeBackward0",
                                                     unsqueeze_backward, NULL};

static larder_result make_dim_view(const struct lab__node_kind *kind,
                                   lab_tensor *t, int dim, int ndim,
                                   const int64_t *sizes, const int64_t *strides,
                                   lab_tensor **out)
{
    struct lab__node *node;
    larder_result r = make_view(kind, t, ndim, sizes, strides, out, &node);

    if (r == LARDER_OK && node != NULL)
        node->integer[0] = dim;
    return r;
}

/* A dimension whose size is not 1 stays: the view is unchanged. */
static larder_result same_view(lab_tensor *t, lab_tensor **out)
{
    return lab_view(t, t->ndim, t->sizes, out);
}

larder_result lab_squeeze(lab_tensor *t, int dim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    int n = 0;
    larder_result r = lab__check_dim("squeeze", t, &dim);

    if (r != LARDER_OK)
        return r;
    if (t->ndim == 0 || t->sizes[dim] != 1)
        return same_view(t, out);
    for (int i = 0; i < t->ndim; i++) {
        if (i == dim)
            continue;
        sizes[n] = t->sizes[i];
        strides[n++] = t->strides[i];
    }
    return make_dim_view(&squeeze_kind, t, dim, n, sizes, strides, out);
}

static larder_result unsqueeze_check(const lab_tensor *t, int *dim)
{
    if (*dim < -t->ndim - 1 || *dim > t->ndim) {
        return lab__fail(LARDER_ERR_INVALID,
                         "unsqueeze: Dimension out of range (expected to be in "
                         "range of [%d, %d], but got %d)",
                         -t->ndim - 1, t->ndim, *dim);
    }
    if (t->ndim == LAB_MAX_DIMS) {
        return lab__fail(LARDER_ERR_INVALID,
                         "unsqueeze: a tensor has at most %d dimensions",
                         LAB_MAX_DIMS);
    }
    if (*dim < 0)
        *dim += t->ndim + 1;
    return LARDER_OK;
}

larder_result lab_unsqueeze(lab_tensor *t, int dim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    larder_result r = unsqueeze_check(t, &dim);

    if (r != LARDER_OK)
        return r;
    for (int i = 0; i <= t->ndim; i++) {
        int from = i < dim ? i : i - 1;

        sizes[i] = i == dim ? 1 : t->sizes[from];
        strides[i] = i != dim        ? t->strides[from]
                     : dim < t->ndim ? t->sizes[dim] * t->strides[dim]
                                     : 1;
    }
    return make_dim_view(&unsqueeze_kind, t, dim, t->ndim + 1, sizes, strides,
                         out);
}
