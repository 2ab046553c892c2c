/* convolution_kernels.c - 2-D convolution, directly: each weight adds a row of
 * the input to a row of the output. */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/nn_kernels.h"

struct conv {
    const float *a, *w, *b, *grad;
    float *out;
    int64_t n, c, h, width; /* of the input */
    int64_t o, kh, kw;
    int64_t oh, ow;
    int64_t stride, padding;
};

/* Minimum number of products in a piece that is worth splitting off. */
enum { GRAIN_PRODUCTS = 65536 };

static int64_t pieces_grain(int64_t products)
{
    return products > 0 && products < GRAIN_PRODUCTS ? GRAIN_PRODUCTS / products
                                                     : 1;
}

/* The sizes, from input, weight and output or from their gradients. */
static struct conv conv_of(const lab_tensor *a, const lab_tensor *w,
                           const lab_tensor *out, int64_t stride,
                           int64_t padding)
{
    return (struct conv){
        .n = a->sizes[0],
        .c = a->sizes[1],
        .h = a->sizes[2],
        .width = a->sizes[3],
        .o = w->sizes[0],
        .kh = w->sizes[2],
        .kw = w->sizes[3],
        .oh = out->sizes[2],
        .ow = out->sizes[3],
        .stride = stride,
        .padding = padding,
    };
}

/* The outputs [*first, *last) along one axis whose input at kernel position k
 * is inside the image. */
static void axis_range(int64_t size, int64_t outputs, int64_t k, int64_t stride,
                       int64_t padding, int64_t *first, int64_t *last)
{
    int64_t before = padding - k, inside = size - 1 + padding - k;

    *first = before > 0 ? (before + stride - 1) / stride : 0;
    *last = inside < 0 ? 0 : inside / stride + 1;
    if (*last > outputs)
        *last = outputs;
}

