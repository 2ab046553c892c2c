/* raw_reduce_op.c - reductions, running sums and order, not recorded. */
#include <larder/lab_raw.h>

#include "kernels/nn_kernels.h"
#include "ops/op.h"

static lab_dtype dtype_for(lab_reduction op, const lab_tensor *t)
{
    bool whole = t->kind != LAB_FLOAT32;

    switch (op) {
    case LAB_ANY:
    case LAB_ALL:
        return LAB_BOOL;
    case LAB_COUNT_NONZERO:
        return LAB_INT64;
    case LAB_SUM:
    case LAB_PROD:
        return whole ? LAB_INT64 : t->dtype;
    default:
        return t->dtype;
    }
}

static larder_result reduce_check(lab_reduction op, const lab_tensor *t,
                                  unsigned dims)
{
    bool has_floats =
        op == LAB_VAR || op == LAB_STD || op == LAB_NORM || op == LAB_LOGSUMEXP;

    if ((int)op < 0 || op > LAB_COUNT_NONZERO)
        return lab__invalid("%d is not a reduction", (int)op);
    if (has_floats && t->kind != LAB_FLOAT32)
        return lab__check_float("reduce", t);
    if (op != LAB_AMAX && op != LAB_AMIN)
        return LARDER_OK;
    for (int d = 0; d < t->ndim; d++) {
        if ((dims & 1U << d) != 0 && t->sizes[d] == 0)
            return lab__invalid("dimension %d has no elements to choose from",
                                d);
    }
    return LARDER_OK;
}

larder_result lab_raw_reduce(lab_reduction op, lab_tensor *t, unsigned dims,
                             bool keep, double p, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = lab__reduced_sizes(t, dims, keep, sizes);
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(reduce_check(op, t, dims));
    LAB__TRY(lab__tensor_new(t->storage->session, dtype_for(op, t),
                             t->storage->place, n, sizes, &made));
    lab__reduce(op, made, t, dims, p);
    return lab__done(&made, out);
}

/* ---- along one dimension ------------------------------------------------ */

larder_result lab_raw_extreme(lab_tensor *t, int dim, bool largest, bool keep,
                              lab_tensor **values, lab_tensor **indices)
{
    const char *op = largest ? "max" : "min";
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *chosen = NULL, *dense = NULL;
    int n;

    LAB__TRY(lab__check_dim(op, t, &dim));
    if (t->ndim > 0 && t->sizes[dim] == 0)
        return lab__invalid("%s: dimension %d has no elements", op, dim);
    n = lab__reduced_sizes(t, 1U << dim, keep, sizes);
    LAB__TRY(lab__nn_dense(t, &dense));
    if (values != NULL)
        LAB__TRY(lab__tensor_of(t, n, sizes, &chosen));
    LAB__TRY(lab__ints_of(t, n, sizes, indices));
    lab__extreme(chosen, *indices, dense, dim, largest);
    return values != NULL ? lab__give(&chosen, values) : LARDER_OK;
}

larder_result lab_raw_scan(lab_reduction op, lab_tensor *t, int dim,
                           lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__check_dim("scan", t, &dim));
    if (op != LAB_SUM && op != LAB_PROD)
        return lab__invalid(
            "scan: only sums and products are supported, not reduction %d",
            (int)op);
    LAB__TRY(lab__nn_dense(t, &dense));
    LAB__TRY(lab__tensor_new(t->storage->session, dtype_for(op, t),
                             t->storage->place, t->ndim, t->sizes, &made));
    lab__scan(op == LAB_PROD, made, dense, dim);
    return lab__done(&made, out);
}

larder_result lab_raw_sort(lab_tensor *t, int dim, bool descending,
                           int64_t count, lab_tensor **values,
                           lab_tensor **indices)
{
    LAB__OWNED lab_tensor *sorted = NULL, *order = NULL, *dense = NULL;
    int64_t length, sizes[LAB_MAX_DIMS];

    LAB__TRY(lab__check_dim("sort", t, &dim));
    length = t->ndim == 0 ? 1 : t->sizes[dim];
    if (count < 0 || count > length)
        return lab__invalid("topk: %lld of the %lld elements of dimension %d",
                            (long long)count, (long long)length, dim);
    for (int d = 0; d < t->ndim; d++)
        sizes[d] = d == dim ? count : t->sizes[d];
    LAB__TRY(lab__nn_dense(t, &dense));
    LAB__TRY(lab__tensor_of(t, t->ndim, sizes, &sorted));
    LAB__TRY(lab__ints_of(t, t->ndim, sizes, &order));
    LAB__TRY(lab__sort(sorted, order, dense, dim, descending));
    lab__give(&sorted, values);
    return lab__give(&order, indices);
}
