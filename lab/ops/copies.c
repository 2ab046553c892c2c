/* copies.c - copies that propagate gradients. */
#include "ops/op.h"

/* ---- clone, contiguous -------------------------------------------------- */

static larder_result pass_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    (void)node;
    results[0] = lab__grad_take(grads, 0);
    return LARDER_OK;
}

static const struct lab__node_kind clone_kind = {"CloneBackward0",
                                                 pass_backward, NULL};

/* Copy t to `made`, which is taken over. */
static larder_result copy_into(const struct lab__node_kind *kind,
                               lab_tensor *made, lab_tensor *t,
                               lab_tensor **out)
{
    larder_result r = lab__copy(made, t);

    if (r == LARDER_OK && made->kind == LAB_FLOAT32)
        r = lab__record(kind, 1, &t, made, NULL);
    return lab__done(r, made, out);
}

larder_result lab_clone(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *made;
    larder_result r =
        lab__empty_as(t, (lab_dtype)t->dtype, t->storage->place, &made);

    return r != LARDER_OK ? r : copy_into(&clone_kind, made, t, out);
}

larder_result lab_contiguous(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *made;
    larder_result r;

    if (lab_is_contiguous(t)) {
        *out = lab_ref(t);
        return LARDER_OK;
    }
    r = lab__tensor_like(t, &made);
    return r != LARDER_OK ? r : copy_into(&clone_kind, made, t, out);
}

larder_result lab_detach(lab_tensor *t, lab_tensor **out)
{
    return lab__tensor_alias(t, out);
}

/* ---- to another device or type ------------------------------------------ */

static larder_result to_backward(struct lab__node *node, lab_tensor **grads,
                                 lab_tensor **results)
{
    lab_tensor *near;
    larder_result r =
        lab_to_dtype(grads[0], (lab_dtype)node->integer[1], &near);

    if (r != LARDER_OK)
        return r;
    r = lab_to(near, (lab_place)node->integer[0], &results[0]);
    lab_unref(near);
    return r;
}

static const struct lab__node_kind to_kind = {"ToCopyBackward0", to_backward,
                                              NULL};

static larder_result to_copy(lab_tensor *t, lab_dtype dtype, lab_place place,
                             lab_tensor **out)
{
    struct lab__node *node = NULL;
    lab_tensor *made;
    larder_result r = lab__empty_as(t, dtype, place, &made);

    if (r != LARDER_OK)
        return r;
    r = lab__copy(made, t);
    if (r == LARDER_OK && made->kind == LAB_FLOAT32)
        r = lab__record(&to_kind, 1, &t, made, &node);
    if (r == LARDER_OK && node != NULL) {
        node->integer[0] = (int64_t)t->storage->place;
        node->integer[1] = (int64_t)t->dtype;
    }
    return lab__done(r, made, out);
}

larder_result lab_to(lab_tensor *t, lab_place place, lab_tensor **out)
{
    if (place != LAB_HOST && place != LAB_DEVICE)
        return lab__fail(LARDER_ERR_INVALID, "to: no such place: %d",
                         (int)place);
    if (place != t->storage->place)
        return to_copy(t, (lab_dtype)t->dtype, place, out);
    *out = lab_ref(t);
    return LARDER_OK;
}

larder_result lab_to_dtype(lab_tensor *t, lab_dtype dtype, lab_tensor **out)
{
    if (lab__dtype_bytes(dtype) == 0)
        return lab__fail(LARDER_ERR_INVALID, "to: no such dtype: %d",
                         (int)dtype);
    if (dtype != (lab_dtype)t->dtype)
        return to_copy(t, dtype, t->storage->place, out);
    *out = lab_ref(t);
    return LARDER_OK;
}
