/* embedding.c - rows of a table by index. */
#include "kernels/nn_kernels.h"
#include "ops/op.h"

/* The gradient of the whole table, mostly zeros. */
static larder_result embedding_back(const struct lab__back *b)
{
    const struct lab__edge *table = &b->node->edge[0];
    LAB__OWNED lab_tensor *index = NULL, *grad = NULL, *made = NULL;

    LAB__TRY(lab__nn_dense(lab__saved(b, 0), &index));
    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__tensor_of(grad, table->ndim, table->sizes, &made));
    LAB__TRY(lab__fill(made, 0));
    lab__rows_add(made, grad, index);
    return lab__give(&made, &b->results[0]);
}

static larder_result arguments_check(const lab_tensor *w,
                                     const lab_tensor *index)
{
    LAB__TRY(lab__check_float("embedding", w));
    LAB__TRY(lab__nn_check_ndim("embedding", "the table", w, 2));
    LAB__TRY(lab__nn_check_index("embedding", index));
    LAB__TRY(lab__check_place("embedding", w, index));
    if (lab_ndim(index) < LAB_MAX_DIMS)
        return LARDER_OK;
    return lab__invalid(
        "embedding: the result would have %d dimensions, more than %d",
        LAB_MAX_DIMS + 1, LAB_MAX_DIMS);
}

larder_result lab_embedding(lab_tensor *w, lab_tensor *index, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense_index = NULL, *dense_w = NULL;
    int64_t value;

    LAB__TRY(arguments_check(w, index));
    LAB__TRY(lab__nn_dense(index, &dense_index));
    LAB__TRY(lab__nn_dense(w, &dense_w));
    if (lab__index_outside(dense_index, 0, w->sizes[0], NULL, &value))
        return lab__invalid("embedding: index %lld is not in [0, %lld)",
                            (long long)value, (long long)w->sizes[0]);
    LAB__TRY(lab__rows_of(dense_w, dense_index, &made));
    return lab__recorded(&(struct lab__recording){.name = "EmbeddingBackward0",
                                                  .backward = embedding_back,
                                                  LAB__INPUTS(w),
                                                  LAB__SAVES(index)},
                         &made, out);
}
