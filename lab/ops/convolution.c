/* convolution.c - 2-D convolution of a batch of images, directly: each weight adds a
 * row of the input to a row of the output. */
#include <string.h>

#include "ops/op.h"
#include "tensor/wide.h"

/* ---- loops -------------------------------------------------------------- */

/* A convolution.  On the ways back one of the first two is written, and `out` has the
 * output's gradient. */
struct conv {
    float *a, *w, *b; /* input, weight, bias or NULL */
    float *out;
    int64_t n, c, h, width; /* of the input */
    int64_t o, kh, kw;
    int64_t oh, ow;
    int64_t in_group, out_group; /* channels of a group */
    const lab_window *win;
};

/* Minimum number of products in a piece that is worth splitting off. */
enum { GRAIN_PRODUCTS = 65536 };

static struct conv conv_of(const lab_tensor *a, const lab_tensor *w,
                           const lab_tensor *b, const lab_tensor *out,
                           const lab_window *win)
{
    return (struct conv){
        .a = lab__floats(a),
        .w = lab__floats(w),
        .b = lab__floats(b),
        .out = lab__floats(out),
        .n = a->sizes[0],
        .c = a->sizes[1],
        .h = a->sizes[2],
        .width = a->sizes[3],
        .o = w->sizes[0],
        .kh = w->sizes[2],
        .kw = w->sizes[3],
        .oh = out->sizes[2],
        .ow = out->sizes[3],
        .in_group = w->sizes[1],
        .out_group = w->sizes[0] / win->groups,
        .win = win,
    };
}

/* Where the outputs [first, last) along an axis find their input, for one place
 * of the kernel: from `in` on, `stride` apart, inside the image. */
struct range {
    int64_t first, last, in, stride;
};

static struct range axis_range(const lab_window *win, int axis, int64_t size,
                               int64_t outputs, int64_t k)
{
    int64_t stride = win->stride[axis];
    int64_t before = win->padding[axis] - k * win->dilation[axis];
    int64_t inside = size - 1 + before;
    struct range r = {.stride = stride};

    r.first = before > 0 ? (before + stride - 1) / stride : 0;
    r.last = inside < 0 ? 0 : inside / stride + 1;
    if (r.last > outputs)
        r.last = outputs;
    r.in = r.first * stride - before;
    return r;
}

/* The ranges for a place of the kernel; false: it sees nothing. */
static bool ranges_of(const struct conv *v, int64_t at, struct range *y,
                      struct range *x)
{
    *y = axis_range(v->win, 0, v->h, v->oh, at / v->kw);
    *x = axis_range(v->win, 1, v->width, v->ow, at % v->kw);
    return y->first < y->last && x->first < x->last;
}

/* A row of the output and the row of the input that it sees through one weight,
 * whose elements are `stride` apart. */
typedef void row_fn(float *out, float *in, int64_t count, int64_t stride,
                    float w);

LAB__INLINE void plane_rows(const struct conv *v, float *out, float *in,
                            const float *w, row_fn *row)
{
    struct range ys, xs;

    for (int64_t at = 0; at < v->kh * v->kw; at++) {
        if (!ranges_of(v, at, &ys, &xs))
            continue;
        for (int64_t y = ys.first; y < ys.last; y++, ys.in += ys.stride)
            row(out + y * v->ow + xs.first, in + ys.in * v->width + xs.in,
                xs.last - xs.first, xs.stride, w[at]);
    }
}

LAB__INLINE void forward_row(float *out, float *in, int64_t count,
                             int64_t stride, float w)
{
    if (stride == 1) {
        for (int64_t i = 0; i < count; i++)
            out[i] += w * in[i];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] += w * in[i * stride];
}

/* Output plane (n, o). */
static void forward_plane(void *context, int64_t i)
{
    const struct conv *v = context;
    int64_t n = i / v->o, o = i % v->o, plane = v->oh * v->ow;
    int64_t first = n * v->c + o / v->out_group * v->in_group;
    float *out = v->out + i * plane;
    float bias = v->b != NULL ? v->b[o] : 0;

    for (int64_t j = 0; j < plane; j++)
        out[j] = bias;
    for (int64_t c = 0; c < v->in_group; c++)
        plane_rows(v, out, v->a + (first + c) * v->h * v->width,
                   v->w + (o * v->in_group + c) * v->kh * v->kw, forward_row);
}

/* x: N×C×H×W, w: O×C/groups×KH×KW, b: O or NULL, out: N×O×OH×OW */
static void forward(lab_tensor *out, const lab_tensor *a, const lab_tensor *w,
                    const lab_tensor *b, const lab_window *win)
{
    struct conv v = conv_of(a, w, b, out, win);

    if (LAB__READABLE(out, a, w, b))
        lab__parallel_each(
            lab_session(a), v.n * v.o,
            lab__grain(GRAIN_PRODUCTS, v.in_group * v.kh * v.kw * v.oh * v.ow),
            forward_plane, &v);
}

