/* pooling.c - max_pool2d, which saves the index of each maximum. */
#include "kernels/raw_kernels.h"
#include "ops/nn_common.h"

/* The input is saved only for its sizes, and so kept, as in PyTorch. */
enum { INPUT, INDICES };

static larder_result max_pool2d_backward(struct lab__node *node,
                                         lab_tensor **grads,
                                         lab_tensor **results)
{
    lab_tensor *in, *indices, *grad, *made;
    larder_result r = lab__node_saved(node, INPUT, &in);

    if (r == LARDER_OK)
        r = lab__node_saved(node, INDICES, &indices);
    if (r == LARDER_OK)
        r = lab__nn_dense(grads[0], &grad);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_like(in, &made);
    if (r == LARDER_OK) {
        lab__window_max_backward(made, grad, indices);
        results[0] = made;
    }
    lab_unref(grad);
    return r;
}

static const struct lab__node_kind max_pool2d_kind = {
    .name = "MaxPool2DWithIndicesBackward0", .backward = max_pool2d_backward};

static larder_result pooling_record(lab_tensor *a, lab_tensor *indices,
                                    lab_tensor *result)
{
    lab_tensor *const saved[] = {a, indices};

    return lab__record_saving(&max_pool2d_kind, 1, &a, result, 2, saved);
}

static larder_result sizes_get(const lab_tensor *a, int kernel, int stride,
                               int64_t sizes[4])
{
    if (kernel < 1 || stride < 1)
        return lab__fail(LARDER_ERR_INVALID,
                         "max_pool2d: kernel %d and stride %d: must be at "
                         "least 1",
                         kernel, stride);
    sizes[0] = a->sizes[0];
    sizes[1] = a->sizes[1];
    for (int i = 2; i < 4; i++) {
        if (a->sizes[i] < kernel)
            return lab__fail(LARDER_ERR_INVALID,
                             "max_pool2d: a kernel of %d does not fit %lld",
                             kernel, (long long)a->sizes[i]);
        sizes[i] = (a->sizes[i] - kernel) / stride + 1;
    }
    return LARDER_OK;
}

/* made: result, indices */
static larder_result outputs_make(const lab_tensor *a, const int64_t sizes[4],
                                  lab_tensor *made[2])
{
    larder_result r = lab__tensor_of(a, 4, sizes, &made[0]);

    if (r == LARDER_OK)
        r = lab__tensor_new(lab_session(a), LAB_INT64, lab_place_of(a), 4,
                            sizes, &made[1]);
    return r;
}

static larder_result max_pool2d(lab_tensor *a, int kernel, int stride,
                                lab_tensor **dense, lab_tensor *made[2])
{
    lab_window win = {.size = sizeof win,
                      .kernel = {kernel, kernel},
                      .stride = {stride, stride},
                      .dilation = {1, 1}};
    int64_t sizes[4];
    larder_result r = lab__check_float("max_pool2d", a);

    if (r == LARDER_OK)
        r = lab__nn_check_ndim("max_pool2d", "the input", a, 4);
    if (r == LARDER_OK)
        r = sizes_get(a, kernel, stride, sizes);
    if (r == LARDER_OK)
        r = outputs_make(a, sizes, made);
    if (r == LARDER_OK)
        r = lab__nn_dense(a, dense);
    if (r != LARDER_OK)
        return r;
    lab__window_max(made[0], made[1], *dense, &win);
    return pooling_record(a, made[1], made[0]);
}

larder_result lab_max_pool2d(lab_tensor *x, int kernel, int stride,
                             lab_tensor **out)
{
    lab_tensor *dense = NULL, *made[2] = {NULL, NULL};
    larder_result r = max_pool2d(x, kernel, stride, &dense, made);

    lab_unref(dense);
    lab_unref(made[1]);
    return lab__done(r, made[0], out);
}
