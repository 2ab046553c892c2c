/* raw_common.c - functions shared by operations that are not recorded. */
#include "ops/raw_common.h"

larder_result lab__dense_all(int count, lab_tensor *const *ts,
                             lab_tensor **dense)
{
    larder_result r = LARDER_OK;

    for (int i = 0; i < count; i++)
        dense[i] = NULL;
    for (int i = 0; i < count && r == LARDER_OK; i++) {
        if (ts[i] != NULL)
            r = lab__nn_dense(ts[i], &dense[i]);
    }
    if (r != LARDER_OK)
        lab__drop_all(count, dense);
    return r;
}

void lab__drop_all(int count, lab_tensor **ts)
{
    for (int i = 0; i < count; i++) {
        lab_unref(ts[i]);
        ts[i] = NULL;
    }
}

larder_result lab__zeros_of(const lab_tensor *like, int ndim,
                            const int64_t *sizes, lab_tensor **out)
{
    lab_tensor *made;
    larder_result r = lab__tensor_of(like, ndim, sizes, &made);

    return r != LARDER_OK ? r : lab__done(lab__fill(made, 0), made, out);
}

larder_result lab__check_values(const char *op, const lab_tensor *t)
{
    if (lab__readable(t))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_UNSUPPORTED,
                     "%s: how large the result is depends on the values of a "
                     "tensor, and this device has no memory behind its "
                     "addresses: take one with backing=memory",
                     op);
}
