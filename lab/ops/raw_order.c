/* raw_order.c - elements in another order or number, not recorded: triangles, flips,
 * repetitions. */
#include <string.h>

#include "ops/op.h"
#include "tensor/element.h"

static int64_t limited(int64_t n, int64_t least, int64_t most)
{
    if (n < least)
        return least;
    return n < most ? n : most;
}

/* By lines: the mask of an attention has as many elements as its scores. */
void lab__triangle(lab_tensor *out, const lab_tensor *t, int64_t diagonal,
                   bool upper)
{
    int64_t rows = t->sizes[t->ndim - 2], columns = t->sizes[t->ndim - 1];
    int64_t count = lab_numel(t), size = (int64_t)lab__dtype_bytes(t->kind);
    int64_t first = limited(diagonal, -rows, columns);
    char *line = lab__data(out);

    if (!LAB__READABLE(out, t) || count == 0)
        return;
    memmove(line, lab__data(t), (size_t)(count * size));
    for (int64_t i = 0; i < count / columns; i++) {
        int64_t edge = limited(i % rows + first + !upper, 0, columns);

        if (upper)
            memset(line, 0, (size_t)(edge * size));
        else
            memset(line + edge * size, 0, (size_t)((columns - edge) * size));
        line += columns * size;
    }
}

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

/* The offset of element i of the larger tensor in the smaller one. */
static int64_t origin(int64_t i, const lab_tensor *big, const lab_tensor *small)
{
    int64_t offset = 0;

    for (int d = big->ndim; d-- > 0;) {
        offset += i % big->sizes[d] % small->sizes[d] * small->strides[d];
        i /= big->sizes[d];
    }
    return offset;
}

larder_result lab_raw_repeat(lab_tensor *t, int ndim, const int64_t *repeats,
                             lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], count;
    LAB__OWNED lab_tensor *window = NULL;
    lab_tensor *big;

    if (ndim < t->ndim || ndim > LAB_MAX_DIMS)
        return lab__invalid(
            "repeat: %d numbers for a tensor of %d dimensions; %d at most",
            ndim, t->ndim, LAB_MAX_DIMS);
    LAB__TRY(with_dims(t, ndim, &window));
    for (int d = 0; d < ndim; d++)
        sizes[d] = window->sizes[d] * repeats[d];
    LAB__TRY(lab__tensor_of(t, ndim, sizes, out));
    big = *out;
    count = lab__readable(t) ? lab_numel(big) : 0;
    for (int64_t i = 0; i < count; i++)
        lab__put(big, i, lab__get(window, origin(i, big, window)));
    return LARDER_OK;
}

larder_result lab_raw_repeat_backward(lab_tensor *grad, int ndim,
                                      const int64_t *sizes, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *window = NULL;
    int64_t count;

    LAB__TRY(lab__zeros_of(grad, ndim, sizes, &made));
    LAB__TRY(with_dims(made, grad->ndim, &window));
    count = lab__readable(grad) ? lab_numel(grad) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = origin(i, grad, window);

        lab__put(window, at, lab__get(window, at) + lab__get(grad, i));
    }
    return lab__done(&made, out);
}
