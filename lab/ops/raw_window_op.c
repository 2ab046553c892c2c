/* raw_window_op.c - convolution and pooling with any window, and image
 * resizing, not recorded. */
#include <larder/lab_raw.h>

#include "kernels/nn_kernels.h"
#include "ops/op.h"

static larder_result window_check(const char *op, const lab_tensor *x,
                                  const lab_window *win)
{
    if (win->size != sizeof *win)
        return lab__invalid("lab_window has %zu bytes, this library's has %zu",
                            win->size, sizeof *win);
    LAB__TRY(lab__check_float(op, x));
    LAB__TRY(lab__nn_check_ndim(op, "the input", x, 4));
    for (int i = 0; i < 2; i++) {
        if (win->stride[i] < 1 || win->dilation[i] < 1 || win->padding[i] < 0 ||
            win->kernel[i] < 0)
            return lab__invalid(
                "%s: windows of %lld, a stride of %lld, padding of %lld and "
                "dilation of %lld cannot be combined",
                op, (long long)win->kernel[i], (long long)win->stride[i],
                (long long)win->padding[i], (long long)win->dilation[i]);
    }
    return LARDER_OK;
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
            return lab__invalid("%s: no window fits: %lld elements, padding "
                                "%lld, a window of %lld",
                                op, (long long)length,
                                (long long)win->padding[i],
                                (long long)win->kernel[i]);
    }
    return LARDER_OK;
}

/* ---- convolution -------------------------------------------------------- */

static larder_result bias_check(const lab_tensor *w, const lab_tensor *b,
                                int64_t channels)
{
    LAB__TRY(lab__nn_check_part("conv2d", w, b));
    LAB__TRY(lab__nn_check_ndim("conv2d", "the bias", b, 1));
    if (b->sizes[0] == channels)
        return LARDER_OK;
    return lab__invalid("conv2d: a bias of %lld for %lld output channels",
                        (long long)b->sizes[0], (long long)channels);
}

static larder_result conv_check(const lab_tensor *x, const lab_tensor *w,
                                const lab_window *win)
{
    int64_t want;

    LAB__TRY(window_check("conv2d", x, win));
    LAB__TRY(lab__check_float("conv2d", w));
    LAB__TRY(lab__nn_check_ndim("conv2d", "the weight", w, 4));
    LAB__TRY(lab__check_place("conv2d", x, w));
    want = win->transposed ? w->sizes[0] : w->sizes[1] * win->groups;
    if (win->groups < 1 || x->sizes[1] != want ||
        w->sizes[0] % win->groups != 0 || w->sizes[2] != win->kernel[0] ||
        w->sizes[3] != win->kernel[1])
        return lab__invalid("conv2d: %lld channels in %lld groups do not match "
                            "a weight for %lld",
                            (long long)x->sizes[1], (long long)win->groups,
                            (long long)want);
    return LARDER_OK;
}

larder_result lab_raw_conv2d(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                             const lab_window *win, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    int64_t sizes[4];

    LAB__TRY(conv_check(x, w, win));
    sizes[0] = x->sizes[0];
    sizes[1] = win->transposed ? w->sizes[1] * win->groups : w->sizes[0];
    if (b != NULL)
        LAB__TRY(bias_check(w, b, sizes[1]));
    LAB__TRY(side_sizes("conv2d", x, win, sizes));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){x, w, b}, &d));
    LAB__TRY(lab__tensor_of(x, 4, sizes, &made));
    if (!win->transposed) {
        lab__window_conv(made, d.t[0], d.t[1], d.t[2], win);
    } else {
        lab__window_conv_input(made, d.t[0], d.t[1], win);
        if (b != NULL)
            lab__channels_add(made, d.t[2]);
    }
    return lab__done(&made, out);
}

/* The gradient of the input or of the weight, whose sizes these are, from the
 * output's and the other one.  Transposed, input and output exchange roles. */
