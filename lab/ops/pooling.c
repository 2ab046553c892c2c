/* pooling.c - the maximum or the average of each window of a plane. */
#include <math.h>

#include "ops/op.h"

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

/* fn for each plane of out. */
static void planes_run(lab_tensor *out, const lab_tensor *a,
                       const lab_tensor *b, const lab_window *win,
                       void (*fn)(void *planes, int64_t i))
{
    struct planes p = {out, a, b, win};

    if (LAB__READABLE(out, a, b))
        lab__parallel_each(
            out->storage->session, out->sizes[N] * out->sizes[C],
            lab__grain(GRAIN_ELEMENTS, a->sizes[H] * a->sizes[W]), fn, &p);
}

/* ---- windows ------------------------------------------------------------ */

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

/* ---- any window, not recorded ------------------------------------------- */

/* Contiguous x, and a result with an element for each window. */
static larder_result pooled_make(const char *op, lab_tensor *x,
                                 const lab_window *win, lab_tensor **dense,
                                 lab_tensor **out)
{
    int64_t sizes[4];

    LAB__TRY(lab__window_check(op, x, win));
    LAB__TRY(lab__window_sizes(op, x, win, sizes));
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
    planes_run(made, dense, *indices, win, largest);
    return lab__give(&made, out);
}

/* The gradient of an input of these sizes, from the result's. */
static larder_result pool_gradient(lab_tensor *grad, const lab_tensor *indices,
                                   const lab_window *win, const int64_t *sizes,
                                   void (*fn)(void *planes, int64_t i),
                                   lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__nn_dense(grad, &dense));
    LAB__TRY(lab__tensor_of(grad, 4, sizes, &made));
    planes_run(made, dense, indices, win, fn);
    return lab__done(&made, out);
}

larder_result lab_raw_max_pool2d_backward(lab_tensor *grad, lab_tensor *indices,
                                          const int64_t *sizes,
                                          lab_tensor **out)
{
    return pool_gradient(grad, indices, NULL, sizes, largest_back, out);
}

larder_result lab_raw_avg_pool2d(lab_tensor *x, const lab_window *win,
                                 lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(pooled_make("avg_pool2d", x, win, &dense, &made));
    planes_run(made, dense, NULL, win, average);
    return lab__done(&made, out);
}

larder_result lab_raw_avg_pool2d_backward(lab_tensor *grad,
                                          const lab_window *win,
                                          const int64_t *sizes,
                                          lab_tensor **out)
{
    return pool_gradient(grad, NULL, win, sizes, average_back, out);
}

/* ---- a square window, recorded ------------------------------------------ */

/* The input is saved only for its sizes, and so kept, as in PyTorch. */
enum { INPUT, INDICES };

static larder_result max_pool2d_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *grad = NULL;

    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__tensor_like(lab__saved(b, INPUT), &b->results[0]));
    planes_run(b->results[0], grad, lab__saved(b, INDICES), NULL, largest_back);
    return LARDER_OK;
}

static larder_result sizes_get(const lab_tensor *a, int kernel, int stride,
                               int64_t sizes[4])
{
    if (kernel < 1 || stride < 1)
        return lab__invalid(
            "max_pool2d: kernel %d and stride %d: must be at least 1", kernel,
            stride);
    sizes[0] = a->sizes[0];
    sizes[1] = a->sizes[1];
    for (int i = 2; i < 4; i++) {
        if (a->sizes[i] < kernel)
            return lab__invalid("max_pool2d: a kernel of %d does not fit %lld",
                                kernel, (long long)a->sizes[i]);
        sizes[i] = (a->sizes[i] - kernel) / stride + 1;
    }
    return LARDER_OK;
}

larder_result lab_max_pool2d(lab_tensor *x, int kernel, int stride,
                             lab_tensor **out)
{
    lab_window win = {.size = sizeof win,
                      .kernel = {kernel, kernel},
                      .stride = {stride, stride},
                      .dilation = {1, 1}};
    LAB__OWNED lab_tensor *made = NULL, *indices = NULL, *dense = NULL;
    int64_t sizes[4];

    LAB__TRY(lab__check_float("max_pool2d", x));
    LAB__TRY(lab__nn_check_ndim("max_pool2d", "the input", x, 4));
    LAB__TRY(sizes_get(x, kernel, stride, sizes));
    LAB__TRY(lab__tensor_of(x, 4, sizes, &made));
    LAB__TRY(lab__ints_of(x, 4, sizes, &indices));
    LAB__TRY(lab__nn_dense(x, &dense));
    planes_run(made, dense, indices, &win, largest);
    return lab__recorded(
        &(struct lab__recording){.name = "MaxPool2DWithIndicesBackward0",
                                 .backward = max_pool2d_back,
                                 LAB__INPUTS(x),
                                 LAB__SAVES(x, indices)},
        &made, out);
}
