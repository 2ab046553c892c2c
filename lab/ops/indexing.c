/* indexing.c - selects rows by an index tensor. */
#include "ops/op.h"

#include <inttypes.h>

#include "kernels/row_kernels.h"

static larder_result index_backward(struct lab__node *node, lab_tensor **grads,
                                    lab_tensor **results)
{
    const struct lab__edge *edge = &node->edge[0];
    lab_tensor *index, *grad, *whole;
    larder_result r = lab__node_saved(node, 0, &index);

    if (r != LARDER_OK)
        return r;
    r = lab_zeros(node->session, (lab_dtype)grads[0]->dtype,
                  grads[0]->storage->place, edge->ndim, edge->sizes, &whole);
    if (r != LARDER_OK)
        return r;
    r = lab_contiguous(grads[0], &grad);
    if (r == LARDER_OK) {
        lab__rows_add(whole, grad, index);
        lab_unref(grad);
    }
    return lab__done(r, whole, &results[0]);
}

static const struct lab__node_kind index_kind = {"IndexBackward0",
                                                 index_backward, NULL};

static larder_result index_check(const lab_tensor *t, const lab_tensor *index)
{
    if (t->storage->session != index->storage->session)
        return lab__check_place("index", t, index);
    if (index->kind != LAB_INT64) {
        return lab__fail(LARDER_ERR_INVALID,
                         "index: indices must be int64, these are %s",
                         lab__dtype_name((lab_dtype)index->dtype));
    }
    if (t->storage->place == LAB_HOST && index->storage->place == LAB_DEVICE) {
        return lab__fail(LARDER_ERR_INVALID,
                         "index: indices should be on the same device as the "
                         "indexed tensor (cpu), or on the cpu");
    }
    if (t->ndim == 0 || t->ndim - 1 + index->ndim > LAB_MAX_DIMS) {
        return lab__fail(LARDER_ERR_INVALID,
                         "index: %d dimensions of indices for a tensor of %d",
                         index->ndim, t->ndim);
    }
    return LARDER_OK;
}

static larder_result indexing_gather(lab_tensor *t, lab_tensor *index,
                                     lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS], value;
    int ndim = 0;
    lab_tensor *made;
    larder_result r;

    if (!lab__rows_inside(index, t->sizes[0], &value)) {
        return lab__fail(LARDER_ERR_INVALID,
                         "index %" PRId64 " is out of bounds for dimension 0 "
                         "with size %" PRId64,
                         value, t->sizes[0]);
    }
    for (int i = 0; i < index->ndim; i++)
        sizes[ndim++] = index->sizes[i];
    for (int i = 1; i < t->ndim; i++)
        sizes[ndim++] = t->sizes[i];
    r = lab__tensor_of(t, ndim, sizes, &made);
    if (r != LARDER_OK)
        return r;
    lab__rows_gather(made, t, index);
    *out = made;
    return LARDER_OK;
}

static larder_result index_dense(lab_tensor *t, lab_tensor *index,
                                 lab_tensor **out)
{
    bool recorded = lab_set_grad_enabled(t->storage->session, false);
    lab_tensor *dense, *made;
    larder_result r = lab_contiguous(t, &dense);

    if (r == LARDER_OK) {
        r = indexing_gather(dense, index, &made);
        lab_unref(dense);
    }
    lab_set_grad_enabled(t->storage->session, recorded);
    if (r != LARDER_OK)
        return r;
    r = lab__record_saving(&index_kind, 1, &t, made, 1, &index);
    return lab__done(r, made, out);
}

/* Indices on the host are copied to the rows' place, as in PyTorch. */
larder_result lab_index_rows(lab_tensor *t, lab_tensor *index, lab_tensor **out)
{
    lab_tensor *near, *dense;
    larder_result r = index_check(t, index);

    if (r == LARDER_OK)
        r = lab_to(index, t->storage->place, &near);
    if (r != LARDER_OK)
        return r;
    r = lab_contiguous(near, &dense);
    lab_unref(near);
    if (r != LARDER_OK)
        return r;
    r = index_dense(t, dense, out);
    lab_unref(dense);
    return r;
}
