/* pooling.c - max_pool2d, which saves the index of each maximum. */
#include "kernels/nn_kernels.h"
#include "ops/op.h"

/* The input is saved only for its sizes, and so kept, as in PyTorch. */
enum { INPUT, INDICES };

static larder_result max_pool2d_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *grad = NULL;

    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__tensor_like(lab__saved(b, INPUT), &b->results[0]));
    lab__window_max_backward(b->results[0], grad, lab__saved(b, INDICES));
    return LARDER_OK;
}

static larder_result sizes_get(const lab_tensor *a, int kernel, int stride,
                               int64_t sizes[4])
{
    if (kernel < 1 || stride < 1)
        return lab__invalid(
            "max_pool2d: kernel %d and stride %d: must be at least 1", kernel,
            stride);
    sizes[0] = a->sizes[0];
    sizes[1] = a->sizes[1];
    for (int i = 2; i < 4; i++) {
        if (a->sizes[i] < kernel)
            return lab__invalid("max_pool2d: a kernel of %d does not fit %lld",
                                kernel, (long long)a->sizes[i]);
        sizes[i] = (a->sizes[i] - kernel) / stride + 1;
    }
    return LARDER_OK;
}

larder_result lab_max_pool2d(lab_tensor *x, int kernel, int stride,
                             lab_tensor **out)
{
    lab_window win = {.size = sizeof win,
                      .kernel = {kernel, kernel},
                      .stride = {stride, stride},
                      .dilation = {1, 1}};
    LAB__OWNED lab_tensor *made = NULL, *indices = NULL, *dense = NULL;
    int64_t sizes[4];

    LAB__TRY(lab__check_float("max_pool2d", x));
    LAB__TRY(lab__nn_check_ndim("max_pool2d", "the input", x, 4));
    LAB__TRY(sizes_get(x, kernel, stride, sizes));
    LAB__TRY(lab__tensor_of(x, 4, sizes, &made));
    LAB__TRY(lab__ints_of(x, 4, sizes, &indices));
    LAB__TRY(lab__nn_dense(x, &dense));
    lab__window_max(made, indices, dense, &win);
    return lab__recorded(
        &(struct lab__recording){.name = "MaxPool2DWithIndicesBackward0",
                                 .backward = max_pool2d_back,
                                 LAB__INPUTS(x),
                                 LAB__SAVES(x, indices)},
        &made, out);
}
