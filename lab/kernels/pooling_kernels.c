/* pooling_kernels.c - the maximum or the average of each window of a plane. */
#include <math.h>

#include "kernels/raw_kernels.h"
#include "tensor/parallel.h"

enum { N, C, H, W };

/* The operands of a loop over planes. */
struct planes {
    lab_tensor *out;
    const lab_tensor *a, *b;
    const lab_window *win;
};

static float *plane(const lab_tensor *t, int64_t n, int64_t c)
{
    return lab__floats(t) + (n * t->sizes[C] + c) * t->sizes[H] * t->sizes[W];
}

enum { GRAIN_ELEMENTS = 65536 };

/* Whole planes of out as pieces. */
static void pooling_run(struct planes *p,
                        void (*part)(void *context, int64_t begin, int64_t end))
{
    int64_t area = p->a->sizes[H] * p->a->sizes[W];

    if (!lab__readable(p->out) || !lab__readable(p->a) ||
        (p->b != NULL && !lab__readable(p->b)))
        return;
    lab__parallel(p->out->storage->session, p->out->sizes[N] * p->out->sizes[C],
                  area > 0 && area < GRAIN_ELEMENTS ? GRAIN_ELEMENTS / area : 1,
                  part, p);
}

/* part_NAME calls NAME for each plane of its piece. */
#define PART(name)                                                             \
    static void part_##name(void *context, int64_t begin, int64_t end)         \
    {                                                                          \
        const struct planes *p = context;                                      \
                                                                               \
        for (int64_t i = begin; i < end; i++)                                  \
            name(p, i / p->out->sizes[C], i % p->out->sizes[C]);               \
    }

void lab__channels_add(lab_tensor *out, const lab_tensor *b)
{
    int64_t area = out->sizes[H] * out->sizes[W];
    int64_t planes = out->sizes[N] * out->sizes[C];

    if (!lab__readable(out) || !lab__readable(b))
        return;
    for (int64_t i = 0; i < planes * area; i++)
        lab__floats(out)[i] += lab__floats(b)[i / area % out->sizes[C]];
}

/* ---- windows of a pool -------------------------------------------------- */

struct rows {
    int64_t begin, end; /* within the image */
    int64_t size;       /* with the padding that averages may count */
};

/* Window number i of `count` along one side of `length`. */
static struct rows rows_of(const lab_window *win, int side, int64_t i,
                           int64_t length, int64_t count)
{
    struct rows r;

    if (win->kernel[side] == 0) {
        r.begin = i * length / count;
        r.end = ((i + 1) * length + count - 1) / count;
        r.size = r.end - r.begin;
        return r;
    }
    r.begin = i * win->stride[side] - win->padding[side];
    r.end = r.begin + win->kernel[side];
    if (r.end > length + win->padding[side])
        r.end = length + win->padding[side];
    r.size = r.end - r.begin;
    if (r.begin < 0)
        r.begin = 0;
    if (r.end > length)
        r.end = length;
    return r;
}

/* The position in its plane of the maximum of the window at (top, left); a NaN
 * counts as the largest.  -1: the window is outside of the image. */
static int64_t window_largest(const lab_tensor *x, const float *in,
                              const lab_window *win, int64_t top, int64_t left)
{
    int64_t down = win->dilation[0], right = win->dilation[1];
    int64_t y = top < 0 ? top + (down - 1 - top) / down * down : top;
    int64_t first = left < 0 ? left + (right - 1 - left) / right * right : left;
    int64_t bottom = top + win->kernel[0] * down;
    int64_t end = left + win->kernel[1] * right;
    int64_t best = y * x->sizes[W] + first;

    if (bottom > x->sizes[H])
        bottom = x->sizes[H];
    if (end > x->sizes[W])
        end = x->sizes[W];
    if (y >= bottom || first >= end)
        return -1;
    for (; y < bottom; y += down) {
        for (int64_t z = first; z < end; z += right) {
            float value = in[y * x->sizes[W] + z];

            if (value > in[best] || isnan(value))
                best = y * x->sizes[W] + z;
        }
    }
    return best;
}

