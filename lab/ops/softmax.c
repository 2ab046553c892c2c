/* softmax.c - softmax and its logarithm: both save their result.
 *
 * Around one dimension a contiguous tensor is outer × length × inner.  If inner
 * is 1 a sum runs along a row of memory; otherwise over many rows, for several
 * sums side by side. */
#include <math.h>

#include "kernels/row_sums.h"
#include "ops/op.h"
#include "tensor/element.h"
#include "tensor/float_math.h"

enum { GRAIN_ELEMENTS = 16384, COLUMNS = 64 };

struct lines {
    const float *in, *result;
    float *out;
    int64_t length, inner;
    int64_t blocks; /* of COLUMNS columns, in inner */
    bool logarithm;
    void (*row)(const struct lines *s, int64_t start);
    void (*some_columns)(const struct lines *s, int64_t start, int64_t columns);
};

/* A block of columns, or a row. */
static void block_run(void *context, int64_t i)
{
    const struct lines *s = context;
    int64_t first = i % s->blocks * COLUMNS, left = s->inner - first;
    int64_t start = i / s->blocks * s->length * s->inner + first;

    if (s->inner == 1)
        s->row(s, start);
    else
        s->some_columns(s, start, left < COLUMNS ? left : COLUMNS);
}

/* For each block around dimension dim of t, if it has elements that can be read. */
static void lines_run(struct lines *s, const lab_tensor *t, int dim)
{
    struct lab__lines lines = lab__lines_of(t, dim);
    int64_t width = lines.inner < COLUMNS ? lines.inner : COLUMNS;
    int64_t outer;

    if (!lab__readable(t) || lab_numel(t) == 0)
        return;
    outer = lines.count / lines.inner;
    s->length = lines.length;
    s->inner = lines.inner;
    s->blocks = (s->inner + COLUMNS - 1) / COLUMNS;
    lab__parallel_each(lab_session(t), outer * s->blocks,
                       lab__grain(GRAIN_ELEMENTS, s->length * width), block_run,
                       s);
}

/* ---- forward -------------------------------------------------------------- */

/* NaNs are ignored: the sum becomes NaN anyway. */
LAB__INLINE float row_max(const float *in, int64_t length)
{
    float lanes[LAB__LANES];
    int64_t i = 0;

    for (int j = 0; j < LAB__LANES; j++)
        lanes[j] = -INFINITY;
    for (; i + LAB__LANES <= length; i += LAB__LANES) {
        for (int j = 0; j < LAB__LANES; j++)
            lanes[j] = in[i + j] > lanes[j] ? in[i + j] : lanes[j];
    }
    for (; i < length; i++)
        lanes[0] = in[i] > lanes[0] ? in[i] : lanes[0];
    for (int j = 1; j < LAB__LANES; j++)
        lanes[0] = lanes[j] > lanes[0] ? lanes[j] : lanes[0];
    return lanes[0];
}

LAB__BODY forward_row_body(const struct lines *s, int64_t start)
{
    const float *in = s->in + start;
    float *out = s->out + start;
    float max = row_max(in, s->length), last;
    double sum;

    LAB__NO_OVERLAP
    for (int64_t i = 0; i < s->length; i++)
        out[i] = lab__exp(in[i] - max);
    LAB__ROW_SUM(sum, s->length, out[at]);
    if (s->logarithm) {
        last = (float)log(sum);
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < s->length; i++)
            out[i] = in[i] - max - last;
    } else {
        last = (float)(1.0 / sum);
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < s->length; i++)
            out[i] *= last;
    }
}
LAB__TWICE(forward_row, (const struct lines *s, int64_t start), (s, start))

LAB__INLINE void columns_max(const struct lines *s, const float *in,
                             int64_t columns, float *max)
{
    for (int64_t j = 0; j < columns; j++)
        max[j] = -INFINITY;
    for (int64_t i = 0; i < s->length; i++, in += s->inner) {
        for (int64_t j = 0; j < columns; j++)
            max[j] = in[j] > max[j] ? in[j] : max[j];
    }
}

