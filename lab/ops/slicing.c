/* slicing.c - views of a part.  Their gradients are zeros of the whole's sizes
 * with the gradient in the part's place. */
#include "ops/op.h"

#include <inttypes.h>

larder_result lab__part_of(const struct lab__recording *what, lab_tensor *t,
                           const struct lab__part *part, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], strides[LAB_MAX_DIMS];
    int64_t offset = t->offset + part->start * t->strides[part->dim];
    int n = 0;

    for (int i = 0; i < t->ndim; i++) {
        if (i == part->dim && part->gone)
            continue;
        sizes[n] = i == part->dim ? part->length : t->sizes[i];
        strides[n++] =
            i == part->dim ? t->strides[i] * part->step : t->strides[i];
    }
    return lab__view_made(what, t, n, sizes, strides, offset, out);
}

enum { DIM, START, STEP, LENGTH, GONE }; /* node's integers */

static larder_result part_back(const struct lab__back *b)
{
    const struct lab__edge *edge = &b->node->edge[0];
    const int64_t *integer = b->node->integer;
    const struct lab__part where = {(int)integer[DIM], integer[START],
                                    integer[STEP], integer[LENGTH],
                                    integer[GONE] != 0};
    lab_tensor *grad = b->grads[0];
    LAB__OWNED lab_tensor *whole = NULL, *part = NULL;

    LAB__TRY(lab__zeros_of(grad, edge->ndim, edge->sizes, &whole));
    LAB__TRY(lab__part_of(NULL, whole, &where, &part));
    LAB__TRY(lab__copy(part, grad));
    return lab__done(&whole, &b->results[0]);
}

static larder_result make_part(lab_tensor *t, const struct lab__part *part,
                               lab_tensor **out)
{
    const struct lab__recording what = {
        .name = part->gone ? "SelectBackward0" : "SliceBackward0",
        .backward = part_back,
        .integer = {part->dim, part->start, part->step, part->length,
                    part->gone}};

    return lab__part_of(&what, t, part, out);
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
    struct lab__part part = {.step = step};

    LAB__TRY(lab__check_part_dim("slice", t, &dim));
    if (step < 1) {
        return lab__invalid("slice: the step must be positive, not %" PRId64,
                            step);
    }
    part.dim = dim;
    part.start = clamp_index(start, t->sizes[dim]);
    part.length = clamp_index(end, t->sizes[dim]) - part.start;
    part.length = part.length <= 0 ? 0 : (part.length - 1) / step + 1;
    if (part.length <= 1)
        part.step = 1; /* an unused stride cannot overflow */
    return make_part(t, &part, out);
}

larder_result lab_select(lab_tensor *t, int dim, int64_t index,
                         lab_tensor **out)
{
    struct lab__part part = {.step = 1, .gone = true};

    LAB__TRY(lab__check_part_dim("select", t, &dim));
    if (index < -t->sizes[dim] || index >= t->sizes[dim]) {
        return lab__invalid(
            "select: index %" PRId64
            " is out of bounds for dimension %d with size %" PRId64,
            index, dim, t->sizes[dim]);
    }
    part.dim = dim;
    part.start = index < 0 ? index + t->sizes[dim] : index;
    return make_part(t, &part, out);
}
