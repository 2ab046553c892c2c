/* raw_window_kernels.c - convolutions with any stride, dilation and groups, and
 * pooling: simple loops, one plane of an image as a piece. */
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

/* One piece for each of out's planes. */
static void raw_window_kernels_run(struct planes *p,
                                   void (*part)(void *context, int64_t begin,
                                                int64_t end))
{
    if (!lab__readable(p->out) || !lab__readable(p->a))
        return;
    lab__parallel(p->out->storage->session, p->out->sizes[N] * p->out->sizes[C],
                  1, part, p);
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

/* ---- convolution -------------------------------------------------------- */

/* out[y][x] += the weighted sum of in's window at (y, x). */
static void correlate(float *out, const lab_tensor *out_t, const float *in,
                      const lab_tensor *in_t, const float *w,
                      const lab_window *win)
{
    for (int64_t i = 0; i < win->kernel[0] * win->kernel[1]; i++) {
        int64_t down = i / win->kernel[1] * win->dilation[0] - win->padding[0];
        int64_t right = i % win->kernel[1] * win->dilation[1] - win->padding[1];

        for (int64_t y = 0; y < out_t->sizes[H]; y++) {
            int64_t row = y * win->stride[0] + down;

            if (row < 0 || row >= in_t->sizes[H])
                continue;
            for (int64_t x = 0; x < out_t->sizes[W]; x++) {
                int64_t column = x * win->stride[1] + right;

                if (column >= 0 && column < in_t->sizes[W])
                    out[y * out_t->sizes[W] + x] +=
                        w[i] * in[row * in_t->sizes[W] + column];
            }
        }
    }
}

static void forward(const struct planes *p, int64_t n, int64_t o)
{
    const lab_tensor *x = p->a, *w = p->b;
    int64_t of_group = w->sizes[1],
            area = p->win->kernel[0] * p->win->kernel[1];
    int64_t group = o / (p->out->sizes[C] / p->win->groups);
    float *out = plane(p->out, n, o);

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++)
        out[i] = 0;
    for (int64_t c = 0; c < of_group; c++)
        correlate(out, p->out, plane(x, n, group * of_group + c), x,
                  lab__floats(w) + (o * of_group + c) * area, p->win);
}

PART(forward)

void lab__window_conv(lab_tensor *out, const lab_tensor *x, const lab_tensor *w,
                      const lab_tensor *b, const lab_window *win)
{
    struct planes p = {out, x, w, win};

    raw_window_kernels_run(&p, part_forward);
    if (b != NULL)
        lab__channels_add(out, b);
}

/* in[...] += each of out's elements, weighted, throughout its window. */
static void spread(float *in, const lab_tensor *in_t, const float *out,
                   const lab_tensor *out_t, const float *w,
                   const lab_window *win)
{
    for (int64_t i = 0; i < win->kernel[0] * win->kernel[1]; i++) {
        int64_t down = i / win->kernel[1] * win->dilation[0] - win->padding[0];
        int64_t right = i % win->kernel[1] * win->dilation[1] - win->padding[1];

        for (int64_t y = 0; y < out_t->sizes[H]; y++) {
            int64_t row = y * win->stride[0] + down;

            if (row < 0 || row >= in_t->sizes[H])
                continue;
            for (int64_t x = 0; x < out_t->sizes[W]; x++) {
                int64_t column = x * win->stride[1] + right;

                if (column >= 0 && column < in_t->sizes[W])
                    in[row * in_t->sizes[W] + column] +=
                        w[i] * out[y * out_t->sizes[W] + x];
            }
        }
    }
}

static void input(const struct planes *p, int64_t n, int64_t c)
{
    const lab_tensor *grad = p->a, *w = p->b;
    int64_t of_group = w->sizes[1],
            area = p->win->kernel[0] * p->win->kernel[1];
    int64_t group = c / of_group, outs = grad->sizes[C] / p->win->groups;
    float *to = plane(p->out, n, c);

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++)
        to[i] = 0;
    for (int64_t k = 0; k < outs; k++) {
        int64_t o = group * outs + k;

        spread(to, p->out, plane(grad, n, o), grad,
               lab__floats(w) + (o * of_group + c % of_group) * area, p->win);
    }
}

