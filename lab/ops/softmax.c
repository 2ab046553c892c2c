/* softmax.c - softmax and its logarithm: both save their result. */
#include "kernels/nn_kernels.h"
#include "ops/nn_common.h"

static larder_result gradient(struct lab__node *node, lab_tensor *given,
                              bool logarithm, lab_tensor **out)
{
    lab_tensor *result, *grad, *made;
    larder_result r = lab__node_saved(node, 0, &result);

    if (r != LARDER_OK)
        return r;
    r = lab__nn_dense(given, &grad);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_like(result, &made);
    if (r == LARDER_OK) {
        lab__softmax_backward(made, grad, result, (int)node->integer[0],
                              logarithm);
        *out = made;
    }
    lab_unref(grad);
    return r;
}

static larder_result softmax_backward(struct lab__node *node,
                                      lab_tensor **grads, lab_tensor **results)
{
    return gradient(node, grads[0], false, &results[0]);
}

static larder_result log_softmax_backward(struct lab__node *node,
                                          lab_tensor **grads,
                                          lab_tensor **results)
{
    return gradient(node, grads[0], true, &results[0]);
}

static const struct lab__node_kind softmax_kind = {
    .name = "SoftmaxBackward0", .backward = softmax_backward};
static const struct lab__node_kind log_softmax_kind = {
    .name = "LogSoftmaxBackward0", .backward = log_softmax_backward};

static larder_result softmax_record(const struct lab__node_kind *kind,
                                    lab_tensor *a, int dim, lab_tensor *result)
{
    struct lab__node *node;
    larder_result r = lab__record(kind, 1, &a, result, &node);

    if (r != LARDER_OK || node == NULL)
        return r;
    node->integer[0] = dim;
    return lab__node_save(node, 0, result);
}

static larder_result softmax_of(const char *op, bool logarithm, lab_tensor *a,
                                int dim, lab_tensor **out)
{
    lab_tensor *in, *result;
    larder_result r = lab__check_float(op, a);

    if (r == LARDER_OK)
        r = lab__check_dim(op, a, &dim);
    if (r == LARDER_OK)
        r = lab__nn_dense(a, &in);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_like(a, &result);
    if (r == LARDER_OK)
        lab__softmax_forward(result, in, dim, logarithm);
    lab_unref(in);
    if (r != LARDER_OK)
        return r;
    r = softmax_record(logarithm ? &log_softmax_kind : &softmax_kind, a, dim,
                       result);
    return lab__done(r, result, out);
}

larder_result lab_softmax(lab_tensor *a, int dim, lab_tensor **out)
{
    return softmax_of("softmax", false, a, dim, out);
}

larder_result lab_log_softmax(lab_tensor *a, int dim, lab_tensor **out)
{
    return softmax_of("log_softmax", true, a, dim, out);
}
