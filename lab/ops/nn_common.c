/* nn_common.c - what the operations of layers and losses share. */
#include "ops/nn_common.h"

larder_result lab__nn_dense(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *made;
    larder_result r;

    if (lab_is_contiguous(t)) {
        *out = lab_ref(t);
        return LARDER_OK;
    }
    r = lab__tensor_like(t, &made);
    if (r != LARDER_OK)
        return r;
    r = lab__copy(made, t);
    return lab__done(r, made, out);
}

larder_result lab__nn_saved_dense(struct lab__node *node, unsigned slot,
                                  lab_tensor **out)
{
    lab_tensor *saved;
    larder_result r = lab__node_saved(node, slot, &saved);

    return r != LARDER_OK ? r : lab__nn_dense(saved, out);
}

larder_result lab__nn_check_ndim(const char *op, const char *what,
                                 const lab_tensor *t, int ndim)
{
    char text[LAB__SHAPE_TEXT];

    if (lab_ndim(t) == ndim)
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "%s: %s must have %d dimension%s, has sizes %s", op, what,
                     ndim, ndim == 1 ? "" : "s",
                     lab__shape_text(lab_ndim(t), lab_sizes(t), text));
}

larder_result lab__nn_check_index(const char *op, const lab_tensor *t)
{
    if (t->kind == LAB_INT64)
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "%s: indices must be int64, these are %s", op,
                     lab__dtype_name(lab_dtype_of(t)));
}
