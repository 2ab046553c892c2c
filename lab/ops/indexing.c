/* indexing.c - selects rows by an index tensor. */
#include <inttypes.h>

#include "kernels/nn_kernels.h"
#include "ops/op.h"

static larder_result index_back(const struct lab__back *b)
{
    const struct lab__edge *edge = &b->node->edge[0];
    lab_tensor *g = b->grads[0];
    LAB__OWNED lab_tensor *whole = NULL, *grad = NULL;

    LAB__TRY(lab__zeros_of(g, edge->ndim, edge->sizes, &whole));
    LAB__TRY(lab__nn_dense(g, &grad));
    lab__rows_add(whole, grad, lab__saved(b, 0));
    return lab__done(&whole, &b->results[0]);
}

static larder_result index_check(const lab_tensor *t, const lab_tensor *index)
{
    if (t->storage->session != index->storage->session)
        return lab__check_place("index", t, index);
    if (index->kind != LAB_INT64) {
        return lab__invalid("index: indices must be int64, these are %s",
                            lab__dtype_name(index->dtype));
    }
    if (t->storage->place == LAB_HOST && index->storage->place == LAB_DEVICE) {
        return lab__invalid("index: indices should be on the same device as "
                            "the indexed tensor (cpu), or on the cpu");
    }
    if (t->ndim == 0 || t->ndim - 1 + index->ndim > LAB_MAX_DIMS) {
        return lab__invalid(
            "index: %d dimensions of indices for a tensor of %d", index->ndim,
            t->ndim);
    }
    return LARDER_OK;
}

larder_result lab__rows_of(const lab_tensor *t, const lab_tensor *index,
                           lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim = 0;

    for (int i = 0; i < index->ndim; i++)
        sizes[ndim++] = index->sizes[i];
    for (int i = 1; i < t->ndim; i++)
        sizes[ndim++] = t->sizes[i];
    LAB__TRY(lab__tensor_of(t, ndim, sizes, out));
    lab__rows_gather(*out, t, index);
    return LARDER_OK;
}

/* Indices on the host are copied to the rows' place, as in PyTorch. */
larder_result lab_index_rows(lab_tensor *t, lab_tensor *index, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *near_index = NULL, *near = NULL;
    LAB__OWNED lab_tensor *dense = NULL;
    int64_t value;

    LAB__TRY(index_check(t, index));
    LAB__TRY(lab_to(index, t->storage->place, &near));
    LAB__TRY(lab__nn_dense(near, &near_index));
    lab__drop(&near);
    LAB__TRY(lab__nn_dense(t, &dense));
    if (lab__index_outside(near_index, -t->sizes[0], t->sizes[0], NULL,
                           &value)) {
        return lab__invalid(
            "index %" PRId64
            " is out of bounds for dimension 0 with size %" PRId64,
            value, t->sizes[0]);
    }
    LAB__TRY(lab__rows_of(dense, near_index, &made));
    return lab__recorded(&(struct lab__recording){.name = "IndexBackward0",
                                                  .backward = index_back,
                                                  LAB__INPUTS(t),
                                                  LAB__SAVES(near_index)},
                         &made, out);
}
