/* dropout.c - dropout with a saved mask of one byte for each element, allocated
 * in the order of CUDA's fused kernel: mask, then result. */
#include "kernels/nn_kernels.h"
#include "ops/nn_common.h"
#include "tensor/rng.h"

/* A contiguous copy of t, masked and scaled. */
static larder_result masked(lab_tensor *t, lab_tensor *mask, double scale,
                            lab_tensor *out)
{
    larder_result r = lab__copy(out, t);

    if (r == LARDER_OK)
        lab__dropout_apply(out, mask, scale);
    return r;
}

static larder_result dropout_backward(struct lab__node *node,
                                      lab_tensor **grads, lab_tensor **results)
{
    lab_tensor *mask, *made;
    larder_result r = lab__node_saved(node, 0, &mask);

    if (r == LARDER_OK)
        r = lab__tensor_like(grads[0], &made);
    if (r != LARDER_OK)
        return r;
    r = masked(grads[0], mask, node->number[0], made);
    return lab__done(r, made, &results[0]);
}

static const struct lab__node_kind dropout_kind = {
    .name = "NativeDropoutBackward0", .backward = dropout_backward};

static larder_result dropout_record(lab_tensor *a, lab_tensor *mask,
                                    double scale, lab_tensor *result)
{
    struct lab__node *node;
    larder_result r = lab__record(&dropout_kind, 1, &a, result, &node);

    if (r != LARDER_OK || node == NULL)
        return r;
    node->number[0] = scale;
    return lab__node_save(node, 0, mask);
}

/* The result's memory holds the random numbers first, so no scratch memory is
 * needed. */
static larder_result dropout_compute(lab_tensor *a, double p, lab_tensor *mask,
                                     lab_tensor *result)
{
    if (lab__readable(result))
        lab__random_uniform(lab_session(a), lab__floats(result),
                            lab_numel(result));
    lab__dropout_mask(mask, result, p);
    return masked(a, mask, 1.0 / (1.0 - p), result);
}

static larder_result dropout(lab_tensor *a, double p, lab_tensor **out)
{
    lab_tensor *mask = NULL, *result = NULL;
    larder_result r = lab__tensor_new(lab_session(a), LAB_BOOL, lab_place_of(a),
                                      lab_ndim(a), lab_sizes(a), &mask);

    if (r == LARDER_OK)
        r = lab__tensor_like(a, &result);
    if (r == LARDER_OK)
        r = dropout_compute(a, p, mask, result);
    if (r == LARDER_OK)
        r = dropout_record(a, mask, 1.0 / (1.0 - p), result);
    lab_unref(mask);
    return lab__done(r, result, out);
}

/* p = 1: PyTorch multiplies by a zero tensor created for this. */
static larder_result dropout_drop_all(lab_tensor *a, lab_tensor **out)
{
    lab_tensor *zero;
    larder_result r = lab_zeros(lab_session(a), lab_dtype_of(a),
                                lab_place_of(a), 0, NULL, &zero);

    if (r != LARDER_OK)
        return r;
    r = lab_mul(a, zero, out);
    lab_unref(zero);
    return r;
}

larder_result lab_dropout(lab_tensor *a, double p, bool training,
                          lab_tensor **out)
{
    larder_result r = lab__check_float("dropout", a);

    if (r != LARDER_OK)
        return r;
    if (!(p >= 0 && p <= 1))
        return lab__fail(LARDER_ERR_INVALID,
                         "dropout: the probability %g is not in [0, 1]", p);
    if (p == 0 || !training || lab_numel(a) == 0) {
        *out = lab_ref(a);
        return LARDER_OK;
    }
    return p < 1 ? dropout(a, p, out) : dropout_drop_all(a, out);
}
