/* raw_window_op.c - convolution and pooling with any window, and image
 * resizing, not recorded. */
#include "ops/raw_common.h"

static larder_result window_check(const char *op, const lab_tensor *x,
                                  const lab_window *win)
{
    larder_result r = lab__check_float(op, x);

    if (win->size != sizeof *win)
        return lab__fail(LARDER_ERR_INVALID,
                         "lab_window of %zu bytes, this library's has %zu",
                         win->size, sizeof *win);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim(op, "the input", x, 4);
    for (int i = 0; i < 2 && r == LARDER_OK; i++) {
        if (win->stride[i] < 1 || win->dilation[i] < 1 || win->padding[i] < 0 ||
            win->kernel[i] < 0)
            r = lab__fail(LARDER_ERR_INVALID,
                          "%s: windows of %lld, a stride of %lld, padding of "
                          "%lld and dilation of %lld do not go together",
                          op, (long long)win->kernel[i],
                          (long long)win->stride[i], (long long)win->padding[i],
                          (long long)win->dilation[i]);
    }
    return r;
}

/* How many windows fit along one side. */
static int64_t windows_along(const lab_window *win, int side, int64_t length)
{
    int64_t room = length + 2 * win->padding[side] -
                   win->dilation[side] * (win->kernel[side] - 1) - 1;
    int64_t stride = win->stride[side], count;

    if (win->kernel[side] == 0)
        return stride;
    if (room < 0)
        return 0;
    count = (win->rounds_up ? room + stride - 1 : room) / stride + 1;
    /* The last window must begin in the image or before it. */
    if (win->rounds_up && (count - 1) * stride >= length + win->padding[side])
        count--;
    return count;
}

static larder_result side_sizes(const char *op, const lab_tensor *x,
                                const lab_window *win, int64_t sizes[4])
{
    for (int i = 0; i < 2; i++) {
        int64_t length = x->sizes[2 + i];

        if (win->transposed)
            sizes[2 + i] = (length - 1) * win->stride[i] - 2 * win->padding[i] +
                           win->dilation[i] * (win->kernel[i] - 1) +
                           win->output_padding[i] + 1;
        else
            sizes[2 + i] = windows_along(win, i, length);
        if (sizes[2 + i] < 1)
            return lab__fail(LARDER_ERR_INVALID,
                             "%s: no window fits: %lld elements, padding %lld, "
                             "a window of %lld",
                             op, (long long)length, (long long)win->padding[i],
                             (long long)win->kernel[i]);
    }
    return LARDER_OK;
}

/* ---- convolution -------------------------------------------------------- */

static larder_result conv_check(const lab_tensor *x, const lab_tensor *w,
                                const lab_tensor *b, const lab_window *win)
{
    int64_t channels = x->ndim == 4 ? x->sizes[1] : 0, want;
    larder_result r = window_check("conv2d", x, win);

    if (r == LARDER_OK)
        r = lab__check_float("conv2d", w);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim("conv2d", "the weight", w, 4);
    if (r == LARDER_OK)
        r = lab__check_place("conv2d", x, w);
    if (r == LARDER_OK && b != NULL)
        r = lab__check_place("conv2d", x, b);
    if (r != LARDER_OK)
        return r;
    want = win->transposed ? w->sizes[0] : w->sizes[1] * win->groups;
    if (win->groups < 1 || channels != want || w->sizes[0] % win->groups != 0 ||
        w->sizes[2] != win->kernel[0] || w->sizes[3] != win->kernel[1])
        return lab__fail(LARDER_ERR_INVALID,
                         "conv2d: %lld channels in %lld groups do not go with "
                         "a weight for %lld",
                         (long long)channels, (long long)win->groups,
                         (long long)want);
    return LARDER_OK;
}

larder_result lab_raw_conv2d(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                             const lab_window *win, lab_tensor **out)
{
    lab_tensor *all[3] = {x, w, b}, *dense[3];
    int64_t sizes[4];
    larder_result r = conv_check(x, w, b, win);

    if (r == LARDER_OK)
        r = side_sizes("conv2d", x, win, sizes);
    if (r == LARDER_OK)
        r = lab__dense_all(3, all, dense);
    if (r != LARDER_OK)
        return r;
    sizes[0] = x->sizes[0];
    sizes[1] = win->transposed ? w->sizes[1] * win->groups : w->sizes[0];
    r = lab__tensor_of(x, 4, sizes, out);
    if (r == LARDER_OK) {
        if (win->transposed) {
            lab__window_conv_input(*out, dense[0], dense[1], win);
            if (b != NULL)
                lab__channels_add(*out, dense[2]);
        } else {
            lab__window_conv(*out, dense[0], dense[1], dense[2], win);
        }
        r = lab__done(r, *out, out);
    }
    lab__drop_all(3, dense);
    return r;
}

/* A tensor of these sizes, computed by `kernel` from two contiguous ones. */
static larder_result of_two(lab_tensor *a, lab_tensor *b, const lab_window *win,
                            const int64_t *sizes,
                            void (*kernel)(lab_tensor *, const lab_tensor *,
                                           const lab_tensor *,
                                           const lab_window *),
                            lab_tensor **out)
{
    lab_tensor *both[2] = {a, b}, *dense[2];
    larder_result r = lab__dense_all(2, both, dense);

    if (r != LARDER_OK)
        return r;
    r = lab__tensor_of(a, 4, sizes, out);
    if (r == LARDER_OK) {
        kernel(*out, dense[0], dense[1], win);
        r = lab__done(r, *out, out);
    }
    lab__drop_all(2, dense);
    return r;
}

static void conv_of_grad(lab_tensor *out, const lab_tensor *grad,
                         const lab_tensor *w, const lab_window *win)
{
    lab__window_conv(out, grad, w, NULL, win);
}

