/* convolution_kernels.c - 2-D convolution, directly: each weight adds a row of
 * the input to a row of the output. */
#include <string.h>

#include "kernels/nn_kernels.h"
#include "tensor/parallel.h"
#include "tensor/wide.h"

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

static void forward_row(float *out, float *in, int64_t count, int64_t stride,
                        float w)
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

void lab__window_conv(lab_tensor *out, const lab_tensor *a, const lab_tensor *w,
                      const lab_tensor *b, const lab_window *win)
{
    struct conv v = conv_of(a, w, b, out, win);

    if (LAB__READABLE(out, a, w, b))
        lab__parallel_each(
            lab_session(a), v.n * v.o,
            lab__grain(GRAIN_PRODUCTS, v.in_group * v.kh * v.kw * v.oh * v.ow),
            forward_plane, &v);
}

static void input_row(float *grad, float *in, int64_t count, int64_t stride,
                      float w)
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

void lab__window_conv_input(lab_tensor *grad_a, const lab_tensor *grad,
                            const lab_tensor *w, const lab_window *win)
{
    struct conv v = conv_of(grad_a, w, NULL, grad, win);

    if (LAB__READABLE(grad_a, grad, w))
        lab__parallel_each(
            lab_session(grad), v.n * v.c,
            lab__grain(GRAIN_PRODUCTS, v.out_group * v.kh * v.kw * v.oh * v.ow),
            grad_input_plane, &v);
}

static float row_product(const float *grad, const float *in, int64_t count,
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
static void grad_weight(void *context, int64_t i)
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

void lab__window_conv_weight(lab_tensor *grad_w, const lab_tensor *grad,
                             const lab_tensor *a, const lab_window *win)
{
    struct conv v = conv_of(a, grad_w, NULL, grad, win);

    if (LAB__READABLE(grad_w, grad, a))
        lab__parallel_each(lab_session(a), lab_numel(grad_w),
                           lab__grain(GRAIN_PRODUCTS, v.n * v.oh * v.ow),
                           grad_weight, &v);
}
