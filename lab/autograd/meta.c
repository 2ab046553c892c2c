/* meta.c - a tensor's gradient state, and the queries about it. */
#include "autograd/node.h"

#include "tensor/host_memory.h"

/* PyTorch's order: hooks, gradient, history. */
static void meta_destroy(struct lab__meta *meta)
{
    if (meta->retains_grad && meta->grad_fn != NULL)
        meta->grad_fn->retain[meta->output] = NULL;
    lab__hooks_end(&meta->hooks);
    lab_unref(meta->grad);
    lab__node_unref(meta->grad_fn);
    lab__host_free(meta);
}

larder_result lab__meta_of(lab_tensor *t, struct lab__meta **out)
{
    if (t->meta == NULL) {
        t->meta = lab__host_zeroed(sizeof *t->meta);
        if (t->meta == NULL)
            return lab__fail_host(sizeof *t->meta);
        t->meta->destroy = meta_destroy;
    }
    *out = t->meta;
    return LARDER_OK;
}

larder_result lab__node_of(lab_tensor *t, struct lab__node **out,
                           unsigned *output)
{
    struct lab__meta *meta = t->meta;

    *out = NULL;
    *output = 0;
    if (!lab_requires_grad(t))
        return LARDER_OK;
    if (meta->grad_fn != NULL) {
        *out = lab__node_ref(meta->grad_fn);
        *output = meta->output;
    } else if (meta->accumulator != NULL) {
        *out = lab__node_ref(meta->accumulator);
    } else {
        LAB__TRY(lab__accumulator_new(t, out));
        meta->accumulator = *out;
    }
    return LARDER_OK;
}

/* ---- public functions --------------------------------------------------- */

larder_result lab_set_requires_grad(lab_tensor *t, bool on)
{
    struct lab__meta *meta;

    if (!lab_is_leaf(t)) {
        return on ? LARDER_OK
                  : lab__invalid(
                        "requires_grad can be switched off for leaves only; "
                        "this tensor comes from %s: use detach()",
                        lab_grad_fn_name(t));
    }
    if (on && t->kind != LAB_FLOAT32) {
        return lab__invalid(
            "only tensors of floating point can require gradients, not %s",
            lab__dtype_name(t->dtype));
    }
    if (!on && t->meta == NULL)
        return LARDER_OK;
    LAB__TRY(lab__meta_of(t, &meta));
    meta->requires_grad = on;
    return LARDER_OK;
}

bool lab_requires_grad(const lab_tensor *t)
{
    return t->meta != NULL &&
           (t->meta->requires_grad || t->meta->grad_fn != NULL);
}

bool lab_is_leaf(const lab_tensor *t)
{
    return t->meta == NULL || t->meta->grad_fn == NULL;
}

lab_tensor *lab_grad(const lab_tensor *t)
{
    return t->meta != NULL ? t->meta->grad : NULL;
}

const char *lab_grad_fn_name(const lab_tensor *t)
{
    return lab_is_leaf(t) ? NULL : t->meta->grad_fn->name;
}

static larder_result grad_check(const lab_tensor *t, const lab_tensor *grad)
{
    char want[LAB__SHAPE_TEXT], got[LAB__SHAPE_TEXT];

    if (grad == t)
        return lab__invalid("a tensor cannot be its own gradient");
    if (grad->dtype != t->dtype || grad->storage->place != t->storage->place) {
        return lab__invalid(
            "the gradient given is %s on %s, the tensor %s on %s",
            lab__dtype_name(grad->dtype), lab__place_name(grad->storage->place),
            lab__dtype_name(t->dtype), lab__place_name(t->storage->place));
    }
    if (lab__same_sizes(t, grad))
        return LARDER_OK;
    return lab__invalid("the gradient given has sizes %s, the tensor %s",
                        lab__shape_text(grad->ndim, grad->sizes, got),
                        lab__shape_text(t->ndim, t->sizes, want));
}

/* A gradient is stored without its own history, so that no chain of gradients
 * of gradients can hang on a leaf. */
larder_result lab_set_grad(lab_tensor *t, lab_tensor *grad)
{
    struct lab__meta *meta;
    lab_tensor *mine = NULL, *old;

    if (grad == NULL && t->meta == NULL)
        return LARDER_OK;
    if (grad != NULL)
        LAB__TRY(grad_check(t, grad));
    LAB__TRY(lab__meta_of(t, &meta));
    if (grad != NULL && grad->meta != NULL)
        LAB__TRY(lab__tensor_alias(grad, &mine));
    else if (grad != NULL)
        mine = lab_ref(grad);
    old = meta->grad;
    meta->grad = mine;
    lab_unref(old);
    return LARDER_OK;
}

larder_result lab_retain_grad(lab_tensor *t)
{
    struct lab__meta *meta = t->meta;

    if (!lab_requires_grad(t)) {
        return lab__invalid("retain_grad() is for tensors that require a "
                            "gradient; this one does not");
    }
    if (meta->grad_fn == NULL || meta->retains_grad)
        return LARDER_OK;
    LAB__TRY(lab__node_retain(meta->grad_fn, meta->output, t));
    meta->retains_grad = true;
    return LARDER_OK;
}
