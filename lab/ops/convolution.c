/* convolution.c - 2-D convolution of a batch of images. */
#include <larder/lab_raw.h>

#include "kernels/kernels.h"
#include "kernels/nn_kernels.h"
#include "ops/op.h"

enum { INPUT, WEIGHT };                          /* saved */
enum { STRIDE, PADDING };                        /* node's integers */
enum { ALL_BUT_CHANNELS = 1 | 1 << 2 | 1 << 3 }; /* dimensions, as bits */

static lab_window window_of(const lab_tensor *w, int64_t stride,
                            int64_t padding)
{
    return (lab_window){.size = sizeof(lab_window),
                        .kernel = {w->sizes[2], w->sizes[3]},
                        .stride = {stride, stride},
                        .padding = {padding, padding},
                        .dilation = {1, 1},
                        .groups = 1};
}

/* Input, weight, bias: PyTorch's order. */
static larder_result conv2d_back(const struct lab__back *b)
{
    const int64_t *integer = b->node->integer;
    lab_tensor **results = b->results;
    LAB__OWNED lab_tensor *grad = NULL, *a = NULL, *w = NULL;
    lab_window win;

    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__nn_dense(lab__saved(b, INPUT), &a));
    LAB__TRY(lab__nn_dense(lab__saved(b, WEIGHT), &w));
    win = window_of(w, integer[STRIDE], integer[PADDING]);
    if (lab__wants(b, 0)) {
        LAB__TRY(lab__tensor_like(a, &results[0]));
        lab__window_conv_input(results[0], grad, w, &win);
    }
    if (lab__wants(b, 1)) {
        LAB__TRY(lab__tensor_like(w, &results[1]));
        lab__window_conv_weight(results[1], grad, a, &win);
    }
    if (lab__wants(b, 2)) {
        LAB__TRY(lab__tensor_of(grad, 1, &grad->sizes[1], &results[2]));
        lab__sum_dims(results[2], grad, ALL_BUT_CHANNELS, 1);
    }
    return LARDER_OK;
}

static larder_result inputs_check(const lab_tensor *a, const lab_tensor *w)
{
    LAB__TRY(lab__check_float("conv2d", a));
    LAB__TRY(lab__nn_check_part("conv2d", a, w));
    LAB__TRY(lab__nn_check_ndim("conv2d", "the input", a, 4));
    LAB__TRY(lab__nn_check_ndim("conv2d", "the weight", w, 4));
    if (a->sizes[1] != w->sizes[1])
        return lab__invalid(
            "conv2d: the weight is for %lld channels, the input has %lld",
            (long long)w->sizes[1], (long long)a->sizes[1]);
    return LARDER_OK;
}

static larder_result window_check(const lab_tensor *a, const lab_tensor *w,
                                  int stride, int padding)
{
    if (stride < 1 || padding < 0)
        return lab__invalid(
            "conv2d: stride %d and padding %d: must be at least 1 and 0",
            stride, padding);
    for (int i = 2; i < 4; i++) {
        if (w->sizes[i] == 0 ||
            a->sizes[i] + 2 * (int64_t)padding < w->sizes[i])
            return lab__invalid(
                "conv2d: a kernel of %lld does not fit %lld with padding %d",
                (long long)w->sizes[i], (long long)a->sizes[i], padding);
    }
    return LARDER_OK;
}

larder_result lab_conv2d(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                         int stride, int padding, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;
    lab_window win;

    LAB__TRY(inputs_check(x, w));
    LAB__TRY(window_check(x, w, stride, padding));
    win = window_of(w, stride, padding);
    LAB__TRY(lab_raw_conv2d(x, w, b, &win, &made));
    return lab__recorded(
        &(struct lab__recording){.name = "ConvolutionBackward0",
                                 .backward = conv2d_back,
                                 LAB__INPUTS(x, w, b),
                                 LAB__SAVES(x, w),
                                 .integer = {stride, padding}},
        &made, out);
}
