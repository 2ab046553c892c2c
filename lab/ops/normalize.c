/* normalize.c - layer normalisation. */
#include <math.h>

#include "kernels/row_sums.h"
#include "ops/op.h"

struct rows {
    const float *in, *grad;
    const float *w, *b; /* both or neither */
    float *out, *mean, *rstd, *grad_w, *grad_b;
    int64_t rows, width;
    double eps;
};

enum { GRAIN_ELEMENTS = 16384, COLUMNS = 64 };

static struct rows rows_of(const lab_tensor *a, const lab_tensor *w,
                           const lab_tensor *mean, const lab_tensor *rstd)
{
    int64_t width = a->sizes[a->ndim - 1];

    return (struct rows){.in = lab__floats(a),
                         .w = lab__floats(w),
                         .mean = lab__floats(mean),
                         .rstd = lab__floats(rstd),
                         .rows = width > 0 ? lab_numel(a) / width : 0,
                         .width = width};
}

/* fn(r, row) for each row of a, if it can be read. */
static void rows_run(struct rows *r, const lab_tensor *a,
                     void (*fn)(void *context, int64_t row))
{
    if (lab__readable(a))
        lab__parallel_each(lab_session(a), r->rows,
                           lab__grain(GRAIN_ELEMENTS, r->width), fn, r);
}

LAB__BODY normalize_row_body(void *context, int64_t row)
{
    const struct rows *r = context;
    const float *in = r->in + row * r->width;
    float *out = r->out + row * r->width;
    double sum, squares, mean, rstd;
    float shift, scale;

    LAB__ROW_SUM(sum, r->width, in[at]);
    mean = sum / (double)r->width;
    LAB__ROW_SUM(squares, r->width, (in[at] - mean) * (in[at] - mean));
    rstd = 1.0 / sqrt(squares / (double)r->width + r->eps);
    shift = (float)mean;
    scale = (float)rstd;
    if (r->w == NULL) {
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < r->width; i++)
            out[i] = (in[i] - shift) * scale;
    } else {
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < r->width; i++)
            out[i] = (in[i] - shift) * scale * r->w[i] + r->b[i];
    }
    r->mean[row] = shift;
    r->rstd[row] = scale;
}
LAB__TWICE(normalize_row, (void *context, int64_t row), (context, row))

/* With x̂ the normalised row and h = g·w:
 * rstd·(h - mean(h) - x̂·mean(h·x̂)) */
LAB__BODY grad_input_row_body(void *context, int64_t row)
{
    const struct rows *r = context;
    const float *in = r->in + row * r->width, *grad = r->grad + row * r->width;
    const float *w = r->w;
    float *out = r->out + row * r->width;
    float mean = r->mean[row], rstd = r->rstd[row];
    double sum, product;
    float a, b;

    if (w == NULL) {
        LAB__ROW_SUM(sum, r->width, grad[at]);
        LAB__ROW_SUM(product, r->width, grad[at] * (in[at] - mean));
    } else {
        LAB__ROW_SUM(sum, r->width, grad[at] * w[at]);
        LAB__ROW_SUM(product, r->width, grad[at] * w[at] * (in[at] - mean));
    }
    a = (float)(sum / (double)r->width);
    b = (float)(product * (double)rstd * (double)rstd / (double)r->width);
    if (w == NULL) {
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < r->width; i++)
            out[i] = rstd * (grad[i] - a - (in[i] - mean) * b);
    } else {
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < r->width; i++)
            out[i] = rstd * (grad[i] * w[i] - a - (in[i] - mean) * b);
    }
}
LAB__TWICE(grad_input_row, (void *context, int64_t row), (context, row))

/* A few columns at a time over all rows, so that threads share no sums. */
LAB__BODY affine_columns_body(void *context, int64_t block)
{
    const struct rows *r = context;
    int64_t first = block * COLUMNS, left = r->width - first;
    int64_t count = left < COLUMNS ? left : COLUMNS;
    double sum_w[COLUMNS] = {0}, sum_b[COLUMNS] = {0};

    for (int64_t row = 0; row < r->rows; row++) {
        const float *in = r->in + row * r->width + first;
        const float *grad = r->grad + row * r->width + first;
        float mean = r->mean[row], rstd = r->rstd[row];

        for (int64_t i = 0; i < count; i++) {
            sum_w[i] += (double)(grad[i] * ((in[i] - mean) * rstd));
            sum_b[i] += (double)grad[i];
        }
    }
    for (int64_t i = 0; i < count; i++) {
        if (r->grad_w != NULL)
            r->grad_w[first + i] = (float)sum_w[i];
        if (r->grad_b != NULL)
            r->grad_b[first + i] = (float)sum_b[i];
    }
}
LAB__TWICE(affine_columns, (void *context, int64_t block), (context, block))

