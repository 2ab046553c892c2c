/* accumulate.c - the node of a leaf, where its gradients accumulate. */
#include "autograd/node.h"
#include "kernels/kernels.h"

bool lab__is_dense(const lab_tensor *t)
{
    int64_t next = 1, count = lab_numel(t);

    while (next < count) {
        int i = 0;

        while (i < t->ndim && (t->strides[i] != next || t->sizes[i] == 1))
            i++;
        if (i == t->ndim)
            return false;
        next *= t->sizes[i];
    }
    return true;
}

/* A gradient has its leaf's layout, if that has no gaps. */
static bool is_laid_out_like(const lab_tensor *grad, const lab_tensor *leaf)
{
    if (!lab__is_dense(leaf))
        return lab_is_contiguous(grad);
    for (int i = 0; i < leaf->ndim; i++) {
        if (leaf->sizes[i] != 1 && grad->strides[i] != leaf->strides[i])
            return false;
    }
    return true;
}

static larder_result copy_like(const lab_tensor *grad, const lab_tensor *leaf,
                               lab_tensor **out)
{
    LAB__OWNED lab_tensor *copy = NULL;

    LAB__TRY(lab__tensor_like(grad, &copy));
    if (lab__is_dense(leaf)) {
        for (int i = 0; i < leaf->ndim; i++)
            copy->strides[i] = leaf->strides[i];
    }
    LAB__TRY(lab__copy(copy, grad));
    return lab__give(&copy, out);
}

/* The first gradient is taken over if nobody else holds it, which saves a copy;
 * later ones are added in place. */
static larder_result accumulate(const struct lab__back *b)
{
    lab_tensor *leaf = b->node->extra, *grad = b->grads[0];
    struct lab__meta *meta = leaf->meta;

    if (meta->grad != NULL) {
        LAB__TRY(lab__check_writable("backward", meta->grad));
        lab__binary(LAB__ADD, meta->grad, meta->grad, grad, 1);
        meta->grad->storage->version++;
        return LARDER_OK;
    }
    if (grad->refs == 1 && is_laid_out_like(grad, leaf)) {
        meta->grad = lab_ref(grad);
        return LARDER_OK;
    }
    return copy_like(grad, leaf, &meta->grad);
}

static void drop(struct lab__node *node)
{
    lab_tensor *leaf = node->extra;

    leaf->meta->accumulator = NULL;
    lab_unref(leaf);
}

larder_result lab__accumulator_new(lab_tensor *leaf, struct lab__node **out)
{
    const struct lab__recording what = {.name = "AccumulateGrad",
                                        .backward = accumulate};
    struct lab__node *node;
    lab *l = leaf->storage->session;

    LAB__TRY(lab__node_new(l, &what, 1, &node));
    l->next_node--; /* leaves do not count as operations */
    node->sequence = UINT64_MAX;
    node->extra = lab_ref(leaf);
    node->drop = drop;
    node->hooks = &leaf->meta->hooks;
    *out = node;
    return LARDER_OK;
}
