/* slicing.c - views of a part.  Their gradients are zeros of the whole's sizes
 * with the gradient in the part's place. */
#include "ops/op.h"

#include <inttypes.h>

/* The part of t that begins at start of dim; the caller sets the size along dim
 * and the step. */
static larder_result part_of(lab_tensor *t, const struct lab__window *window,
                             int64_t length, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    int64_t offset = t->offset + window->start * t->strides[window->dim];
    int n = 0;

    for (int i = 0; i < t->ndim; i++) {
        if (i == window->dim && window->gone)
            continue;
        sizes[n] = i == window->dim ? length : t->sizes[i];
        strides[n++] =
            i == window->dim ? t->strides[i] * window->step : t->strides[i];
    }
    return lab__tensor_window(t, n, sizes, strides, offset, out);
}

larder_result lab__pad_window(lab_tensor *grad, int ndim, const int64_t *sizes,
                              const struct lab__window *window,
                              lab_tensor **out)
{
    lab_tensor *whole, *part;
    larder_result r = lab_zeros(grad->storage->session, (lab_dtype)grad->dtype,
                                grad->storage->place, ndim, sizes, &whole);

    if (r != LARDER_OK)
        return r;
    r = part_of(whole, window, window->gone ? 1 : grad->sizes[window->dim],
                &part);
    if (r == LARDER_OK) {
        r = lab__copy(part, grad);
        lab_unref(part);
    }
    return lab__done(r, whole, out);
}

static larder_result part_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    const struct lab__window window = {(int)node->integer[0], node->integer[1],
                                       node->integer[2], node->integer[3] != 0};

    return lab__pad_window(grads[0], node->edge[0].ndim, node->edge[0].sizes,
                           &window, &results[0]);
}

static const struct lab__node_kind slice_kind = {"SliceBackward0",
                                                 part_backward, NULL};
static const struct lab__node_kind select_kind = {"SelectBackward0",
                                                  part_backward, NULL};

static larder_result record_part(lab_tensor *t,
                                 const struct lab__window *window,
                                 lab_tensor *made)
{
    struct lab__node *node;
    larder_result r = lab__record(window->gone ? &select_kind : &slice_kind, 1,
                                  &t, made, &node);

    if (r == LARDER_OK && node != NULL) {
        node->integer[0] = window->dim;
        node->integer[1] = window->start;
        node->integer[2] = window->step;
        node->integer[3] = window->gone;
    }
    return r;
}

static larder_result make_part(lab_tensor *t, const struct lab__window *window,
                               int64_t length, lab_tensor **out)
{
    lab_tensor *made;
    larder_result r = part_of(t, window, length, &made);

    if (r != LARDER_OK)
        return r;
    return lab__done(record_part(t, window, made), made, out);
}

/* Python's rule: negative indices count from the end, and all are clamped to
 * the range. */
static int64_t clamp_index(int64_t index, int64_t size)
{
    if (index < 0)
        index += size;
    return index < 0 ? 0 : index > size ? size : index;
}

larder_result lab_slice(lab_tensor *t, int dim, int64_t start, int64_t end,
                        int64_t step, lab_tensor **out)
{
    struct lab__window window = {.step = step};
    int64_t length;
    larder_result r = lab__check_part_dim("slice", t, &dim);

    if (r != LARDER_OK)
        return r;
    if (step < 1) {
        return lab__fail(LARDER_ERR_INVALID,
                         "slice: the step must be positive, not %" PRId64,
                         step);
    }
    window.dim = dim;
    window.start = clamp_index(start, t->sizes[dim]);
    length = clamp_index(end, t->sizes[dim]) - window.start;
    length = length <= 0 ? 0 : (length - 1) / step + 1;
    if (length <= 1)
        window.step = 1; /* an unused stride cannot overflow */
    return make_part(t, &window, length, out);
}

larder_result lab_select(lab_tensor *t, int dim, int64_t index,
                         lab_tensor **out)
{
    struct lab__window window = {.step = 1, .gone = true};
    larder_result r = lab__check_part_dim("select", t, &dim);

    if (r != LARDER_OK)
        return r;
    if (index < -t->sizes[dim] || index >= t->sizes[dim]) {
        return lab__fail(LARDER_ERR_INVALID,
                         "select: index %" PRId64 " is out of bounds for "
                         "dimension %d with size %" PRId64,
                         index, dim, t->sizes[dim]);
    }
    window.dim = dim;
    window.start = index < 0 ? index + t->sizes[dim] : index;
    return make_part(t, &window, 1, out);
}
