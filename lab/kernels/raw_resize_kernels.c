#include <math.h>

#include "kernels/raw_kernels.h"

enum { N, C, H, W };

/* The origin of element i of `to` along a side of `from`: two neighbours, and
 * the weight of the second. */
struct blend {
    int64_t first, second;
    float part;
};

static struct blend blend_of(int64_t i, int64_t from, int64_t to, bool linear,
                             bool align_corners)
{
    double scale = (double)from / (double)to, at;
    struct blend b = {0, 0, 0};

    if (!linear) {
        b.first = (int64_t)floor((double)i * scale);
        if (b.first > from - 1)
            b.first = from - 1;
        b.second = b.first;
        return b;
    }
    if (align_corners)
        at = to > 1 ? (double)i * (double)(from - 1) / (double)(to - 1) : 0;
    else
        at = fmax(((double)i + 0.5) * scale - 0.5, 0);
    b.first = (int64_t)at;
    if (b.first > from - 1)
        b.first = from - 1;
    b.second = b.first + (b.first < from - 1);
    b.part = (float)(at - (double)b.first);
    return b;
}

/* Visits each element of the larger side; backward adds in the other
 * direction. */
static void resize(float *out, const float *in, const lab_tensor *out_t,
                   const lab_tensor *in_t, bool linear, bool align_corners,
                   float *grad_in)
{
    int64_t width = in_t->sizes[W];

    for (int64_t i = 0; i < out_t->sizes[H] * out_t->sizes[W]; i++) {
        struct blend y = blend_of(i / out_t->sizes[W], in_t->sizes[H],
                                  out_t->sizes[H], linear, align_corners);
        struct blend x = blend_of(i % out_t->sizes[W], in_t->sizes[W],
                                  out_t->sizes[W], linear, align_corners);
        const int64_t at[4] = {
            y.first * width + x.first, y.first * width + x.second,
            y.second * width + x.first, y.second * width + x.second};
        const float share[4] = {(1 - y.part) * (1 - x.part),
                                (1 - y.part) * x.part, y.part * (1 - x.part),
                                y.part * x.part};
        float sum = 0;

        for (int k = 0; k < 4; k++) {
            if (grad_in != NULL)
                grad_in[at[k]] += share[k] * out[i];
            else
                /* cppcheck-suppress nullPointer; NULL with grad_in alone */
                sum += share[k] * in[at[k]];
        }
        if (grad_in == NULL)
            out[i] = sum;
    }
}

void lab__resize(lab_tensor *out, const lab_tensor *x, bool linear,
                 bool align_corners)
{
    int64_t planes = x->sizes[N] * x->sizes[C];
    int64_t out_area = out->sizes[H] * out->sizes[W];
    int64_t in_area = x->sizes[H] * x->sizes[W];

    if (!lab__readable(out) || !lab__readable(x))
        return;
    for (int64_t i = 0; i < planes; i++)
        resize(lab__floats(out) + i * out_area, lab__floats(x) + i * in_area,
               out, x, linear, align_corners, NULL);
}

void lab__resize_backward(lab_tensor *grad_x, const lab_tensor *grad,
                          bool linear, bool align_corners)
{
    int64_t planes = grad->sizes[N] * grad->sizes[C];
    int64_t out_area = grad->sizes[H] * grad->sizes[W];
    int64_t in_area = grad_x->sizes[H] * grad_x->sizes[W];

    if (!lab__readable(grad_x) || !lab__readable(grad))
        return;
    for (int64_t i = 0; i < planes * in_area; i++)
        lab__floats(grad_x)[i] = 0;
    for (int64_t i = 0; i < planes; i++)
        resize(lab__floats(grad) + i * out_area, NULL, grad, grad_x, linear,
               align_corners, lab__floats(grad_x) + i * in_area);
}
