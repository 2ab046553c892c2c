/* normalize_kernels.c - layer normalisation and its gradients. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/nn_kernels.h"
#include "kernels/row_sums.h"

struct rows {
    const float *in, *grad;
    const float *w, *b; /* both or neither */
    float *out, *mean, *rstd, *grad_w, *grad_b;
    int64_t rows, width;
    double eps;
};

enum { GRAIN_ELEMENTS = 16384, COLUMNS = 64 };

/* fn(r, row) for each row of a, if all tensors can be read. */
static void rows_run(struct rows *r, const lab_tensor *a, bool readable,
                     void (*fn)(void *context, int64_t row))
{
    r->width = a->sizes[a->ndim - 1];
    r->rows = r->width > 0 ? lab_numel(a) / r->width : 0;
    if (readable)
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

void lab__layer_norm_forward(lab_tensor *out, lab_tensor *mean,
                             lab_tensor *rstd, const lab_tensor *a,
                             const lab_tensor *w, const lab_tensor *b,
                             double eps)
{
    struct rows r = {.in = lab__floats(a),
                     .w = lab__floats(w),
                     .b = lab__floats(b),
                     .out = lab__floats(out),
                     .mean = lab__floats(mean),
                     .rstd = lab__floats(rstd),
                     .eps = eps};

    rows_run(&r, a, LAB__READABLE(out, mean, rstd, a, w, b), normalize_row);
}

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

void lab__layer_norm_grad_input(lab_tensor *out, const lab_tensor *grad,
                                const lab_tensor *a, const lab_tensor *mean,
                                const lab_tensor *rstd, const lab_tensor *w)
{
    struct rows r = {.in = lab__floats(a),
                     .grad = lab__floats(grad),
                     .w = lab__floats(w),
                     .out = lab__floats(out),
                     .mean = lab__floats(mean),
                     .rstd = lab__floats(rstd)};

    rows_run(&r, a, LAB__READABLE(out, grad, a, mean, rstd, w), grad_input_row);
}

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

void lab__layer_norm_grad_affine(lab_tensor *grad_w, lab_tensor *grad_b,
                                 const lab_tensor *grad, const lab_tensor *a,
                                 const lab_tensor *mean, const lab_tensor *rstd)
{
    int64_t width = a->sizes[a->ndim - 1];
    struct rows r = {.in = lab__floats(a),
                     .grad = lab__floats(grad),
                     .mean = lab__floats(mean),
                     .rstd = lab__floats(rstd),
                     .grad_w = lab__floats(grad_w),
                     .grad_b = lab__floats(grad_b),
                     .rows = width > 0 ? lab_numel(a) / width : 0,
                     .width = width};

    if (LAB__READABLE(grad_w, grad_b, grad, a, mean, rstd))
        lab__parallel_each(lab_session(a), (width + COLUMNS - 1) / COLUMNS, 1,
                           affine_columns, &r);
}
