/* reshape.c - views of the same elements with other sizes. */
#include "ops/op.h"

#include <inttypes.h>

/* ---- sizes and views ---------------------------------------------------- */

static larder_result bad_sizes(const char *op, const lab_tensor *t, int ndim,
                               const int64_t *sizes)
{
    char want[LAB__SHAPE_TEXT];

    return lab__invalid("%s: shape '%s' is invalid for input of size %" PRId64,
                        op, lab__shape_text(ndim, sizes, want), lab_numel(t));
}

/* Replace -1 by the size it stands for. */
static larder_result fill_in_sizes(const char *op, const lab_tensor *t,
                                   int ndim, const int64_t *sizes,
                                   int64_t full[LAB_MAX_DIMS])
{
    int64_t known = 1, count = lab_numel(t);
    int open = -1;

    if (ndim < 0 || ndim > LAB_MAX_DIMS) {
        return lab__invalid("%s: %d dimensions; a tensor has at most %d", op,
                            ndim, LAB_MAX_DIMS);
    }
    for (int i = 0; i < ndim; i++) {
        full[i] = sizes[i];
        if (sizes[i] >= 0)
            continue;
        if (sizes[i] != -1 || open >= 0)
            return bad_sizes(op, t, ndim, sizes);
        open = i;
        full[i] = 1;
    }
    known = lab__count(ndim, full);
    if (open >= 0 && known > 0 && count % known == 0)
        full[open] = count / known;
    return lab__count(ndim, full) == count && (open < 0 || known > 0) &&
                   lab__reach(ndim, full) > 0
               ? LARDER_OK
               : bad_sizes(op, t, ndim, sizes);
}

/* t's dimensions form runs that are adjacent in memory; each run must consist
 * of whole dimensions of the view, counted from the last. */
static bool view_strides(const lab_tensor *t, int ndim, const int64_t *sizes,
                         int64_t *strides)
{
    int view = ndim - 1;
    int64_t run = 1, seen = 1;

    lab__strides_of(ndim, sizes, strides);
    if (t->ndim == 0 || lab_numel(t) == 0)
        return true;
    for (int i = t->ndim - 1, last = i; i >= 0; i--) {
        run *= t->sizes[i];
        if (i > 0 && (t->sizes[i - 1] == 1 ||
                      t->strides[i - 1] == run * t->strides[last]))
            continue;
        while (view >= 0 && (seen < run || sizes[view] == 1)) {
            strides[view] = seen * t->strides[last];
            seen *= sizes[view--];
        }
        if (seen != run)
            return false;
        run = seen = 1;
        last = i - 1;
    }
    return view < 0;
}

/* ---- the operations ----------------------------------------------------- */

static larder_result view_back(const struct lab__back *b)
{
    const struct lab__edge *edge = &b->node->edge[0];

    return lab_reshape(b->grads[0], edge->ndim, edge->sizes, &b->results[0]);
}

static larder_result make_view(lab_tensor *t, int ndim, const int64_t *sizes,
                               const int64_t *strides, lab_tensor **out)
{
    return lab__view_made(&(struct lab__recording){.name = "ViewBackward0",
                                                   .backward = view_back},
                          t, ndim, sizes, strides, t->offset, out);
}

larder_result lab_view(lab_tensor *t, int ndim, const int64_t *sizes,
                       lab_tensor **out)
{
    int64_t full[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    char text[LAB__SHAPE_TEXT];

    LAB__TRY(fill_in_sizes("view", t, ndim, sizes, full));
    if (view_strides(t, ndim, full, strides))
        return make_view(t, ndim, full, strides, out);
    return lab__invalid("view: size %s is not compatible with the tensor's "
                        "size and stride (at least one dimension spans across "
                        "two contiguous subspaces); use reshape",
                        lab__shape_text(ndim, full, text));
}

/* A copy is a clone with a view on it: two nodes, as in PyTorch. */
larder_result lab_reshape(lab_tensor *t, int ndim, const int64_t *sizes,
                          lab_tensor **out)
{
    int64_t full[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *copy = NULL;

    LAB__TRY(fill_in_sizes("reshape", t, ndim, sizes, full));
    if (view_strides(t, ndim, full, strides))
        return make_view(t, ndim, full, strides, out);
    LAB__TRY(lab_contiguous(t, &copy));
    return lab_view(copy, ndim, full, out);
}
