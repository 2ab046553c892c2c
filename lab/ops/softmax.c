/* softmax.c - softmax and its logarithm: both save their result. */
#include "kernels/nn_kernels.h"
#include "ops/op.h"

enum { DIM, LOGARITHM }; /* node's integers */

static larder_result softmax_back(const struct lab__back *b)
{
    const int64_t *integer = b->node->integer;
    lab_tensor *result = lab__saved(b, 0);
    LAB__OWNED lab_tensor *grad = NULL;

    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__tensor_like(result, &b->results[0]));
    lab__softmax_backward(b->results[0], grad, result, (int)integer[DIM],
                          integer[LOGARITHM] != 0);
    return LARDER_OK;
}

static larder_result softmax_of(const char *op, bool logarithm, lab_tensor *a,
                                int dim, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *in = NULL;

    LAB__TRY(lab__check_float(op, a));
    LAB__TRY(lab__check_dim(op, a, &dim));
    LAB__TRY(lab__nn_dense(a, &in));
    LAB__TRY(lab__tensor_like(a, &made));
    lab__softmax_forward(made, in, dim, logarithm);
    return lab__recorded(
        &(struct lab__recording){.name = logarithm ? "LogSoftmaxBackward0"
                                                   : "SoftmaxBackward0",
                                 .backward = softmax_back,
                                 LAB__INPUTS(a),
                                 LAB__SAVES(made),
                                 .integer = {dim, logarithm}},
        &made, out);
}

larder_result lab_softmax(lab_tensor *a, int dim, lab_tensor **out)
{
    return softmax_of("softmax", false, a, dim, out);
}

larder_result lab_log_softmax(lab_tensor *a, int dim, lab_tensor **out)
{
    return softmax_of("log_softmax", true, a, dim, out);
}
