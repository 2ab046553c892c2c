/* dropout.c - dropout with a saved mask of one byte for each element, allocated
 * in the order of CUDA's fused kernel: mask, then result. */
#include "ops/op.h"
#include "tensor/rng.h"

/* A contiguous copy of t, masked and scaled. */
static larder_result masked(lab_tensor *t, lab_tensor *mask, double scale,
                            lab_tensor *out)
{
    LAB__TRY(lab__copy(out, t));
    lab__binary(LAB__MUL, out, out, mask, scale);
    return LARDER_OK;
}

static larder_result dropout_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__tensor_like(b->grads[0], &made));
    LAB__TRY(masked(b->grads[0], lab__saved(b, 0), b->node->number, made));
    return lab__done(&made, &b->results[0]);
}

/* The result's memory holds the random numbers first, so no scratch memory is
 * needed. */
static larder_result dropout(lab_tensor *a, double p, lab_tensor **out)
{
    const double scale = 1.0 / (1.0 - p);
    LAB__OWNED lab_tensor *made = NULL, *mask = NULL;

    LAB__TRY(lab__tensor_new(lab_session(a), LAB_BOOL, lab_place_of(a),
                             lab_ndim(a), lab_sizes(a), &mask));
    LAB__TRY(lab__tensor_like(a, &made));
    if (lab__readable(made))
        lab__random_uniform(lab_session(a), lab__floats(made), lab_numel(made));
    lab__scalar(LAB__GE, mask, made, p);
    LAB__TRY(masked(a, mask, scale, made));
    return lab__recorded(
        &(struct lab__recording){.name = "NativeDropoutBackward0",
                                 .backward = dropout_back,
                                 LAB__INPUTS(a),
                                 LAB__SAVES(mask),
                                 .number = scale},
        &made, out);
}

/* p = 1: PyTorch multiplies by a zero tensor created for this. */
static larder_result dropout_drop_all(lab_tensor *a, lab_tensor **out)
{
    LAB__OWNED lab_tensor *zero = NULL;

    LAB__TRY(lab__zeros_of(a, 0, NULL, &zero));
    return lab_mul(a, zero, out);
}

larder_result lab_dropout(lab_tensor *a, double p, bool training,
                          lab_tensor **out)
{
    LAB__TRY(lab__check_float("dropout", a));
    if (!(p >= 0 && p <= 1))
        return lab__invalid("dropout: the probability %g is not in [0, 1]", p);
    if (p == 0 || !training || lab_numel(a) == 0)
        return lab__as_is(a, out);
    return p < 1 ? dropout(a, p, out) : dropout_drop_all(a, out);
}