larder_result lab_raw_conv2d_input(lab_tensor *grad, lab_tensor *w,
                                   const lab_window *win, const int64_t *sizes,
                                   lab_tensor **out)
{
    larder_result r = window_check("conv2d backward", grad, win);

    if (r != LARDER_OK)
        return r;
    return of_two(grad, w, win, sizes,
                  win->transposed ? conv_of_grad : lab__window_conv_input, out);
}

static void weight_swapped(lab_tensor *out, const lab_tensor *grad,
                           const lab_tensor *x, const lab_window *win)
{
    lab__window_conv_weight(out, x, grad, win);
}

larder_result lab_raw_conv2d_weight(lab_tensor *grad, lab_tensor *x,
                                    const lab_window *win, const int64_t *sizes,
                                    lab_tensor **out)
{
    larder_result r = window_check("conv2d backward", grad, win);

    if (r != LARDER_OK)
        return r;
    return of_two(grad, x, win, sizes,
                  win->transposed ? weight_swapped : lab__window_conv_weight,
                  out);
}

/* ---- pooling ------------------------------------------------------------ */

static larder_result pooled_make(const char *op, lab_tensor *x,
                                 const lab_window *win, lab_tensor **dense,
                                 int64_t sizes[4], lab_tensor **out)
{
    larder_result r = window_check(op, x, win);

    if (r == LARDER_OK)
        r = side_sizes(op, x, win, sizes);
    if (r == LARDER_OK)
        r = lab__nn_dense(x, dense);
    if (r != LARDER_OK)
        return r;
    sizes[0] = x->sizes[0];
    sizes[1] = x->sizes[1];
    r = lab__tensor_of(x, 4, sizes, out);
    if (r != LARDER_OK)
        lab_unref(*dense);
    return r;
}

larder_result lab_raw_max_pool2d(lab_tensor *x, const lab_window *win,
                                 lab_tensor **out, lab_tensor **indices)
{
    int64_t sizes[4];
    lab_tensor *dense;
    larder_result r = pooled_make("max_pool2d", x, win, &dense, sizes, out);

    if (r != LARDER_OK)
        return r;
    r = lab__tensor_new(x->storage->session, LAB_INT64, x->storage->place, 4,
                        sizes, indices);
    if (r == LARDER_OK)
        lab__window_max(*out, *indices, dense, win);
    else
        lab__drop_all(1, out);
    lab_unref(dense);
    return r;
}

larder_result lab_raw_max_pool2d_backward(lab_tensor *grad, lab_tensor *indices,
                                          const int64_t *sizes,
                                          lab_tensor **out)
{
    lab_tensor *dense;
    larder_result r = lab__nn_dense(grad, &dense);

    if (r != LARDER_OK)
        return r;
    r = lab__tensor_of(grad, 4, sizes, out);
    if (r == LARDER_OK) {
        lab__window_max_backward(*out, dense, indices);
        r = lab__done(r, *out, out);
    }
    lab_unref(dense);
    return r;
}

larder_result lab_raw_avg_pool2d(lab_tensor *x, const lab_window *win,
                                 lab_tensor **out)
{
    int64_t sizes[4];
    lab_tensor *dense;
    larder_result r = pooled_make("avg_pool2d", x, win, &dense, sizes, out);

    if (r != LARDER_OK)
        return r;
    lab__window_average(*out, dense, win);
    lab_unref(dense);
    return lab__done(r, *out, out);
}

larder_result lab_raw_avg_pool2d_backward(lab_tensor *grad,
                                          const lab_window *win,
                                          const int64_t *sizes,
                                          lab_tensor **out)
{
    lab_tensor *dense;
    larder_result r = lab__nn_dense(grad, &dense);

    if (r != LARDER_OK)
        return r;
    r = lab__tensor_of(grad, 4, sizes, out);
    if (r == LARDER_OK) {
        lab__window_average_backward(*out, dense, win);
        r = lab__done(r, *out, out);
    }
    lab_unref(dense);
    return r;
}

/* ---- resizing ----------------------------------------------------------- */

larder_result lab_raw_resize2d(lab_tensor *x, const int64_t *to, bool linear,
                               bool align_corners, lab_tensor **out)
{
    int64_t sizes[4];
    lab_tensor *dense;
    larder_result r = lab__check_float("interpolate", x);

    if (r == LARDER_OK)
        r = lab__nn_check_ndim("interpolate", "the input", x, 4);
    if (r == LARDER_OK && (to[0] < 1 || to[1] < 1 || lab_numel(x) == 0))
        r = lab__fail(LARDER_ERR_INVALID,
                      "interpolate: to %lld by %lld elements", (long long)to[0],
                      (long long)to[1]);
    if (r == LARDER_OK)
        r = lab__nn_dense(x, &dense);
    if (r != LARDER_OK)
        return r;
    for (int i = 0; i < 2; i++) {
        sizes[i] = x->sizes[i];
        sizes[2 + i] = to[i];
    }
    r = lab__tensor_of(x, 4, sizes, out);
    if (r == LARDER_OK) {
        lab__resize(*out, dense, linear, align_corners);
        r = lab__done(r, *out, out);
    }
    lab_unref(dense);
    return r;
}

larder_result lab_raw_resize2d_backward(lab_tensor *grad, const int64_t *sizes,
                                        bool linear, bool align_corners,
                                        lab_tensor **out)
{
    lab_tensor *dense;
    larder_result r = lab__nn_dense(grad, &dense);

    if (r != LARDER_OK)
        return r;
    r = lab__tensor_of(grad, 4, sizes, out);
    if (r == LARDER_OK) {
        lab__resize_backward(*out, dense, linear, align_corners);
        r = lab__done(r, *out, out);
    }
    lab_unref(dense);
    return r;
}
