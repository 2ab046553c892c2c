/* embedding.c - rows of a table by index. */
#include "kernels/nn_kernels.h"
#include "kernels/row_kernels.h"
#include "ops/nn_common.h"

/* The gradient of the whole table, mostly zeros. */
static larder_result embedding_backward(struct lab__node *node,
                                        lab_tensor **grads,
                                        lab_tensor **results)
{
    const struct lab__edge *table = &node->edge[0];
    lab_tensor *grad = NULL, *index = NULL, *made = NULL;
    larder_result r = lab__nn_saved_dense(node, 0, &index);

    if (r == LARDER_OK)
        r = lab__nn_dense(grads[0], &grad);
    if (r == LARDER_OK)
        r = lab__tensor_of(grad, table->ndim, table->sizes, &made);
    if (r == LARDER_OK)
        r = lab__fill(made, 0);
    if (r == LARDER_OK) {
        lab__rows_add(made, grad, index);
        results[0] = lab_ref(made);
    }
    lab_unref(made);
    lab_unref(grad);
    lab_unref(index);
    return r;
}

static const struct lab__node_kind embedding_kind = {
    .name = "EmbeddingBackward0", .backward = embedding_backward};

static larder_result arguments_check(const lab_tensor *w,
                                     const lab_tensor *index)
{
    larder_result r = lab__check_float("embedding", w);

    if (r == LARDER_OK)
        r = lab__nn_check_ndim("embedding", "the table", w, 2);
    if (r == LARDER_OK)
        r = lab__nn_check_index("embedding", index);
    if (r == LARDER_OK)
        r = lab__check_place("embedding", w, index);
    if (r == LARDER_OK && lab_ndim(index) == LAB_MAX_DIMS)
        r = lab__fail(LARDER_ERR_INVALID,
                      "embedding: the result would have %d dimensions, more "
                      "than %d",
                      LAB_MAX_DIMS + 1, LAB_MAX_DIMS);
    return r;
}

static larder_result range_check(const lab_tensor *w, const lab_tensor *index)
{
    int64_t value;

    if (!lab__index_outside(index, w->sizes[0], NULL, &value))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "embedding: index %lld is not in [0, %lld)",
                     (long long)value, (long long)w->sizes[0]);
}

static larder_result result_make(const lab_tensor *w, const lab_tensor *index,
                                 lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];

    for (int i = 0; i < index->ndim; i++)
        sizes[i] = index->sizes[i];
    sizes[index->ndim] = w->sizes[1];
    return lab__tensor_of(w, index->ndim + 1, sizes, out);
}

static larder_result embedding(lab_tensor *w, lab_tensor *dense_w,
                               lab_tensor *index, lab_tensor *dense_index,
                               lab_tensor **out)
{
    lab_tensor *made;
    larder_result r = range_check(w, dense_index);

    if (r == LARDER_OK)
        r = result_make(w, index, &made);
    if (r != LARDER_OK)
        return r;
    lab__rows_gather(made, dense_w, dense_index);
    r = lab__record_saving(&embedding_kind, 1, &w, made, 1, &index);
    return lab__done(r, made, out);
}

larder_result lab_embedding(lab_tensor *w, lab_tensor *index, lab_tensor **out)
{
    lab_tensor *dense_w = NULL, *dense_index = NULL;
    larder_result r = arguments_check(w, index);

    if (r == LARDER_OK)
        r = lab__nn_dense(index, &dense_index);
    if (r == LARDER_OK)
        r = lab__nn_dense(w, &dense_w);
    if (r == LARDER_OK)
        r = embedding(w, dense_w, index, dense_index, out);
    lab_unref(dense_w);
    lab_unref(dense_index);
    return r;
}
