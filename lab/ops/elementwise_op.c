/* elementwise_op.c - converts operands of element-wise operations to a common
 * type, and creates results. */
#include "ops/op.h"

/* ---- operands ----------------------------------------------------------- */

static bool is_host_number(const lab_tensor *t)
{
    return t->ndim == 0 && t->storage->place == LAB_HOST;
}

larder_result lab__places_meet(const char *op, int count, lab_tensor *const *ts,
                               const lab_tensor **where)
{
    *where = ts[0];
    for (int i = 1; i < count; i++) {
        bool is_foreign = ts[i]->storage->session != (*where)->storage->session;

        if (is_host_number(*where) && !is_foreign)
            *where = ts[i];
        else if (!is_host_number(ts[i]) || is_foreign)
            LAB__TRY(lab__check_place(op, *where, ts[i]));
    }
    return LARDER_OK;
}

/* The type that holds two types of one kind: two different 2-byte floats give
 * float32, signed and unsigned bytes give int16. */
static lab_dtype wider(lab_dtype a, lab_dtype b)
{
    size_t a_bytes = lab__dtype_bytes(a), b_bytes = lab__dtype_bytes(b);

    if (a == b)
        return a;
    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? a : b;
    return lab__kind_of(a) == LAB_FLOAT32 ? LAB_FLOAT32 : LAB_INT16;
}

/* bool, whole numbers, floats, in this order */
static int rank_of(const lab_tensor *t)
{
    if (t->kind == LAB_FLOAT32)
        return 2;
    return t->kind == LAB_INT64;
}

lab_dtype lab__dtype_of_both(const lab_tensor *a, const lab_tensor *b)
{
    int a_rank = rank_of(a), b_rank = rank_of(b);

    if (a_rank != b_rank)
        return (a_rank > b_rank ? a : b)->dtype;
    if ((a->ndim == 0) != (b->ndim == 0))
        return (a->ndim == 0 ? b : a)->dtype;
    return wider(a->dtype, b->dtype);
}

static lab_dtype dtype_for(const lab_tensor *a, const lab_tensor *b,
                           bool floats)
{
    lab_dtype both = lab__dtype_of_both(a, b);

    if (floats && lab__kind_of(both) != LAB_FLOAT32)
        return LAB_FLOAT32;
    return both == LAB_BOOL ? LAB_INT64 : both;
}

larder_result lab__in_dtype(lab_tensor *t, lab_dtype dtype, lab_tensor **out)
{
    LAB__RECORDING(lab_session(t), false);

    return lab_to_dtype(t, dtype, out);
}

larder_result lab__operands_take(const char *op, lab_tensor *a, lab_tensor *b,
                                 bool floats, struct lab__operands *out)
{
    lab_dtype dtype = dtype_for(a, b, floats);
    const lab_tensor *where;

    LAB__TRY(lab__places_meet(op, 2, (lab_tensor *[]){a, b}, &where));
    out->place = where->storage->place;
    LAB__TRY(lab__broadcast(op, a, b, &out->ndim, out->sizes));
    LAB__TRY(lab__in_dtype(a, dtype, &out->a));
    return lab__in_dtype(b, dtype, &out->b);
}

void lab__operands_drop(struct lab__operands *operands)
{
    lab__drop(&operands->a);
    lab__drop(&operands->b);
}

/* ---- allocating the result ---------------------------------------------- */

larder_result lab__operands_room(const struct lab__operands *operands,
                                 lab_dtype dtype, lab_tensor **out)
{
    const lab_tensor *both[] = {operands->a, operands->b};

    LAB__TRY(lab__tensor_new(both[0]->storage->session, dtype, operands->place,
                             operands->ndim, operands->sizes, out));
    lab__lay_out(*out, 2, both);
    return LARDER_OK;
}

larder_result lab__room_like(const lab_tensor *t, lab_tensor **out)
{
    return lab__empty_as(t, t->dtype, t->storage->place, out);
}
