/* op.c - functions that operations share. */
#include "ops/op.h"

#include "tensor/narrow.h"

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
