/* raw_order_op.c - reorders elements, not recorded. */
#include <larder/lab_raw.h>

#include "kernels/nn_kernels.h"
#include "ops/op.h"

larder_result lab_raw_triangle(lab_tensor *t, int64_t diagonal, bool upper,
                               lab_tensor **out)
{
    LAB__OWNED lab_tensor *dense = NULL;

    if (t->ndim < 2)
        return lab__invalid(
            "a triangle of a tensor of %d dimensions: at least 2 are needed",
            t->ndim);
    LAB__TRY(lab__nn_dense(t, &dense));
    LAB__TRY(lab__tensor_like(t, out));
    lab__triangle(*out, dense, diagonal, upper);
    return LARDER_OK;
}

larder_result lab_raw_flip(lab_tensor *t, unsigned dims, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *flipped = NULL;
    int64_t strides[LAB_MAX_DIMS], first = t->offset;

    for (int d = 0; d < t->ndim; d++) {
        bool turns = (dims & 1U << d) != 0 && t->sizes[d] > 0;

        strides[d] = turns ? -t->strides[d] : t->strides[d];
        first += turns ? (t->sizes[d] - 1) * t->strides[d] : 0;
    }
    LAB__TRY(
        lab__tensor_window(t, t->ndim, t->sizes, strides, first, &flipped));
    LAB__TRY(lab__tensor_like(t, &made));
    LAB__TRY(lab__copy(made, flipped));
    return lab__give(&made, out);
}

/* t with dimensions of 1 in front, up to ndim. */
static larder_result with_dims(lab_tensor *t, int ndim, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS] = {0};
    int more = ndim - t->ndim;

    for (int d = 0; d < ndim; d++)
        sizes[d] = d < more ? 1 : t->sizes[d - more];
    return lab__tensor_wide(t, ndim, sizes, out);
}

larder_result lab_raw_repeat(lab_tensor *t, int ndim, const int64_t *repeats,
                             lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *window = NULL;

    if (ndim < t->ndim || ndim > LAB_MAX_DIMS)
        return lab__invalid(
            "repeat: %d numbers for a tensor of %d dimensions; %d at most",
            ndim, t->ndim, LAB_MAX_DIMS);
    LAB__TRY(with_dims(t, ndim, &window));
    for (int d = 0; d < ndim; d++)
        sizes[d] = window->sizes[d] * repeats[d];
    LAB__TRY(lab__tensor_of(t, ndim, sizes, out));
    lab__repeat(*out, window);
    return LARDER_OK;
}

larder_result lab_raw_repeat_backward(lab_tensor *grad, int ndim,
                                      const int64_t *sizes, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *window = NULL;

    LAB__TRY(lab__tensor_of(grad, ndim, sizes, &made));
    LAB__TRY(lab__fill(made, 0));
    LAB__TRY(with_dims(made, grad->ndim, &window));
    lab__repeat_sum(window, grad);
    return lab__done(&made, out);
}