static void largest(const struct planes *p, int64_t n, int64_t c)
{
    const lab_window *win = p->win;
    const float *in = plane(p->a, n, c);
    float *out = plane(p->out, n, c);
    int64_t *where = (int64_t *)lab__data(p->b) + (out - lab__floats(p->out));

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++) {
        int64_t top = i / p->out->sizes[W] * win->stride[0] - win->padding[0];
        int64_t left = i % p->out->sizes[W] * win->stride[1] - win->padding[1];

        int64_t best = window_largest(p->a, in, win, top, left);

        where[i] = best < 0 ? 0 : best;
        out[i] = best < 0 ? -INFINITY : in[best];
    }
}

PART(largest)

void lab__window_max(lab_tensor *out, lab_tensor *indices, const lab_tensor *x,
                     const lab_window *win)
{
    struct planes p = {out, x, indices, win};

    pooling_run(&p, part_largest);
}

static void largest_back(const struct planes *p, int64_t n, int64_t c)
{
    const lab_tensor *grad = p->a;
    const float *from = plane(grad, n, c);
    float *to = plane(p->out, n, c);
    const int64_t *where =
        (const int64_t *)lab__data(p->b) + (from - lab__floats(grad));

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++)
        to[i] = 0;
    for (int64_t i = 0; i < grad->sizes[H] * grad->sizes[W]; i++)
        to[where[i]] += from[i];
}

PART(largest_back)

void lab__window_max_backward(lab_tensor *grad_x, const lab_tensor *grad,
                              const lab_tensor *indices)
{
    struct planes p = {grad_x, grad, indices, NULL};

    pooling_run(&p, part_largest_back);
}

static int64_t divisor(const lab_window *win, struct rows y, struct rows x)
{
    if (win->kernel[0] == 0 || win->counts_padding)
        return y.size * x.size;
    return (y.end - y.begin) * (x.end - x.begin);
}

static void average(const struct planes *p, int64_t n, int64_t c)
{
    const lab_tensor *x = p->a;
    const float *in = plane(x, n, c);
    float *out = plane(p->out, n, c);

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++) {
        struct rows ys = rows_of(p->win, 0, i / p->out->sizes[W], x->sizes[H],
                                 p->out->sizes[H]);
        struct rows xs = rows_of(p->win, 1, i % p->out->sizes[W], x->sizes[W],
                                 p->out->sizes[W]);
        double sum = 0;

        for (int64_t k = ys.begin; k < ys.end; k++) {
            for (int64_t j = xs.begin; j < xs.end; j++)
                sum += (double)in[k * x->sizes[W] + j];
        }
        out[i] = (float)(sum / (double)divisor(p->win, ys, xs));
    }
}

PART(average)

void lab__window_average(lab_tensor *out, const lab_tensor *x,
                         const lab_window *win)
{
    struct planes p = {out, x, NULL, win};

    pooling_run(&p, part_average);
}

static void average_back(const struct planes *p, int64_t n, int64_t c)
{
    const lab_tensor *grad = p->a;
    const float *from = plane(grad, n, c);
    float *to = plane(p->out, n, c);
    int64_t height = p->out->sizes[H], width = p->out->sizes[W];

    for (int64_t i = 0; i < height * width; i++)
        to[i] = 0;
    for (int64_t i = 0; i < grad->sizes[H] * grad->sizes[W]; i++) {
        struct rows ys =
            rows_of(p->win, 0, i / grad->sizes[W], height, grad->sizes[H]);
        struct rows xs =
            rows_of(p->win, 1, i % grad->sizes[W], width, grad->sizes[W]);
        float part = from[i] / (float)divisor(p->win, ys, xs);

        for (int64_t k = ys.begin; k < ys.end; k++) {
            for (int64_t j = xs.begin; j < xs.end; j++)
                to[k * width + j] += part;
        }
    }
}

PART(average_back)

void lab__window_average_backward(lab_tensor *grad_x, const lab_tensor *grad,
                                  const lab_window *win)
{
    struct planes p = {grad_x, grad, NULL, win};

    pooling_run(&p, part_average_back);
}
