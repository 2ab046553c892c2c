/* nn_common.c - what the operations of layers and losses share. */
#include "ops/nn_common.h"

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