LAB__BODY forward_columns_body(const struct lines *s, int64_t start,
                               int64_t columns)
{
    float max[COLUMNS], last[COLUMNS];
    double sum[COLUMNS] = {0};

    columns_max(s, s->in + start, columns, max);
    for (int64_t i = 0; i < s->length; i++) {
        const float *in = s->in + start + i * s->inner;
        float *out = s->out + start + i * s->inner;

        LAB__NO_OVERLAP
        for (int64_t j = 0; j < columns; j++) {
            out[j] = lab__exp(in[j] - max[j]);
            sum[j] += (double)out[j];
        }
    }
    for (int64_t j = 0; j < columns; j++)
        last[j] = (float)(s->logarithm ? log(sum[j]) : 1.0 / sum[j]);
    for (int64_t i = 0; i < s->length; i++) {
        const float *in = s->in + start + i * s->inner;
        float *out = s->out + start + i * s->inner;

        LAB__NO_OVERLAP
        for (int64_t j = 0; j < columns; j++)
            out[j] = s->logarithm ? in[j] - max[j] - last[j] : out[j] * last[j];
    }
}
LAB__TWICE(forward_columns,
           (const struct lines *s, int64_t start, int64_t columns),
           (s, start, columns))

/* ---- backward ------------------------------------------------------------- */

/* softmax: y·(g - Σ g·y); logarithm: g - exp(y)·Σ g */
LAB__BODY backward_row_body(const struct lines *s, int64_t start)
{
    const float *grad = s->in + start, *y = s->result + start;
    float *out = s->out + start, total;
    double sum;

    if (s->logarithm) {
        LAB__ROW_SUM(sum, s->length, grad[at]);
        total = (float)sum;
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < s->length; i++)
            out[i] = grad[i] - lab__exp(y[i]) * total;
    } else {
        LAB__ROW_SUM(sum, s->length, grad[at] * y[at]);
        total = (float)sum;
        LAB__NO_OVERLAP
        for (int64_t i = 0; i < s->length; i++)
            out[i] = y[i] * (grad[i] - total);
    }
}
LAB__TWICE(backward_row, (const struct lines *s, int64_t start), (s, start))

LAB__BODY backward_columns_body(const struct lines *s, int64_t start,
                                int64_t columns)
{
    float total[COLUMNS] = {0};

    for (int64_t i = 0; i < s->length; i++) {
        const float *grad = s->in + start + i * s->inner;
        const float *y = s->result + start + i * s->inner;

        for (int64_t j = 0; j < columns; j++)
            total[j] += s->logarithm ? grad[j] : grad[j] * y[j];
    }
    for (int64_t i = 0; i < s->length; i++) {
        const float *grad = s->in + start + i * s->inner;
        const float *y = s->result + start + i * s->inner;
        float *out = s->out + start + i * s->inner;

        LAB__NO_OVERLAP
        for (int64_t j = 0; j < columns; j++)
            out[j] = s->logarithm ? grad[j] - lab__exp(y[j]) * total[j]
                                  : y[j] * (grad[j] - total[j]);
    }
}
LAB__TWICE(backward_columns,
           (const struct lines *s, int64_t start, int64_t columns),
           (s, start, columns))

/* ---- the operations ----------------------------------------------------- */

enum { DIM, LOGARITHM }; /* node's integers */

static larder_result softmax_back(const struct lab__back *b)
{
    const int64_t *integer = b->node->integer;
    lab_tensor *result = lab__saved(b, 0);
    LAB__OWNED lab_tensor *grad = NULL;

    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__tensor_like(result, &b->results[0]));
    lines_run(&(struct lines){.in = lab__floats(grad),
                              .result = lab__floats(result),
                              .out = lab__floats(b->results[0]),
                              .logarithm = integer[LOGARITHM] != 0,
                              .row = backward_row,
                              .some_columns = backward_columns},
              result, (int)integer[DIM]);
    return LARDER_OK;
}

static larder_result softmax_of(const char *op, bool logarithm, lab_tensor *a,
                                int dim, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *in = NULL;

    LAB__TRY(lab__check_float(op, a));
    LAB__TRY(lab__check_dim(op, a, &dim));
    LAB__TRY(lab__nn_dense(a, &in));
    LAB__TRY(lab__tensor_like(a, &made));
    lines_run(&(struct lines){.in = lab__floats(in),
                              .out = lab__floats(made),
                              .logarithm = logarithm,
                              .row = forward_row,
                              .some_columns = forward_columns},
              in, dim);
    return lab__recorded(
        &(struct lab__recording){.name = logarithm ? "LogSoftmaxBackward0"
                                                   : "SoftmaxBackward0",
                                 .backward = softmax_back,
                                 LAB__INPUTS(a),
                                 LAB__SAVES(made),
                                 .integer = {dim, logarithm}},
        &made, out);
}

larder_result lab_softmax(lab_tensor *a, int dim, lab_tensor **out)
{
    return softmax_of("softmax", false, a, dim, out);
}

larder_result lab_log_softmax(lab_tensor *a, int dim, lab_tensor **out)
{
    return softmax_of("log_softmax", true, a, dim, out);
}
