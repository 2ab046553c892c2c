/* attention.c - scaled dot-product attention composed of other operations, with
 * their memory use: softmax(q·kᵀ/√d [+ mask])·v. */
#include <math.h>

#include "ops/op.h"

/* Minus infinity where the key is after the query. */
static larder_result mask_scores(lab_tensor *scores, lab_tensor **out)
{
    LAB__OWNED lab_tensor *mask = NULL;

    LAB__TRY(
        lab__tensor_of(scores, 2, scores->sizes + scores->ndim - 2, &mask));
    LAB__TRY(lab__fill(mask, -INFINITY));
    lab__triangle(mask, mask, 1, true);
    return lab_add(scores, mask, out);
}

static larder_result scores_of(lab_tensor *q, lab_tensor *k, lab_tensor **out)
{
    LAB__OWNED lab_tensor *turned = NULL;

    LAB__TRY(lab_transpose(k, -2, -1, &turned));
    return lab_matmul(q, turned, out);
}

/* Each step drops the previous step's result. */
static larder_result weights_of(lab_tensor *q, lab_tensor *k, bool causal,
                                lab_tensor **out)
{
    LAB__OWNED lab_tensor *masked = NULL, *scaled = NULL, *scores = NULL;

    LAB__TRY(scores_of(q, k, &scores));
    LAB__TRY(
        lab_div_scalar(scores, sqrt((double)q->sizes[q->ndim - 1]), &scaled));
    lab__drop(&scores);
    if (!causal)
        return lab_softmax(scaled, -1, out);
    LAB__TRY(mask_scores(scaled, &masked));
    lab__drop(&scaled);
    return lab_softmax(masked, -1, out);
}

larder_result lab_attention(lab_tensor *q, lab_tensor *k, lab_tensor *v,
                            bool causal, lab_tensor **out)
{
    LAB__OWNED lab_tensor *weights = NULL;

    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2) {
        return lab__invalid("attention: queries, keys and values need at least "
                            "2 dimensions, they have %d, %d and %d",
                            q->ndim, k->ndim, v->ndim);
    }
    LAB__TRY(weights_of(q, k, causal, &weights));
    return lab_matmul(weights, v, out);
}
