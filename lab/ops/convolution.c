/* convolution.c - 2-D convolution of a batch of images. */
#include "kernels/kernels.h"
#include "kernels/raw_kernels.h"
#include "ops/nn_common.h"

enum { INPUT, WEIGHT };                          /* saved */
enum { STRIDE, PADDING };                        /* node's integers */
enum { ALL_BUT_CHANNELS = 1 | 1 << 2 | 1 << 3 }; /* dimensions, as bits */

static lab_window window_of(int64_t stride, int64_t padding)
{
    return (lab_window){.size = sizeof(lab_window),
                        .stride = {stride, stride},
                        .padding = {padding, padding},
                        .dilation = {1, 1},
                        .groups = 1};
}

static larder_result bias_gradient(lab_tensor *grad, lab_tensor **out)
{
    larder_result r = lab__tensor_of(grad, 1, &grad->sizes[1], out);

    if (r == LARDER_OK)
        lab__sum_dims(*out, grad, ALL_BUT_CHANNELS, 1);
    return r;
}

/* Input, weight, bias: PyTorch's order. */
static larder_result gradients_make(struct lab__node *node, lab_tensor *grad,
                                    lab_tensor *a, lab_tensor *w,
                                    lab_tensor **results)
{
    lab_window win = window_of(node->integer[STRIDE], node->integer[PADDING]);
    larder_result r = LARDER_OK;

    if (lab__node_wants(node, 0)) {
        r = lab__tensor_like(a, &results[0]);
        if (r == LARDER_OK)
            lab__window_conv_input(results[0], grad, w, &win);
    }
    if (r == LARDER_OK && lab__node_wants(node, 1)) {
        r = lab__tensor_like(w, &results[1]);
        if (r == LARDER_OK)
            lab__window_conv_weight(results[1], grad, a, &win);
    }
    if (r == LARDER_OK && lab__node_wants(node, 2))
        r = bias_gradient(grad, &results[2]);
    return r;
}

static larder_result conv2d_backward(struct lab__node *node, lab_tensor **grads,
                                     lab_tensor **results)
{
    lab_tensor *grad = NULL, *a = NULL, *w = NULL;
    larder_result r = lab__nn_dense(grads[0], &grad);

    if (r == LARDER_OK)
        r = lab__nn_saved_dense(node, INPUT, &a);
    if (r == LARDER_OK)
        r = lab__nn_saved_dense(node, WEIGHT, &w);
    if (r == LARDER_OK)
        r = gradients_make(node, grad, a, w, results);
    lab_unref(w);
    lab_unref(a);
    lab_unref(grad);
    return r;
}

static const struct lab__node_kind conv2d_kind = {
    .name = "ConvolutionBackward0", .backward = conv2d_backward};

static larder_result convolution_record(lab_tensor *const inputs[3], int stride,
                                        int padding, lab_tensor *result)
{
    struct lab__node *node;
    larder_result r = lab__record(&conv2d_kind, 3, inputs, result, &node);

    if (r != LARDER_OK || node == NULL)
        return r;
    node->integer[STRIDE] = stride;
    node->integer[PADDING] = padding;
    r = lab__node_save(node, INPUT, inputs[0]);
    return r == LARDER_OK ? lab__node_save(node, WEIGHT, inputs[1]) : r;
}

static larder_result bias_check(const lab_tensor *w, const lab_tensor *b)
{
    larder_result r = lab__check_float("conv2d", b);

    if (r == LARDER_OK)
        r = lab__check_place("conv2d", w, b);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim("conv2d", "the bias", b, 1);
    if (r == LARDER_OK && b->sizes[0] != w->sizes[0])
        r = lab__fail(LARDER_ERR_INVALID,
                      "conv2d: a bias of %lld for %lld output channels",
                      (long long)b->sizes[0], (long long)w->sizes[0]);
    return r;
}

static larder_result inputs_check(lab_tensor *const inputs[3])
{
    const lab_tensor *a = inputs[0], *w = inputs[1], *b = inputs[2];
    larder_result r = lab__check_float("conv2d", a);

    if (r == LARDER_OK)
        r = lab__check_float("conv2d", w);
    if (r == LARDER_OK)
        r = lab__check_place("conv2d", a, w);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim("conv2d", "the input", a, 4);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim("conv2d", "the weight", w, 4);
    if (r == LARDER_OK && a->sizes[1] != w->sizes[1])
        r = lab__fail(LARDER_ERR_INVALID,
                      "conv2d: the weight is for %lld channels, the input has "
                      "%lld",
                      (long long)w->sizes[1], (long long)a->sizes[1]);
    if (r == LARDER_OK && b != NULL)
        r = bias_check(w, b);
    return r;
}

static larder_result sizes_get(const lab_tensor *a, const lab_tensor *w,
                               int stride, int padding, int64_t sizes[4])
{
    if (stride < 1 || padding < 0)
        return lab__fail(LARDER_ERR_INVALID,
                         "conv2d: stride %d and padding %d: must be at least 1 "
                         "and 0",
                         stride, padding);
    sizes[0] = a->sizes[0];
    sizes[1] = w->sizes[0];
    for (int i = 2; i < 4; i++) {
        int64_t room = a->sizes[i] + 2 * (int64_t)padding - w->sizes[i];

        if (room < 0 || w->sizes[i] == 0)
            return lab__fail(LARDER_ERR_INVALID,
                             "conv2d: a kernel of %lld does not fit %lld with "
                             "padding %d",
                             (long long)w->sizes[i], (long long)a->sizes[i],
                             padding);
        sizes[i] = room / stride + 1;
    }
    return LARDER_OK;
}

static larder_result conv2d(lab_tensor *const inputs[3], int stride,
                            int padding, lab_tensor *dense[3], lab_tensor **out)
{
    lab_window win = window_of(stride, padding);
    int64_t sizes[4];
    lab_tensor *made;
    larder_result r = sizes_get(inputs[0], inputs[1], stride, padding, sizes);

    for (int i = 0; i < 3 && r == LARDER_OK; i++) {
        if (inputs[i] != NULL)
            r = lab__nn_dense(inputs[i], &dense[i]);
    }
    if (r == LARDER_OK)
        r = lab__tensor_of(inputs[0], 4, sizes, &made);
    if (r != LARDER_OK)
        return r;
    lab__window_conv(made, dense[0], dense[1], dense[2], &win);
    r = convolution_record(inputs, stride, padding, made);
    return lab__done(r, made, out);
}

larder_result lab_conv2d(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                         int stride, int padding, lab_tensor **out)
{
    lab_tensor *const inputs[3] = {x, w, b};
    lab_tensor *dense[3] = {NULL};
    larder_result r = inputs_check(inputs);

    if (r == LARDER_OK)
        r = conv2d(inputs, stride, padding, dense, out);
    for (int i = 0; i < 3; i++)
        lab_unref(dense[i]);
    return r;
}