PART(input)

void lab__window_conv_input(lab_tensor *grad_x, const lab_tensor *grad,
                            const lab_tensor *w, const lab_window *win)
{
    struct planes p = {grad_x, grad, w, win};

    raw_window_kernels_run(&p, part_input);
}

/* The gradient of one weight: the sum of products with the output's
 * gradient. */
static double agreement(const float *grad, const lab_tensor *grad_t,
                        const float *in, const lab_tensor *in_t, int64_t i,
                        const lab_window *win)
{
    int64_t down = i / win->kernel[1] * win->dilation[0] - win->padding[0];
    int64_t right = i % win->kernel[1] * win->dilation[1] - win->padding[1];
    double sum = 0;

    for (int64_t y = 0; y < grad_t->sizes[H]; y++) {
        int64_t row = y * win->stride[0] + down;

        if (row < 0 || row >= in_t->sizes[H])
            continue;
        for (int64_t x = 0; x < grad_t->sizes[W]; x++) {
            int64_t column = x * win->stride[1] + right;

            if (column >= 0 && column < in_t->sizes[W])
                sum += (double)grad[y * grad_t->sizes[W] + x] *
                       (double)in[row * in_t->sizes[W] + column];
        }
    }
    return sum;
}

/* out: the weights' gradient, whose planes are windows */
static void weight(const struct planes *p, int64_t o, int64_t c)
{
    const lab_tensor *grad = p->a, *x = p->b;
    int64_t group = o / (grad->sizes[C] / p->win->groups);
    int64_t area = p->win->kernel[0] * p->win->kernel[1];
    float *to = plane(p->out, o, c);

    for (int64_t i = 0; i < area; i++) {
        double sum = 0;

        for (int64_t n = 0; n < grad->sizes[N]; n++)
            sum += agreement(plane(grad, n, o), grad,
                             plane(x, n, group * p->out->sizes[C] + c), x, i,
                             p->win);
        to[i] = (float)sum;
    }
}

PART(weight)

void lab__window_conv_weight(lab_tensor *grad_w, const lab_tensor *grad,
                             const lab_tensor *x, const lab_window *win)
{
    struct planes p = {grad_w, grad, x, win};

    raw_window_kernels_run(&p, part_weight);
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

static void largest(const struct planes *p, int64_t n, int64_t c)
{
    const lab_tensor *x = p->a;
    const lab_window *win = p->win;
    const float *in = plane(x, n, c);
    float *out = plane(p->out, n, c);
    int64_t *where = (int64_t *)lab__data(p->b) + (out - lab__floats(p->out));

    for (int64_t i = 0; i < p->out->sizes[H] * p->out->sizes[W]; i++) {
        int64_t top = i / p->out->sizes[W] * win->stride[0] - win->padding[0];
        int64_t left = i % p->out->sizes[W] * win->stride[1] - win->padding[1];

        out[i] = -INFINITY;
        where[i] = 0;
        for (int64_t k = 0; k < win->kernel[0] * win->kernel[1]; k++) {
            int64_t y = top + k / win->kernel[1] * win->dilation[0];
            int64_t z = left + k % win->kernel[1] * win->dilation[1];

            if (y < 0 || y >= x->sizes[H] || z < 0 || z >= x->sizes[W])
                continue;
            if (in[y * x->sizes[W] + z] > out[i] ||
                isnan(in[y * x->sizes[W] + z])) {
                where[i] = y * x->sizes[W] + z;
                out[i] = in[where[i]];
            }
        }
    }
}

PART(largest)

void lab__window_max(lab_tensor *out, lab_tensor *indices, const lab_tensor *x,
                     const lab_window *win)
{
    struct planes p = {out, x, indices, win};

    raw_window_kernels_run(&p, part_largest);
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

    raw_window_kernels_run(&p, part_largest_back);
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

    raw_window_kernels_run(&p, part_average);
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

    raw_window_kernels_run(&p, part_average_back);
}