LAB__INLINE void input_row(float *grad, float *in, int64_t count,
                           int64_t stride, float w)
{
    if (stride == 1) {
        for (int64_t i = 0; i < count; i++)
            in[i] += w * grad[i];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        in[i * stride] += w * grad[i];
}

/* Input plane (n, c). */
static void grad_input_plane(void *context, int64_t i)
{
    const struct conv *v = context;
    int64_t n = i / v->c, c = i % v->c, plane = v->h * v->width;
    int64_t first = c / v->in_group * v->out_group;
    float *in = v->a + i * plane;

    memset(in, 0, (size_t)plane * sizeof *in);
    for (int64_t o = first; o < first + v->out_group; o++)
        plane_rows(v, v->out + (n * v->o + o) * v->oh * v->ow, in,
                   v->w + (o * v->in_group + c % v->in_group) * v->kh * v->kw,
                   input_row);
}

static void grad_input(lab_tensor *grad_a, const lab_tensor *grad,
                       const lab_tensor *w, const lab_window *win)
{
    struct conv v = conv_of(grad_a, w, NULL, grad, win);

    if (LAB__READABLE(grad_a, grad, w))
        lab__parallel_each(
            lab_session(grad), v.n * v.c,
            lab__grain(GRAIN_PRODUCTS, v.out_group * v.kh * v.kw * v.oh * v.ow),
            grad_input_plane, &v);
}

LAB__INLINE float row_product(const float *grad, const float *in, int64_t count,
                              int64_t stride)
{
    float sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += grad[i] * in[i * stride];
    return sum;
}

/* One weight's gradient from one pair of planes. */
static double plane_grad_weight(const struct conv *v, const float *grad,
                                const float *in, struct range ys,
                                struct range xs)
{
    double sum = 0;

    for (int64_t y = ys.first; y < ys.last; y++, ys.in += ys.stride)
        sum += row_product(grad + y * v->ow + xs.first,
                           in + ys.in * v->width + xs.in, xs.last - xs.first,
                           xs.stride);
    return sum;
}

/* Weight (o, c, ky, kx). */
static void grad_one_weight(void *context, int64_t i)
{
    const struct conv *v = context;
    int64_t window = i / (v->kw * v->kh), o = window / v->in_group;
    int64_t c = o / v->out_group * v->in_group + window % v->in_group;
    struct range ys, xs;
    bool sees = ranges_of(v, i % (v->kw * v->kh), &ys, &xs);
    double sum = 0;

    for (int64_t n = 0; sees && n < v->n; n++)
        sum +=
            plane_grad_weight(v, v->out + (n * v->o + o) * v->oh * v->ow,
                              v->a + (n * v->c + c) * v->h * v->width, ys, xs);
    v->w[i] = (float)sum;
}

static void grad_weight(lab_tensor *grad_w, const lab_tensor *grad,
                        const lab_tensor *a, const lab_window *win)
{
    struct conv v = conv_of(a, grad_w, NULL, grad, win);

    if (LAB__READABLE(grad_w, grad, a))
        lab__parallel_each(lab_session(a), lab_numel(grad_w),
                           lab__grain(GRAIN_PRODUCTS, v.n * v.oh * v.ow),
                           grad_one_weight, &v);
}

/* out += b, which has an element for each channel */
static void channels_add(lab_tensor *out, const lab_tensor *b)
{
    int64_t area = out->sizes[2] * out->sizes[3];
    int64_t planes = out->sizes[0] * out->sizes[1];
    const float *from = lab__floats(b);
    float *to = lab__floats(out);

    if (!LAB__READABLE(out, b))
        return;
    for (int64_t i = 0; i < planes * area; i++)
        to[i] += from[i / area % out->sizes[1]];
}

/* ---- any window, not recorded ------------------------------------------- */

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

    LAB__TRY(lab__window_check("conv2d", x, win));
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
    LAB__TRY(lab__window_sizes("conv2d", x, win, sizes));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){x, w, b}, &d));
    LAB__TRY(lab__tensor_of(x, 4, sizes, &made));
    if (!win->transposed) {
        forward(made, d.t[0], d.t[1], d.t[2], win);
    } else {
        grad_input(made, d.t[0], d.t[1], win);
        if (b != NULL)
            channels_add(made, d.t[2]);
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

    LAB__TRY(lab__window_check("conv2d backward", grad, win));
    LAB__TRY(lab__dense_all(2, (lab_tensor *[]){grad, other}, &d));
    LAB__TRY(lab__tensor_of(grad, 4, sizes, &made));
    if (of_weight)
        grad_weight(made, d.t[win->transposed], d.t[!win->transposed], win);
    else if (win->transposed)
        forward(made, d.t[0], d.t[1], NULL, win);
    else
        grad_input(made, d.t[0], d.t[1], win);
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

/* ---- one stride and padding, recorded ----------------------------------- */

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
        grad_input(results[0], grad, w, &win);
    }
    if (lab__wants(b, 1)) {
        LAB__TRY(lab__tensor_like(w, &results[1]));
        grad_weight(results[1], grad, a, &win);
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
