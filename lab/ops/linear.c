/* linear.c - x·wᵀ + b, as torch.nn.functional.linear computes it. */
#include "ops/matrix_op.h"

#include <inttypes.h>

static larder_result linear_check(const lab_tensor *x, const lab_tensor *w)
{
    char text[LAB__SHAPE_TEXT];

    if (w->ndim != 2 || x->ndim == 0) {
        return lab__invalid("linear: the weight must have 2 dimensions and the "
                            "input at least 1; they have %d and %d",
                            w->ndim, x->ndim);
    }
    if (x->sizes[x->ndim - 1] != w->sizes[1]) {
        return lab__invalid(
            "linear: mat1 and mat2 shapes cannot be multiplied (an input of "
            "sizes %s and a layer of %" PRId64 " inputs, %" PRId64 " outputs)",
            lab__shape_text(x->ndim, x->sizes, text), w->sizes[1], w->sizes[0]);
    }
    return LARDER_OK;
}

/* Three dimensions without gaps are flattened to two, and the result
 * unflattened. */
static larder_result flatten(lab_tensor *x, lab_tensor *turned, lab_tensor *b,
                             lab_tensor **out)
{
    int64_t flat_sizes[2] = {x->sizes[0] * x->sizes[1], x->sizes[2]};
    int64_t sizes[3] = {x->sizes[0], x->sizes[1], turned->sizes[1]};
    LAB__OWNED lab_tensor *made = NULL, *flat = NULL;

    LAB__TRY(lab_view(x, 2, flat_sizes, &flat));
    LAB__TRY(lab__addmm(b, flat, turned, &made));
    return lab_view(made, 3, sizes, out);
}

/* Compute the product and add the bias in place. */
static larder_result multiply_and_add(lab_tensor *x, lab_tensor *turned,
                                      lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab_matmul(x, turned, &made));
    if (b != NULL)
        LAB__TRY(lab_add_inplace(made, b, 1));
    return lab__done(&made, out);
}

larder_result lab_linear(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                         lab_tensor **out)
{
    LAB__OWNED lab_tensor *turned = NULL;

    LAB__TRY(linear_check(x, w));
    LAB__TRY(lab_transpose(w, 0, 1, &turned));
    if (b != NULL && x->ndim == 2)
        return lab__addmm(b, x, turned, out);
    if (b != NULL && x->ndim == 3 && lab_is_contiguous(x))
        return flatten(x, turned, b, out);
    return multiply_and_add(x, turned, b, out);
}
