/* raw_reduce_op.c - reductions, running sums and order, not recorded. */
#include "ops/raw_common.h"

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
        return whole ? LAB_INT64 : (lab_dtype)t->dtype;
    default:
        return (lab_dtype)t->dtype;
    }
}

static larder_result reduce_check(lab_reduction op, const lab_tensor *t,
                                  unsigned dims)
{
    bool has_floats =
        op == LAB_VAR || op == LAB_STD || op == LAB_NORM || op == LAB_LOGSUMEXP;

    if ((int)op < 0 || op > LAB_COUNT_NONZERO)
        return lab__fail(LARDER_ERR_INVALID, "%d is no reduction", (int)op);
    if (has_floats && t->kind != LAB_FLOAT32)
        return lab__check_float("reduce", t);
    if (op != LAB_AMAX && op != LAB_AMIN)
        return LARDER_OK;
    for (int d = 0; d < t->ndim; d++) {
        if ((dims & 1U << d) != 0 && t->sizes[d] == 0)
            return lab__fail(LARDER_ERR_INVALID,
                             "dimension %d has no elements to choose from", d);
    }
    return LARDER_OK;
}

larder_result lab_raw_reduce(lab_reduction op, lab_tensor *t, unsigned dims,
                             bool keep, double p, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = 0;
    larder_result r = reduce_check(op, t, dims);

    if (r != LARDER_OK)
        return r;
    for (int d = 0; d < t->ndim; d++) {
        if ((dims & 1U << d) == 0)
            sizes[n++] = t->sizes[d];
        else if (keep)
            sizes[n++] = 1;
    }
    r = lab__tensor_new(t->storage->session, dtype_for(op, t),
                        t->storage->place, n, sizes, out);
    if (r != LARDER_OK)
        return r;
    lab__reduce(op, *out, t, dims, p);
    return lab__done(LARDER_OK, *out, out);
}

/* ---- along one dimension ------------------------------------------------ */

static larder_result extremes_make(const lab_tensor *t, int dim, bool keep,
                                   lab_tensor **values, lab_tensor **indices)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = 0;
    larder_result r = LARDER_OK;

    for (int d = 0; d < t->ndim; d++) {
        if (d != dim || keep)
            sizes[n++] = d == dim ? 1 : t->sizes[d];
    }
    *indices = NULL;
    if (values != NULL)
        r = lab__tensor_of(t, n, sizes, values);
    if (r == LARDER_OK)
        r = lab__tensor_new(t->storage->session, LAB_INT64, t->storage->place,
                            n, sizes, indices);
    if (r != LARDER_OK && values != NULL)
        lab__drop_all(1, values);
    return r;
}

larder_result lab_raw_extreme(lab_tensor *t, int dim, bool largest, bool keep,
                              lab_tensor **values, lab_tensor **indices)
{
    const char *op = largest ? "max" : "min";
    lab_tensor *dense;
    larder_result r = lab__check_dim(op, t, &dim);

    if (r == LARDER_OK && t->ndim > 0 && t->sizes[dim] == 0)
        r = lab__fail(LARDER_ERR_INVALID, "%s: dimension %d has no elements",
                      op, dim);
    if (r == LARDER_OK)
        r = lab__nn_dense(t, &dense);
    if (r != LARDER_OK)
        return r;
    if (values != NULL)
        *values = NULL;
    r = extremes_make(t, dim, keep, values, indices);
    if (r == LARDER_OK)
        lab__extreme(values != NULL ? *values : NULL, *indices, dense, dim,
                     largest);
    lab_unref(dense);
    return r;
}

larder_result lab_raw_scan(lab_reduction op, lab_tensor *t, int dim,
                           lab_tensor **out)
{
    lab_tensor *dense;
    larder_result r = lab__check_dim("scan", t, &dim);

    if (r == LARDER_OK && op != LAB_SUM && op != LAB_PROD)
        r = lab__fail(LARDER_ERR_INVALID,
                      "scan: of sums or products, not of reduction %d",
                      (int)op);
    if (r == LARDER_OK)
        r = lab__nn_dense(t, &dense);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_new(t->storage->session, dtype_for(op, t),
                        t->storage->place, t->ndim, t->sizes, out);
    if (r == LARDER_OK) {
        lab__scan(op == LAB_PROD, *out, dense, dim);
        r = lab__done(r, *out, out);
    }
    lab_unref(dense);
    return r;
}

static larder_result sorted_make(const lab_tensor *t, int dim, int64_t count,
                                 lab_tensor **values, lab_tensor **indices)
{
    int64_t sizes[LAB_MAX_DIMS];
    larder_result r;

    for (int d = 0; d < t->ndim; d++)
        sizes[d] = d == dim ? count : t->sizes[d];
    r = lab__tensor_of(t, t->ndim, sizes, values);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_new(t->storage->session, LAB_INT64, t->storage->place,
                        t->ndim, sizes, indices);
    if (r != LARDER_OK)
        lab__drop_all(1, values);
    return r;
}

larder_result lab_raw_sort(lab_tensor *t, int dim, bool descending,
                           int64_t count, lab_tensor **values,
                           lab_tensor **indices)
{
    lab_tensor *dense;
    int64_t length;
    larder_result r = lab__check_dim("sort", t, &dim);

    if (r != LARDER_OK)
        return r;
    length = t->ndim == 0 ? 1 : t->sizes[dim];
    if (count < 0 || count > length)
        return lab__fail(LARDER_ERR_INVALID,
                         "topk: %lld of the %lld elements of dimension %d",
                         (long long)count, (long long)length, dim);
    r = lab__nn_dense(t, &dense);
    if (r != LARDER_OK)
        return r;
    r = sorted_make(t, dim, count, values, indices);
    if (r == LARDER_OK) {
        r = lab__sort(*values, *indices, dense, dim, descending);
        if (r != LARDER_OK) {
            lab__drop_all(1, values);
            lab__drop_all(1, indices);
        }
    }
    lab_unref(dense);
    return r;
}
