/* resize.c - images of another size, by nearest or bilinear neighbours, not
 * recorded. */
#include <math.h>

#include "ops/op.h"

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

/* The four elements of a plane of `from` that element i of a plane of `to`
 * comes from, and their weights. */
struct corners {
    int64_t at[4];
    float share[4];
};

static struct corners corners_of(int64_t i, const lab_tensor *from,
                                 const lab_tensor *to, bool linear,
                                 bool align_corners)
{
    int64_t width = from->sizes[W];
    struct blend y = blend_of(i / to->sizes[W], from->sizes[H], to->sizes[H],
                              linear, align_corners);
    struct blend x = blend_of(i % to->sizes[W], from->sizes[W], to->sizes[W],
                              linear, align_corners);

    return (struct corners){
        .at = {y.first * width + x.first, y.first * width + x.second,
               y.second * width + x.first, y.second * width + x.second},
        .share = {(1 - y.part) * (1 - x.part), (1 - y.part) * x.part,
                  y.part * (1 - x.part), y.part * x.part}};
}

/* Each element of `out` from its corners in `in`; or, on the way back, a part of
 * it added to each of them. */
static void resize_all(const lab_tensor *out, const lab_tensor *in, bool linear,
                       bool align_corners, bool back)
{
    int64_t out_area = out->sizes[H] * out->sizes[W];
    int64_t in_area = in->sizes[H] * in->sizes[W];
    int64_t planes = in->sizes[N] * in->sizes[C];
    float *to = lab__floats(out), *from = lab__floats(in);

    for (int64_t p = 0; p < planes; p++, to += out_area, from += in_area) {
        for (int64_t i = 0; i < out_area; i++) {
            struct corners c = corners_of(i, in, out, linear, align_corners);
            float sum = 0;

            for (int k = 0; k < 4; k++) {
                if (back)
                    from[c.at[k]] += c.share[k] * to[i];
                else
                    sum += c.share[k] * from[c.at[k]];
            }
            if (!back)
                to[i] = sum;
        }
    }
}

/* ---- the operations ----------------------------------------------------- */

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
    if (lab__readable(x))
        resize_all(made, dense, linear, align_corners, false);
    return lab__done(&made, out);
}

larder_result lab_raw_resize2d_backward(lab_tensor *grad, const int64_t *sizes,
                                        bool linear, bool align_corners,
                                        lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__nn_dense(grad, &dense));
    LAB__TRY(lab__zeros_of(grad, 4, sizes, &made));
    if (lab__readable(grad))
        resize_all(dense, made, linear, align_corners, true);
    return lab__done(&made, out);
}
