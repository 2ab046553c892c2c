/* pooling_kernels.c - the maximum or the average of each window of a plane. */
#include <math.h>

#include "kernels/nn_kernels.h"
#include "tensor/parallel.h"

enum { N, C, H, W };

/* The operands of a loop over planes. */
struct planes {
    lab_tensor *out;
    const lab_tensor *a, *b;
    const lab_window *win;
};

/* Plane number i of t, which is in the order of memory. */
static float *plane(const lab_tensor *t, int64_t i)
{
    return lab__floats(t) + i * t->sizes[H] * t->sizes[W];
}

enum { GRAIN_ELEMENTS = 65536 };

/* fn(p, i) for each plane of out. */
static void planes_run(struct planes *p, void (*fn)(void *context, int64_t i))
{
    const int64_t *in = p->a->sizes, *out = p->out->sizes;

    if (LAB__READABLE(p->out, p->a, p->b))
        lab__parallel_each(p->out->storage->session, out[N] * out[C],
                           lab__grain(GRAIN_ELEMENTS, in[H] * in[W]), fn, p);
}

void lab__channels_add(lab_tensor *out, const lab_tensor *b)
{
    int64_t area = out->sizes[H] * out->sizes[W];
    int64_t planes = out->sizes[N] * out->sizes[C];

    if (!LAB__READABLE(out, b))
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

static void largest(void *context, int64_t plane_number)
{
    const struct planes *p = context;
    const lab_window *win = p->win;
    const float *in = plane(p->a, plane_number);
    float *out = plane(p->out, plane_number);
    int64_t *where = (int64_t *)lab__data(p->b) + (out - lab__floats(p->out));

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++) {
        int64_t top = i / p->out->sizes[W] * win->stride[0] - win->padding[0];
        int64_t left = i % p->out->sizes[W] * win->stride[1] - win->padding[1];

        int64_t best = window_largest(p->a, in, win, top, left);

        where[i] = best < 0 ? 0 : best;
        out[i] = best < 0 ? -INFINITY : in[best];
    }
}

void lab__window_max(lab_tensor *out, lab_tensor *indices, const lab_tensor *x,
                     const lab_window *win)
{
    struct planes p = {out, x, indices, win};

    planes_run(&p, largest);
}

static void largest_back(void *context, int64_t plane_number)
{
    const struct planes *p = context;
    const lab_tensor *grad = p->a;
    const float *from = plane(grad, plane_number);
    float *to = plane(p->out, plane_number);
    const int64_t *where =
        (const int64_t *)lab__data(p->b) + (from - lab__floats(grad));

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++)
        to[i] = 0;
    for (int64_t i = 0; i < grad->sizes[H] * grad->sizes[W]; i++)
        to[where[i]] += from[i];
}

void lab__window_max_backward(lab_tensor *grad_x, const lab_tensor *grad,
                              const lab_tensor *indices)
{
    struct planes p = {grad_x, grad, indices, NULL};

    planes_run(&p, largest_back);
}

static int64_t divisor(const lab_window *win, struct rows y, struct rows x)
{
    if (win->kernel[0] == 0 || win->counts_padding)
        return y.size * x.size;
    return (y.end - y.begin) * (x.end - x.begin);
}

static void average(void *context, int64_t plane_number)
{
    const struct planes *p = context;
    const lab_tensor *x = p->a;
    const float *in = plane(x, plane_number);
    float *out = plane(p->out, plane_number);

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

void lab__window_average(lab_tensor *out, const lab_tensor *x,
                         const lab_window *win)
{
    struct planes p = {out, x, NULL, win};

    planes_run(&p, average);
}

static void average_back(void *context, int64_t plane_number)
{
    const struct planes *p = context;
    const lab_tensor *grad = p->a;
    const float *from = plane(grad, plane_number);
    float *to = plane(p->out, plane_number);
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

void lab__window_average_backward(lab_tensor *grad_x, const lab_tensor *grad,
                                  const lab_window *win)
{
    struct planes p = {grad_x, grad, NULL, win};

    planes_run(&p, average_back);
}
