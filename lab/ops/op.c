/* op.c - functions that operations share. */
#include "ops/op.h"

#include "tensor/narrow.h"

larder_result lab__done(larder_result r, lab_tensor *made, lab_tensor **out)
{
    if (r != LARDER_OK) {
        lab_unref(made);
        return r;
    }
    lab__round(made);
    *out = made;
    return LARDER_OK;
}

larder_result lab__record_saving(const struct lab__node_kind *kind,
                                 unsigned count, lab_tensor *const *inputs,
                                 lab_tensor *out, unsigned saves,
                                 lab_tensor *const *saved)
{
    struct lab__node *node;
    larder_result r = lab__record(kind, count, inputs, out, &node);

    for (unsigned i = 0; r == LARDER_OK && node != NULL && i < saves; i++)
        r = lab__node_save(node, i, saved[i]);
    return r;
}

larder_result lab__save_each_other(struct lab__node *node, lab_tensor *a,
                                   lab_tensor *b)
{
    larder_result r = LARDER_OK;

    if (node == NULL)
        return LARDER_OK;
    if (lab__node_wants(node, 1))
        r = lab__node_save(node, 0, a);
    if (r == LARDER_OK && lab__node_wants(node, 0))
        r = lab__node_save(node, 1, b);
    return r;
}

larder_result lab__empty_as(const lab_tensor *t, lab_dtype dtype,
                            lab_place place, lab_tensor **out)
{
    larder_result r = lab__tensor_new(t->storage->session, dtype, place,
                                      t->ndim, t->sizes, out);

    if (r == LARDER_OK)
        lab__lay_out(*out, 1, &t);
    return r;
}

larder_result lab__check_part_dim(const char *op, const lab_tensor *t, int *dim)
{
    if (t->ndim == 0) {
        return lab__fail(LARDER_ERR_INVALID,
                         "%s: a tensor of no dimensions has no parts", op);
    }
    return lab__check_dim(op, t, dim);
}
