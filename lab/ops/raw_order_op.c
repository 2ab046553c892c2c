/* raw_order_op.c - reorders elements, not recorded. */
#include "ops/raw_common.h"

larder_result lab_raw_triangle(lab_tensor *t, int64_t diagonal, bool upper,
                               lab_tensor **out)
{
    lab_tensor *dense;
    larder_result r;

    if (t->ndim < 2)
        return lab__fail(LARDER_ERR_INVALID,
                         "a triangle of a tensor of %d dimensions: at least 2 "
                         "are needed",
                         t->ndim);
    r = lab__nn_dense(t, &dense);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_like(t, out);
    if (r == LARDER_OK)
        lab__triangle(*out, dense, diagonal, upper);
    lab_unref(dense);
    return r;
}

larder_result lab_raw_flip(lab_tensor *t, unsigned dims, lab_tensor **out)
{
    larder_result r = lab__tensor_like(t, out);

    if (r == LARDER_OK)
        lab__flip(*out, t, dims);
    return r;
}

/* t with dimensions of 1 in front, up to ndim. */
static larder_result with_dims(lab_tensor *t, int ndim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS] = {0}, strides[LAB_MAX_DIMS] = {0};

    for (int d = 0; d < ndim; d++) {
        int own = d - (ndim - t->ndim);

        sizes[d] = own < 0 ? 1 : t->sizes[own];
        strides[d] = own < 0 ? 0 : t->strides[own];
    }
    return lab__tensor_window(t, ndim, sizes, strides, t->offset, out);
}

static larder_result repeats_check(const lab_tensor *t, int ndim)
{
    if (ndim >= t->ndim && ndim <= LAB_MAX_DIMS)
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "repeat: %d numbers for a tensor of %d dimensions; %d at "
                     "most",
                     ndim, t->ndim, LAB_MAX_DIMS);
}

larder_result lab_raw_repeat(lab_tensor *t, int ndim, const int64_t *repeats,
                             lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    lab_tensor *window;
    larder_result r = repeats_check(t, ndim);

    if (r == LARDER_OK)
        r = with_dims(t, ndim, &window);
    if (r != LARDER_OK)
        return r;
    for (int d = 0; d < ndim; d++)
        sizes[d] = window->sizes[d] * repeats[d];
    r = lab__tensor_of(t, ndim, sizes, out);
    if (r == LARDER_OK)
        lab__repeat(*out, window);
    lab_unref(window);
    return r;
}

larder_result lab_raw_repeat_backward(lab_tensor *grad, int ndim,
                                      const int64_t *sizes, lab_tensor **out)
{
    lab_tensor *made, *window;
    larder_result r = lab__zeros_of(grad, ndim, sizes, &made);

    if (r != LARDER_OK)
        return r;
    r = with_dims(made, grad->ndim, &window);
    if (r == LARDER_OK) {
        lab__repeat_sum(window, grad);
        lab_unref(window);
    }
    return lab__done(r, made, out);
}
