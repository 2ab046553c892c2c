/* op.c - functions that operations share. */
#include "ops/op.h"

larder_result lab__done(lab_tensor **made, lab_tensor **out)
{
    lab__round(*made);
    return lab__give(made, out);
}

larder_result lab__recorded(const struct lab__recording *what,
                            lab_tensor **made, lab_tensor **out)
{
    LAB__TRY(lab__record(what, *made));
    return lab__done(made, out);
}

void lab__operands_saved(lab_tensor *a, lab_tensor *b, bool is_quotient,
                         lab_tensor *saved[2])
{
    saved[0] = lab_requires_grad(b) ? a : NULL;
    saved[1] = is_quotient || lab_requires_grad(a) ? b : NULL;
}

larder_result lab__empty_as(const lab_tensor *t, lab_dtype dtype,
                            lab_place place, lab_tensor **out)
{
    LAB__TRY(lab__tensor_new(t->storage->session, dtype, place, t->ndim,
                             t->sizes, out));
    lab__lay_out(*out, 1, &t);
    return LARDER_OK;
}

larder_result lab__zeros_of(const lab_tensor *t, int ndim, const int64_t *sizes,
                            lab_tensor **out)
{
    return lab_zeros(t->storage->session, t->dtype, t->storage->place, ndim,
                     sizes, out);
}

larder_result lab__as_is(lab_tensor *t, lab_tensor **out)
{
    *out = lab_ref(t);
    return LARDER_OK;
}

larder_result lab__ints_of(const lab_tensor *t, int ndim, const int64_t *sizes,
                           lab_tensor **out)
{
    return lab__tensor_new(t->storage->session, LAB_INT64, t->storage->place,
                           ndim, sizes, out);
}

larder_result lab__check_part_dim(const char *op, const lab_tensor *t, int *dim)
{
    if (t->ndim == 0)
        return lab__invalid("%s: a tensor without dimensions cannot be indexed",
                            op);
    return lab__check_dim(op, t, dim);
}

/* ---- layers and losses -------------------------------------------------- */

larder_result lab__nn_dense(lab_tensor *t, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (t == NULL || lab_is_contiguous(t)) {
        *out = t != NULL ? lab_ref(t) : NULL;
        return LARDER_OK;
    }
    LAB__TRY(lab__tensor_like(t, &made));
    LAB__TRY(lab__copy(made, t));
    return lab__done(&made, out);
}

larder_result lab__dense_all(int count, lab_tensor *const *ts,
                             struct lab__dense *out)
{
    for (int i = 0; i < count; i++)
        LAB__TRY(lab__nn_dense(ts[i], &out->t[i]));
    return LARDER_OK;
}

void lab__dense_drop(struct lab__dense *dense)
{
    for (int i = 0; i < LAB_MAX_DIMS; i++)
        lab__drop(&dense->t[i]);
}

larder_result lab__nn_check_ndim(const char *op, const char *what,
                                 const lab_tensor *t, int ndim)
{
    char text[LAB__SHAPE_TEXT];

    if (lab_ndim(t) == ndim)
        return LARDER_OK;
    return lab__invalid("%s: %s must have %d dimension%s, has sizes %s", op,
                        what, ndim, ndim == 1 ? "" : "s",
                        lab__shape_text(lab_ndim(t), lab_sizes(t), text));
}

larder_result lab__nn_check_index(const char *op, const lab_tensor *t)
{
    if (t->kind == LAB_INT64)
        return LARDER_OK;
    return lab__invalid("%s: indices must be int64, these are %s", op,
                        lab__dtype_name(lab_dtype_of(t)));
}

larder_result lab__nn_check_part(const char *op, const lab_tensor *like,
                                 const lab_tensor *t)
{
    if (t == NULL)
        return LARDER_OK;
    LAB__TRY(lab__check_float(op, t));
    return lab__check_place(op, like, t);
}
