/* attention.c - scaled dot-product attention composed of other operations, with
 * their memory use: softmax(q·kᵀ/√d [+ mask])·v. */
#include "ops/op.h"

#include <math.h>

/* Each step drops the previous step's result. */
static larder_result scale(lab_tensor *scores, double by, lab_tensor **out)
{
    larder_result r = lab_div_scalar(scores, by, out);

    lab_unref(scores);
    return r;
}

static void fill_mask(lab_tensor *mask)
{
    int64_t rows = mask->sizes[0], columns = mask->sizes[1];
    float *at = lab__floats(mask);

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            *at++ = j > i ? -INFINITY : 0;
    }
}

/* Minus infinity where the key is after the query. */
static larder_result mask_scores(lab_tensor *scores, lab_tensor **out)
{
    lab_tensor *mask;
    larder_result r =
        lab__tensor_of(scores, 2, scores->sizes + scores->ndim - 2, &mask);

    if (r == LARDER_OK) {
        if (lab__readable(mask) && lab_numel(mask) != 0)
            fill_mask(mask);
        r = lab_add(scores, mask, out);
        lab_unref(mask);
    }
    lab_unref(scores);
    return r;
}

static larder_result scores_of(lab_tensor *q, lab_tensor *k, lab_tensor **out)
{
    lab_tensor *turned;
    larder_result r = lab_transpose(k, -2, -1, &turned);

    if (r != LARDER_OK)
        return r;
    r = lab_matmul(q, turned, out);
    lab_unref(turned);
    return r;
}

static larder_result weights_of(lab_tensor *q, lab_tensor *k, bool causal,
                                lab_tensor **out)
{
    lab_tensor *scores;
    larder_result r = scores_of(q, k, &scores);

    if (r == LARDER_OK)
        r = scale(scores, sqrt((double)q->sizes[q->ndim - 1]), &scores);
    if (r == LARDER_OK && causal)
        r = mask_scores(scores, &scores);
    if (r != LARDER_OK)
        return r;
    r = lab_softmax(scores, -1, out);
    lab_unref(scores);
    return r;
}

larder_result lab_attention(lab_tensor *q, lab_tensor *k, lab_tensor *v,
                            bool causal, lab_tensor **out)
{
    lab_tensor *weights;
    larder_result r;

    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2) {
        return lab__fail(LARDER_ERR_INVALID,
                         "attention: queries, keys and values need at least 2 "
                         "dimensions, they have %d, %d and %d",
                         q->ndim, k->ndim, v->ndim);
    }
    r = weights_of(q, k, causal, &weights);
    if (r != LARDER_OK)
        return r;
    r = lab_matmul(weights, v, out);
    lab_unref(weights);
    return r;
}