/* ---- the operation ------------------------------------------------------ */

enum { INPUT, MEAN, RSTD, WEIGHT, BIAS }; /* saved */

/* Gradients in PyTorch's order: input, weight, bias. */
static larder_result layer_norm_back(const struct lab__back *b)
{
    lab_tensor *const *saved = b->node->saved, **to = b->results;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    lab_tensor *in;
    struct rows r;

    LAB__TRY(lab__dense_all(
        3, (lab_tensor *[]){b->grads[0], saved[INPUT], saved[WEIGHT]}, &d));
    in = d.t[1];
    r = rows_of(in, d.t[2], saved[MEAN], saved[RSTD]);
    r.grad = lab__floats(d.t[0]);
    if (lab__wants(b, 0))
        LAB__TRY(lab__tensor_like(in, &to[0]));
    if (lab__wants(b, 1))
        LAB__TRY(lab__tensor_like(saved[WEIGHT], &to[1]));
    if (lab__wants(b, 2))
        LAB__TRY(lab__tensor_like(saved[BIAS], &to[2]));
    r.out = lab__floats(to[0]);
    r.grad_w = lab__floats(to[1]);
    r.grad_b = lab__floats(to[2]);
    if (r.out != NULL)
        rows_run(&r, in, grad_input_row);
    if ((r.grad_w != NULL || r.grad_b != NULL) && lab__readable(in))
        lab__parallel_each(lab_session(in), (r.width + COLUMNS - 1) / COLUMNS,
                           1, affine_columns, &r);
    return LARDER_OK;
}

static larder_result affine_check(const lab_tensor *a, const lab_tensor *t,
                                  const char *what)
{
    int64_t width = a->sizes[a->ndim - 1];
    char text[LAB__SHAPE_TEXT];

    LAB__TRY(lab__nn_check_part("layer_norm", a, t));
    if (t == NULL || (t->ndim == 1 && t->sizes[0] == width))
        return LARDER_OK;
    return lab__invalid("layer_norm: the %s must have sizes [%lld], has %s",
                        what, (long long)width,
                        lab__shape_text(t->ndim, t->sizes, text));
}

static larder_result arguments_check(const lab_tensor *a, const lab_tensor *w,
                                     const lab_tensor *b)
{
    LAB__TRY(lab__check_float("layer_norm", a));
    if (a->ndim == 0)
        return lab__invalid("layer_norm: the input must have a dimension");
    if ((w == NULL) != (b == NULL))
        return lab__invalid("layer_norm: give weight and bias, or neither");
    LAB__TRY(affine_check(a, w, "weight"));
    return affine_check(a, b, "bias");
}

larder_result lab_layer_norm(lab_tensor *a, lab_tensor *w, lab_tensor *b,
                             double eps, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *rstd = NULL, *mean = NULL;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    int64_t sizes[LAB_MAX_DIMS];
    struct rows r;

    LAB__TRY(arguments_check(a, w, b));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){a, w, b}, &d));
    LAB__TRY(lab__tensor_like(a, &made));
    lab__reduced_sizes(a, 1U << (a->ndim - 1), true, sizes);
    LAB__TRY(lab__tensor_of(a, a->ndim, sizes, &mean));
    LAB__TRY(lab__tensor_of(a, a->ndim, sizes, &rstd));
    r = rows_of(d.t[0], d.t[1], mean, rstd);
    r.b = lab__floats(d.t[2]);
    r.out = lab__floats(made);
    r.eps = eps;
    rows_run(&r, a, normalize_row);
    return lab__recorded(
        &(struct lab__recording){.name = "NativeLayerNormBackward0",
                                 .backward = layer_norm_back,
                                 LAB__INPUTS(a, w, b),
                                 LAB__SAVES(a, mean, rstd, w, b)},
        &made, out);
}