/* out row += w · in row, whose elements are `stride` apart. */
static void forward_row(float *out, const float *in, int64_t count,
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

static void plane_forward(const struct conv *v, float *out, const float *in,
                          const float *w)
{
    int64_t y0, y1, x0, x1;

    for (int64_t ky = 0; ky < v->kh; ky++) {
        axis_range(v->h, v->oh, ky, v->stride, v->padding, &y0, &y1);
        for (int64_t kx = 0; kx < v->kw; kx++) {
            axis_range(v->width, v->ow, kx, v->stride, v->padding, &x0, &x1);
            for (int64_t y = y0; y < y1 && x0 < x1; y++)
                forward_row(out + y * v->ow + x0,
                            in + (y * v->stride + ky - v->padding) * v->width +
                                x0 * v->stride + kx - v->padding,
                            x1 - x0, v->stride, w[ky * v->kw + kx]);
        }
    }
}

/* A piece is output planes: (n, o). */
static void forward_piece(void *context, int64_t begin, int64_t end)
{
    const struct conv *v = context;
    int64_t plane = v->oh * v->ow;

    for (int64_t i = begin; i < end; i++) {
        int64_t n = i / v->o, o = i % v->o;
        float *out = v->out + i * plane;
        float bias = v->b != NULL ? v->b[o] : 0;

        for (int64_t j = 0; j < plane; j++)
            out[j] = bias;
        for (int64_t c = 0; c < v->c; c++)
            plane_forward(v, out, v->a + (n * v->c + c) * v->h * v->width,
                          v->w + (o * v->c + c) * v->kh * v->kw);
    }
}

void lab__conv2d_forward(lab_tensor *out, const lab_tensor *a,
                         const lab_tensor *w, const lab_tensor *b,
                         int64_t stride, int64_t padding)
{
    struct conv v = conv_of(a, w, out, stride, padding);

    if (!lab__readable(out) || !lab__readable(a) || !lab__readable(w) ||
        (b != NULL && !lab__readable(b)))
        return;
    v.a = lab__floats(a);
    v.w = lab__floats(w);
    v.b = b != NULL ? lab__floats(b) : NULL;
    v.out = lab__floats(out);
    lab__parallel(lab_session(a), v.n * v.o,
                  pieces_grain(v.c * v.kh * v.kw * v.oh * v.ow), forward_piece,
                  &v);
}

static void input_row(float *in, const float *grad, int64_t count,
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

static void plane_grad_input(const struct conv *v, float *in, const float *grad,
                             const float *w)
{
    int64_t y0, y1, x0, x1;

    for (int64_t ky = 0; ky < v->kh; ky++) {
        axis_range(v->h, v->oh, ky, v->stride, v->padding, &y0, &y1);
        for (int64_t kx = 0; kx < v->kw; kx++) {
            axis_range(v->width, v->ow, kx, v->stride, v->padding, &x0, &x1);
            for (int64_t y = y0; y < y1 && x0 < x1; y++)
                input_row(in + (y * v->stride + ky - v->padding) * v->width +
                              x0 * v->stride + kx - v->padding,
                          grad + y * v->ow + x0, x1 - x0, v->stride,
                          w[ky * v->kw + kx]);
        }
    }
}

/* A piece is input planes: (n, c). */
static void grad_input_piece(void *context, int64_t begin, int64_t end)
{
    const struct conv *v = context;
    int64_t plane = v->h * v->width, outputs = v->oh * v->ow;

    for (int64_t i = begin; i < end; i++) {
        int64_t n = i / v->c, c = i % v->c;
        float *in = v->out + i * plane;

        memset(in, 0, (size_t)plane * sizeof *in);
        for (int64_t o = 0; o < v->o; o++)
            plane_grad_input(v, in, v->grad + (n * v->o + o) * outputs,
                             v->w + (o * v->c + c) * v->kh * v->kw);
    }
}

void lab__conv2d_grad_input(lab_tensor *grad_a, const lab_tensor *grad,
                            const lab_tensor *w, int64_t stride,
                            int64_t padding)
{
    struct conv v = conv_of(grad_a, w, grad, stride, padding);

    if (!lab__readable(grad_a) || !lab__readable(grad) || !lab__readable(w))
        return;
    v.grad = lab__floats(grad);
    v.w = lab__floats(w);
    v.out = lab__floats(grad_a);
    lab__parallel(lab_session(grad), v.n * v.c,
                  pieces_grain(v.o * v.kh * v.kw * v.oh * v.ow),
                  grad_input_piece, &v);
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
                                const float *in, int64_t ky, int64_t kx)
{
    int64_t y0, y1, x0, x1;
    double sum = 0;

    axis_range(v->h, v->oh, ky, v->stride, v->padding, &y0, &y1);
    axis_range(v->width, v->ow, kx, v->stride, v->padding, &x0, &x1);
    for (int64_t y = y0; y < y1 && x0 < x1; y++)
        sum += row_product(grad + y * v->ow + x0,
                           in + (y * v->stride + ky - v->padding) * v->width +
                               x0 * v->stride + kx - v->padding,
                           x1 - x0, v->stride);
    return sum;
}

/* A piece is weights: (o, c, ky, kx). */
static void grad_weight_piece(void *context, int64_t begin, int64_t end)
{
    const struct conv *v = context;
    int64_t plane = v->h * v->width, outputs = v->oh * v->ow;

    for (int64_t i = begin; i < end; i++) {
        int64_t kx = i % v->kw, ky = i / v->kw % v->kh;
        int64_t c = i / (v->kw * v->kh) % v->c, o = i / (v->kw * v->kh * v->c);
        double sum = 0;

        for (int64_t n = 0; n < v->n; n++)
            sum += plane_grad_weight(v, v->grad + (n * v->o + o) * outputs,
                                     v->a + (n * v->c + c) * plane, ky, kx);
        v->out[i] = (float)sum;
    }
}

void lab__conv2d_grad_weight(lab_tensor *grad_w, const lab_tensor *grad,
                             const lab_tensor *a, int64_t stride,
                             int64_t padding)
{
    struct conv v = conv_of(a, grad_w, grad, stride, padding);

    if (!lab__readable(grad_w) || !lab__readable(grad) || !lab__readable(a))
        return;
    v.grad = lab__floats(grad);
    v.a = lab__floats(a);
    v.out = lab__floats(grad_w);
    lab__parallel(lab_session(a), lab_numel(grad_w),
                  pieces_grain(v.n * v.oh * v.ow), grad_weight_piece, &v);
}