static larder_result conv_gradient(lab_tensor *grad, lab_tensor *other,
                                   const lab_window *win, const int64_t *sizes,
                                   bool of_weight, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};

    LAB__TRY(window_check("conv2d backward", grad, win));
    LAB__TRY(lab__dense_all(2, (lab_tensor *[]){grad, other}, &d));
    LAB__TRY(lab__tensor_of(grad, 4, sizes, &made));
    if (of_weight)
        lab__window_conv_weight(made, d.t[win->transposed],
                                d.t[!win->transposed], win);
    else if (win->transposed)
        lab__window_conv(made, d.t[0], d.t[1], NULL, win);
    else
        lab__window_conv_input(made, d.t[0], d.t[1], win);
    return lab__done(&made, out);
}

larder_result lab_raw_conv2d_input(lab_tensor *grad, lab_tensor *w,
                                   const lab_window *win, const int64_t *sizes,
                                   lab_tensor **out)
{
    return conv_gradient(grad, w, win, sizes, false, out);
}

larder_result lab_raw_conv2d_weight(lab_tensor *grad, lab_tensor *x,
                                    const lab_window *win, const int64_t *sizes,
                                    lab_tensor **out)
{
    return conv_gradient(grad, x, win, sizes, true, out);
}

/* ---- pooling ------------------------------------------------------------ */

/* Contiguous x, and a result with an element for each window. */
static larder_result pooled_make(const char *op, lab_tensor *x,
                                 const lab_window *win, lab_tensor **dense,
                                 lab_tensor **out)
{
    int64_t sizes[4];

    LAB__TRY(window_check(op, x, win));
    LAB__TRY(side_sizes(op, x, win, sizes));
    LAB__TRY(lab__nn_dense(x, dense));
    sizes[0] = x->sizes[0];
    sizes[1] = x->sizes[1];
    return lab__tensor_of(x, 4, sizes, out);
}

larder_result lab_raw_max_pool2d(lab_tensor *x, const lab_window *win,
                                 lab_tensor **out, lab_tensor **indices)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(pooled_make("max_pool2d", x, win, &dense, &made));
    LAB__TRY(lab__ints_of(x, 4, made->sizes, indices));
    lab__window_max(made, *indices, dense, win);
    return lab__give(&made, out);
}

larder_result lab_raw_max_pool2d_backward(lab_tensor *grad, lab_tensor *indices,
                                          const int64_t *sizes,
                                          lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__nn_dense(grad, &dense));
    LAB__TRY(lab__tensor_of(grad, 4, sizes, &made));
    lab__window_max_backward(made, dense, indices);
    return lab__done(&made, out);
}

larder_result lab_raw_avg_pool2d(lab_tensor *x, const lab_window *win,
                                 lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(pooled_make("avg_pool2d", x, win, &dense, &made));
    lab__window_average(made, dense, win);
    return lab__done(&made, out);
}

larder_result lab_raw_avg_pool2d_backward(lab_tensor *grad,
                                          const lab_window *win,
                                          const int64_t *sizes,
                                          lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__nn_dense(grad, &dense));
    LAB__TRY(lab__tensor_of(grad, 4, sizes, &made));
    lab__window_average_backward(made, dense, win);
    return lab__done(&made, out);
}

/* ---- resizing ----------------------------------------------------------- */

larder_result lab_raw_resize2d(lab_tensor *x, const int64_t *to, bool linear,
                               bool align_corners, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__check_float("interpolate", x));
    LAB__TRY(lab__nn_check_ndim("interpolate", "the input", x, 4));
    if (to[0] < 1 || to[1] < 1 || lab_numel(x) == 0)
        return lab__invalid("interpolate: to %lld by %lld elements",
                            (long long)to[0], (long long)to[1]);
    LAB__TRY(lab__nn_dense(x, &dense));
    LAB__TRY(lab__tensor_of(
        x, 4, (int64_t[]){x->sizes[0], x->sizes[1], to[0], to[1]}, &made));
    lab__resize(made, dense, linear, align_corners);
    return lab__done(&made, out);
}

larder_result lab_raw_resize2d_backward(lab_tensor *grad, const int64_t *sizes,
                                        bool linear, bool align_corners,
                                        lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__nn_dense(grad, &dense));
    LAB__TRY(lab__tensor_of(grad, 4, sizes, &made));
    lab__resize_backward(made, dense, linear, align_corners);
    return lab__done(&made, out);
}
