/* pooling_kernels.c - the maximum of each window of a plane. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/nn_kernels.h"

struct pool {
    const float *in;
    float *out;
    int64_t *indices;
    int64_t h, w, oh, ow;
    int64_t kernel, stride;
};

enum { GRAIN_ELEMENTS = 65536 };

static int64_t planes_grain(const struct pool *p)
{
    int64_t plane = p->h * p->w;

    return plane > 0 && plane < GRAIN_ELEMENTS ? GRAIN_ELEMENTS / plane : 1;
}

/* The position in its plane of a window's maximum; a NaN counts as the
 * largest. */
static int64_t window_largest(const struct pool *p, const float *plane,
                              int64_t top, int64_t left)
{
    int64_t best = top * p->w + left;

    for (int64_t y = top; y < top + p->kernel; y++) {
        for (int64_t x = left; x < left + p->kernel; x++) {
            float value = plane[y * p->w + x];

            if (value > plane[best] || isnan(value))
                best = y * p->w + x;
        }
    }
    return best;
}

static void forward_piece(void *context, int64_t begin, int64_t end)
{
    const struct pool *p = context;

    for (int64_t i = begin; i < end; i++) {
        const float *plane = p->in + i * p->h * p->w;
        int64_t at = i * p->oh * p->ow;

        for (int64_t y = 0; y < p->oh; y++) {
            for (int64_t x = 0; x < p->ow; x++, at++) {
                p->indices[at] =
                    window_largest(p, plane, y * p->stride, x * p->stride);
                p->out[at] = plane[p->indices[at]];
            }
        }
    }
}

void lab__max_pool2d_forward(lab_tensor *out, lab_tensor *indices,
                             const lab_tensor *a, int64_t kernel,
                             int64_t stride)
{
    struct pool p = {.h = a->sizes[2],
                     .w = a->sizes[3],
                     .oh = out->sizes[2],
                     .ow = out->sizes[3],
                     .kernel = kernel,
                     .stride = stride};

    if (!lab__readable(out) || !lab__readable(indices) || !lab__readable(a))
        return;
    p.in = lab__floats(a);
    p.out = lab__floats(out);
    p.indices = lab__data(indices);
    lab__parallel(lab_session(a), a->sizes[0] * a->sizes[1], planes_grain(&p),
                  forward_piece, &p);
}

/* Here `in` is the result's gradient and `out` the input's. */
static void backward_piece(void *context, int64_t begin, int64_t end)
{
    const struct pool *p = context;
    int64_t outputs = p->oh * p->ow;

    for (int64_t i = begin; i < end; i++) {
        float *plane = p->out + i * p->h * p->w;

        for (int64_t at = i * outputs; at < (i + 1) * outputs; at++)
            plane[p->indices[at]] += p->in[at];
    }
}

void lab__max_pool2d_backward(lab_tensor *grad_a, const lab_tensor *grad,
                              const lab_tensor *indices)
{
    struct pool p = {.h = grad_a->sizes[2],
                     .w = grad_a->sizes[3],
                     .oh = grad->sizes[2],
                     .ow = grad->sizes[3]};

    if (!lab__readable(grad_a) || !lab__readable(grad) ||
        !lab__readable(indices))
        return;
    p.in = lab__floats(grad);
    p.out = lab__floats(grad_a);
    p.indices = lab__data(indices);
    lab__parallel(lab_session(grad), grad->sizes[0] * grad->sizes[1],
                  planes_grain(&p), backward_piece, &p);
}
