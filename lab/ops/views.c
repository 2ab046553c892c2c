/* views.c - views that reorder, add or remove dimensions. */
#include "ops/op.h"

larder_result lab__view_made(const struct lab__recording *what, lab_tensor *t,
                             int ndim, const int64_t *sizes,
                             const int64_t *strides, int64_t offset,
                             lab_tensor **out)
{
    struct lab__recording recording;
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__tensor_window(t, ndim, sizes, strides, offset, &made));
    if (what != NULL) {
        recording = *what;
        recording.count = 1;
        recording.inputs = &t;
        LAB__TRY(lab__record(&recording, made));
    }
    return lab__done(&made, out);
}

/* ---- transpose ---------------------------------------------------------- */

static larder_result transpose_back(const struct lab__back *b)
{
    const int64_t *dims = b->node->integer;

    return lab_transpose(b->grads[0], (int)dims[0], (int)dims[1],
                         &b->results[0]);
}

/* t with dimension from[i] as its i-th. */
static larder_result reordered(const struct lab__recording *what, lab_tensor *t,
                               const int64_t *from, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];

    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[from[i]];
        strides[i] = t->strides[from[i]];
    }
    return lab__view_made(what, t, t->ndim, sizes, strides, t->offset, out);
}

larder_result lab_transpose(lab_tensor *t, int dim0, int dim1, lab_tensor **out)
{
    int64_t from[LAB_MAX_DIMS];

    LAB__TRY(lab__check_dim("transpose", t, &dim0));
    LAB__TRY(lab__check_dim("transpose", t, &dim1));
    for (int i = 0; i < t->ndim; i++)
        from[i] = i == dim0 ? dim1 : i == dim1 ? dim0 : i;
    return reordered(&(struct lab__recording){.name = "TransposeBackward0",
                                              .backward = transpose_back,
                                              .integer = {dim0, dim1}},
                     t, from, out);
}

/* ---- permute ------------------------------------------------------------ */

static larder_result permute_back(const struct lab__back *b)
{
    int ndim = b->grads[0]->ndim, back[LAB_MAX_DIMS];

    for (int i = 0; i < ndim; i++)
        back[b->node->integer[i]] = i;
    return lab_permute(b->grads[0], ndim, back, &b->results[0]);
}

static larder_result permutation_check(const lab_tensor *t, int ndim,
                                       const int *dims,
                                       int64_t from[LAB_MAX_DIMS])
{
    unsigned seen = 0;

    if (ndim != t->ndim) {
        return lab__invalid(
            "permute: the tensor has %d dimensions, %d were given", t->ndim,
            ndim);
    }
    for (int i = 0; i < ndim; i++) {
        int dim = dims[i];

        LAB__TRY(lab__check_dim("permute", t, &dim));
        if ((seen & 1U << dim) != 0)
            return lab__invalid("permute: dimension %d is given twice", dim);
        seen |= 1U << dim;
        from[i] = dim;
    }
    return LARDER_OK;
}

larder_result lab_permute(lab_tensor *t, int ndim, const int *dims,
                          lab_tensor **out)
{
    struct lab__recording what = {.name = "PermuteBackward0",
                                  .backward = permute_back};

    LAB__TRY(permutation_check(t, ndim, dims, what.integer));
    return reordered(&what, t, what.integer, out);
}

/* ---- expand ------------------------------------------------------------- */

static larder_result bad_expand(const lab_tensor *t, int ndim,
                                const int64_t *sizes)
{
    char want[LAB__SHAPE_TEXT], have[LAB__SHAPE_TEXT];

    if (ndim < t->ndim || ndim > LAB_MAX_DIMS) {
        return lab__invalid(
            "expand: %d dimensions requested of a tensor with %d", ndim,
            t->ndim);
    }
    return lab__invalid(
        "expand: %s cannot be expanded to %s: only dimensions of 1 can",
        lab__shape_text(t->ndim, t->sizes, have),
        lab__shape_text(ndim, sizes, want));
}

larder_result lab_expand(lab_tensor *t, int ndim, const int64_t *sizes,
                         lab_tensor **out)
{
    int64_t full[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    int more;

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
    LAB__TRY(lab__check_shape(t->dtype, t->storage->place, ndim, full));
    /* backward.c sums the gradient down. */
    return lab__view_made(&(struct lab__recording){.name = "ExpandBackward0",
                                                   .backward = lab__pass_back},
                          t, ndim, full, strides, t->offset, out);
}

/* ---- squeeze, unsqueeze ------------------------------------------------- */

static larder_result squeeze_back(const struct lab__back *b)
{
    return lab_unsqueeze(b->grads[0], (int)b->node->integer[0], &b->results[0]);
}

static larder_result unsqueeze_back(const struct lab__back *b)
{
    return lab_squeeze(b->grads[0], (int)b->node->integer[0], &b->results[0]);
}

larder_result lab_squeeze(lab_tensor *t, int dim, lab_tensor **out)
{
    LAB__TRY(lab__check_dim("squeeze", t, &dim));
    /* A dimension whose size is not 1 stays: the view is unchanged. */
    if (t->ndim == 0 || t->sizes[dim] != 1)
        return lab_view(t, t->ndim, t->sizes, out);
    return lab__part_of(&(struct lab__recording){.name = "SqueezeBackward1",
                                                 .backward = squeeze_back,
                                                 .integer = {dim}},
                        t, &(struct lab__part){.dim = dim, .gone = true}, out);
}

static larder_result unsqueeze_check(const lab_tensor *t, int *dim)
{
    if (*dim < -t->ndim - 1 || *dim > t->ndim) {
        return lab__invalid("unsqueeze: Dimension out of range (expected to be "
                            "in range of [%d, %d], but got %d)",
                            -t->ndim - 1, t->ndim, *dim);
    }
    if (t->ndim == LAB_MAX_DIMS) {
        return lab__invalid("unsqueeze: a tensor has at most %d dimensions",
                            LAB_MAX_DIMS);
    }
    if (*dim < 0)
        *dim += t->ndim + 1;
    return LARDER_OK;
}

larder_result lab_unsqueeze(lab_tensor *t, int dim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];

    LAB__TRY(unsqueeze_check(t, &dim));
    for (int i = 0; i <= t->ndim; i++) {
        int from = i < dim ? i : i - 1;

        sizes[i] = i == dim ? 1 : t->sizes[from];
        strides[i] = i != dim        ? t->strides[from]
                     : dim < t->ndim ? t->sizes[dim] * t->strides[dim]
                                     : 1;
    }
    return lab__view_made(&(struct lab__recording){.name = "UnsqueezeBackward0",
                                                   .backward = unsqueeze_back,
                                                   .integer = {dim}},
                          t, t->ndim + 1, sizes, strides, t->offset, out);
}
