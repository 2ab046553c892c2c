/* copies.c - copies that propagate gradients. */
#include "ops/op.h"

/* ---- clone, contiguous -------------------------------------------------- */

/* Copy t to `made`. */
static larder_result copy_into(lab_tensor **made, lab_tensor *t,
                               lab_tensor **out)
{
    LAB__TRY(lab__copy(*made, t));
    return lab__recorded(&(struct lab__recording){.name = "CloneBackward0",
                                                  .backward = lab__pass_back,
                                                  LAB__INPUTS(t)},
                         made, out);
}

larder_result lab_clone(lab_tensor *t, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__empty_as(t, t->dtype, t->storage->place, &made));
    return copy_into(&made, t, out);
}

larder_result lab_contiguous(lab_tensor *t, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (lab_is_contiguous(t))
        return lab__as_is(t, out);
    LAB__TRY(lab__tensor_like(t, &made));
    return copy_into(&made, t, out);
}

larder_result lab_detach(lab_tensor *t, lab_tensor **out)
{
    return lab__tensor_alias(t, out);
}

/* ---- to another device or type ------------------------------------------ */

static larder_result to_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *near = NULL;

    LAB__TRY(lab_to_dtype(b->grads[0], (lab_dtype)b->node->integer[1], &near));
    return lab_to(near, (lab_place)b->node->integer[0], &b->results[0]);
}

static larder_result to_copy(lab_tensor *t, lab_dtype dtype, lab_place place,
                             lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(lab__empty_as(t, dtype, place, &made));
    LAB__TRY(lab__copy(made, t));
    return lab__recorded(
        &(struct lab__recording){.name = "ToCopyBackward0",
                                 .backward = to_back,
                                 LAB__INPUTS(t),
                                 .integer = {t->storage->place, t->dtype}},
        &made, out);
}

larder_result lab_to(lab_tensor *t, lab_place place, lab_tensor **out)
{
    if (place != LAB_HOST && place != LAB_DEVICE)
        return lab__invalid("to: no such place: %d", (int)place);
    if (place != t->storage->place)
        return to_copy(t, t->dtype, place, out);
    return lab__as_is(t, out);
}

larder_result lab_to_dtype(lab_tensor *t, lab_dtype dtype, lab_tensor **out)
{
    if (lab__dtype_bytes(dtype) == 0)
        return lab__invalid("to: no such dtype: %d", (int)dtype);
    if (dtype != t->dtype)
        return to_copy(t, dtype, t->storage->place, out);
    return lab__as_is(t, out);
}
