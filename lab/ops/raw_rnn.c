/* raw_rnn.c - one direction of one recurrent layer, over all its steps, not
 * recorded. */
#include <math.h>
#include <string.h>

#include "ops/op.h"
#include "tensor/host_memory.h"

/* ---- checks ------------------------------------------------------------- */

/* The number of blocks of H rows in its weights. */
static int cell_gates(lab_cell cell)
{
    return cell == LAB_LSTM ? 4 : cell == LAB_GRU ? 3 : 1;
}

/* rows × columns, in x's place, contiguous; NULL is accepted if optional. */
static larder_result part_check(const lab_tensor *x, const lab_tensor *t,
                                const char *what, int64_t rows, int64_t columns)
{
    bool fits;

    if (t == NULL)
        return LARDER_OK;
    LAB__TRY(lab__nn_check_part("rnn", x, t));
    fits = columns == 0
               ? t->ndim == 1 && t->sizes[0] == rows
               : t->ndim == 2 && t->sizes[0] == rows && t->sizes[1] == columns;
    if (fits && lab_is_contiguous(t))
        return LARDER_OK;
    return lab__invalid("rnn: the %s must be contiguous, of %lld rows of %lld",
                        what, (long long)rows,
                        (long long)(columns == 0 ? 1 : columns));
}

static larder_result lengths_check(const lab_rnn *rnn, const lab_tensor *x)
{
    for (int64_t i = 0; rnn->lengths != NULL && i < x->sizes[1]; i++) {
        if (rnn->lengths[i] < 1 || rnn->lengths[i] > x->sizes[0])
            return lab__invalid("rnn: a row has %lld steps; expected 1 to %lld",
                                (long long)rnn->lengths[i],
                                (long long)x->sizes[0]);
    }
    return LARDER_OK;
}

static larder_result rnn_check(const lab_rnn *rnn, const lab_tensor *x,
                               const lab_tensor *out)
{
    int64_t hidden, rows;

    if (rnn->size != sizeof *rnn)
        return lab__invalid("lab_rnn has %zu bytes, this library's has %zu",
                            rnn->size, sizeof *rnn);
    if (rnn->w_x == NULL || rnn->w_h == NULL || rnn->h == NULL ||
        (rnn->cell == LAB_LSTM && rnn->c == NULL))
        return lab__invalid("rnn: weights or state missing");
    LAB__TRY(lab__nn_check_ndim("rnn", "the input", x, 3));
    LAB__TRY(lab__check_float("rnn", x));
    LAB__TRY(lab__nn_check_ndim("rnn", "the output", out, 3));
    LAB__TRY(lab__nn_check_ndim("rnn", "the weight of h", rnn->w_h, 2));
    hidden = rnn->w_h->sizes[1];
    rows = cell_gates(rnn->cell) * hidden;
    if (!lab_is_contiguous(x) || !lab_is_contiguous(out) || rnn->at < 0 ||
        rnn->at + hidden > out->sizes[2] || out->sizes[0] != x->sizes[0] ||
        out->sizes[1] != x->sizes[1])
        return lab__invalid("rnn: input and output must be contiguous, of the "
                            "same steps and rows, with room for %lld at %lld",
                            (long long)hidden, (long long)rnn->at);
    LAB__TRY(part_check(x, rnn->w_h, "weight of h", rows, hidden));
    LAB__TRY(part_check(x, rnn->w_x, "weight of x", rows, x->sizes[2]));
    LAB__TRY(part_check(x, rnn->b_x, "bias of x", rows, 0));
    LAB__TRY(part_check(x, rnn->b_h, "bias of h", rows, 0));
    LAB__TRY(part_check(x, rnn->h, "initial h", x->sizes[1], hidden));
    LAB__TRY(part_check(x, rnn->c, "initial c", x->sizes[1], hidden));
    return lengths_check(rnn, x);
}

/* ---- a run -------------------------------------------------------------- */

/* What is kept of a step for each row: its gates, of H values each, then an
 * LSTM's c, or the part of a GRU's third gate that comes from h. */

struct sizes {
    int64_t steps; /* of the current row */
    int64_t rows, in, hidden, gates;
    int64_t out_width; /* of a step's row in `out` */
    int64_t kept_width;
};

struct run {
    const lab_rnn *rnn;
    struct sizes s;
    const float *x, *w_x, *w_h, *b_x, *b_h; /* b_x, b_h may be NULL */
    float *out, *kept;                      /* kept may be NULL */
    float *pre_x, *pre_h; /* of one row: what x and h add to each gate */
    float *step;          /* gates etc. of one row, if none are kept */
};

static larder_result run_begin(struct run *run, const lab_rnn *rnn,
                               const lab_tensor *x, const lab_tensor *out,
                               const lab_tensor *kept)
{
    size_t bytes;

    run->rnn = rnn;
    run->s.rows = x->sizes[1];
    run->s.in = x->sizes[2];
    run->s.hidden = rnn->w_h->sizes[1];
    run->s.gates = cell_gates(rnn->cell);
    run->s.out_width = out->sizes[2];
    run->s.kept_width = (run->s.gates + 1) * run->s.hidden;
    run->x = lab__floats(x);
    run->w_x = lab__floats(rnn->w_x);
    run->w_h = lab__floats(rnn->w_h);
    run->b_x = lab__floats(rnn->b_x);
    run->b_h = lab__floats(rnn->b_h);
    run->out = lab__floats(out);
    run->kept = lab__floats(kept);
    bytes = (size_t)(3 * run->s.kept_width) * sizeof(float);
    run->pre_x = lab__host_zeroed(bytes);
    if (run->pre_x == NULL)
        return lab__fail_host(bytes);
    run->pre_h = run->pre_x + run->s.kept_width;
    run->step = run->pre_h + run->s.kept_width;
    return LARDER_OK;
}

static void row_begin(struct run *run, int64_t row, const lab_tensor *x)
{
    run->s.steps =
        run->rnn->lengths != NULL ? run->rnn->lengths[row] : x->sizes[0];
}

/* The step processed as number i of a row, in order of memory. */
static int64_t place_of(const struct run *run, int64_t i, int64_t row)
{
    int64_t step = run->rnn->backwards ? run->s.steps - 1 - i : i;

    return step * run->s.rows + row;
}

/* h after the step processed as number i; the initial h before the first. */
static float *h_after(const struct run *run, int64_t i, int64_t row)
{
    const struct sizes *s = &run->s;

    if (i < 0)
        return lab__floats(run->rnn->h) + row * s->hidden;
    return run->out + place_of(run, i, row) * s->out_width + run->rnn->at;
}

/* What is kept of that step; if nothing is, one buffer serves all steps. */
static float *kept_of(const struct run *run, int64_t i, int64_t row)
{
    return run->kept != NULL
               ? run->kept + place_of(run, i, row) * run->s.kept_width
               : run->step;
}

/* An LSTM's c after that step; the initial c before the first. */
static const float *c_after(const struct run *run, int64_t i, int64_t row)
{
    return i < 0 ? lab__floats(run->rnn->c) + row * run->s.hidden
                 : kept_of(run, i, row) + 4 * run->s.hidden;
}

/* ---- forward ------------------------------------------------------------ */

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* to = w·from + b */
static void product(float *to, const float *w, const float *b, int64_t rows,
                    const float *from, int64_t columns)
{
    for (int64_t k = 0; k < rows; k++) {
        float sum = b != NULL ? b[k] : 0;

        for (int64_t j = 0; j < columns; j++)
            sum += w[k * columns + j] * from[j];
        to[k] = sum;
    }
}

static void lstm_step(const struct run *run, const float *c, float *kept,
                      float *h)
{
    int64_t n = run->s.hidden;

    for (int64_t j = 0; j < n; j++) {
        float i = sigmoid(run->pre_x[j] + run->pre_h[j]);
        float f = sigmoid(run->pre_x[n + j] + run->pre_h[n + j]);
        float g = tanhf(run->pre_x[2 * n + j] + run->pre_h[2 * n + j]);
        float o = sigmoid(run->pre_x[3 * n + j] + run->pre_h[3 * n + j]);
        float next = f * c[j] + i * g;

        kept[j] = i;
        kept[n + j] = f;
        kept[2 * n + j] = g;
        kept[3 * n + j] = o;
        kept[4 * n + j] = next;
        h[j] = o * tanhf(next);
    }
}

static void gru_step(const struct run *run, const float *before, float *kept,
                     float *h)
{
    int64_t n = run->s.hidden;

    for (int64_t j = 0; j < n; j++) {
        float r = sigmoid(run->pre_x[j] + run->pre_h[j]);
        float z = sigmoid(run->pre_x[n + j] + run->pre_h[n + j]);
        float g = tanhf(run->pre_x[2 * n + j] + r * run->pre_h[2 * n + j]);

        kept[j] = r;
        kept[n + j] = z;
        kept[2 * n + j] = g;
        kept[3 * n + j] = run->pre_h[2 * n + j];
        h[j] = (1 - z) * g + z * before[j];
    }
}

static void plain_step(const struct run *run, float *h)
{
    for (int64_t j = 0; j < run->s.hidden; j++) {
        float x = run->pre_x[j] + run->pre_h[j];

        if (run->rnn->cell == LAB_RNN_TANH)
            h[j] = tanhf(x);
        else
            h[j] = x > 0 ? x : 0;
    }
}

static void row_forward(const struct run *run, int64_t row)
{
    const struct sizes *s = &run->s;

    for (int64_t i = 0; i < s->steps; i++) {
        float *keep = kept_of(run, i, row), *h = h_after(run, i, row);
        const float *before = h_after(run, i - 1, row);

        product(run->pre_x, run->w_x, run->b_x, s->gates * s->hidden,
                run->x + place_of(run, i, row) * s->in, s->in);
        product(run->pre_h, run->w_h, run->b_h, s->gates * s->hidden, before,
                s->hidden);
        if (run->rnn->cell == LAB_LSTM)
            lstm_step(run, c_after(run, i - 1, row), keep, h);
        else if (run->rnn->cell == LAB_GRU)
            gru_step(run, before, keep, h);
        else
            plain_step(run, h);
    }
}

/* Zero the steps after the row's last. */
static void rest_zero(const struct run *run, int64_t row, lab_tensor *out)
{
    const struct sizes *s = &run->s;

    for (int64_t t = s->steps; t < out->sizes[0]; t++)
        memset(run->out + (t * s->rows + row) * s->out_width + run->rnn->at, 0,
               (size_t)s->hidden * sizeof(float));
}

larder_result lab_raw_rnn(const lab_rnn *rnn, lab_tensor *x, lab_tensor *out,
                          lab_tensor *h_last, lab_tensor *c_last,
                          lab_tensor *kept)
{
    struct run run;
    int64_t hidden;

    LAB__TRY(rnn_check(rnn, x, out));
    hidden = rnn->w_h->sizes[1];
    LAB__TRY(part_check(x, h_last, "last h", x->sizes[1], hidden));
    LAB__TRY(part_check(x, c_last, "last c", x->sizes[1], hidden));
    if (!LAB__READABLE(out, x))
        return LARDER_OK;
    LAB__TRY(run_begin(&run, rnn, x, out, kept));
    for (int64_t row = 0; row < run.s.rows; row++) {
        size_t bytes = (size_t)hidden * sizeof(float);

        row_begin(&run, row, x);
        rest_zero(&run, row, out);
        row_forward(&run, row);
        memcpy(lab__floats(h_last) + row * hidden,
               h_after(&run, run.s.steps - 1, row), bytes);
        if (c_last != NULL)
            memcpy(lab__floats(c_last) + row * hidden,
                   c_after(&run, run.s.steps - 1, row), bytes);
    }
    lab__host_free(run.pre_x);
    return LARDER_OK;
}

/* ---- backward ----------------------------------------------------------- */

struct back {
    struct run run;
    const float *grad_out; /* may be NULL */
    const lab_rnn_grads *to;
    float *dh, *dc; /* of one row, between two steps */
};

/* Gradients of the contributions of x and of h to each gate; dh becomes the
 * part of the previous h's gradient that does not pass through the weights. */
static void lstm_back(const struct back *b, const float *kept, const float *c)
{
    int64_t n = b->run.s.hidden;

    for (int64_t j = 0; j < n; j++) {
        float i = kept[j], f = kept[n + j], g = kept[2 * n + j];
        float o = kept[3 * n + j], t = tanhf(kept[4 * n + j]);
        float dc = b->dh[j] * o * (1 - t * t) + b->dc[j];

        b->run.pre_x[j] = dc * g * i * (1 - i);
        b->run.pre_x[n + j] = dc * c[j] * f * (1 - f);
        b->run.pre_x[2 * n + j] = dc * i * (1 - g * g);
        b->run.pre_x[3 * n + j] = b->dh[j] * t * o * (1 - o);
        b->dc[j] = dc * f;
        b->dh[j] = 0;
    }
    memcpy(b->run.pre_h, b->run.pre_x, (size_t)(4 * n) * sizeof(float));
}

static void gru_back(const struct back *b, const float *kept,
                     const float *before)
{
    int64_t n = b->run.s.hidden;

    for (int64_t j = 0; j < n; j++) {
        float r = kept[j], z = kept[n + j], g = kept[2 * n + j];
        float dg = b->dh[j] * (1 - z) * (1 - g * g);
        float dz = b->dh[j] * (before[j] - g) * z * (1 - z);
        float dr = dg * kept[3 * n + j] * r * (1 - r);

        b->run.pre_x[j] = b->run.pre_h[j] = dr;
        b->run.pre_x[n + j] = b->run.pre_h[n + j] = dz;
        b->run.pre_x[2 * n + j] = dg;
        b->run.pre_h[2 * n + j] = dg * r;
        b->dh[j] *= z;
    }
}

static void plain_back(const struct back *b, const float *h)
{
    for (int64_t j = 0; j < b->run.s.hidden; j++) {
        float slope = b->run.rnn->cell == LAB_RNN_TANH ? 1 - h[j] * h[j]
                                                       : (float)(h[j] > 0);

        b->run.pre_x[j] = b->run.pre_h[j] = b->dh[j] * slope;
        b->dh[j] = 0;
    }
}

/* to += wᵀ·from */
static void transposed_add(float *to, const float *w, const float *from,
                           int64_t rows, int64_t columns)
{
    for (int64_t k = 0; k < rows; k++) {
        for (int64_t j = 0; j < columns; j++)
            to[j] += w[k * columns + j] * from[k];
    }
}

/* to += a·bᵀ; nothing if it is not needed */
static void outer_add(lab_tensor *to, const float *a, int64_t rows,
                      const float *b, int64_t columns)
{
    float *sum = lab__floats(to);

    for (int64_t k = 0; sum != NULL && k < rows; k++) {
        for (int64_t j = 0; j < columns; j++)
            sum[k * columns + j] += a[k] * b[j];
    }
}

static void step_back(struct back *b, int64_t i, int64_t row)
{
    const struct sizes *s = &b->run.s;
    const lab_rnn_grads *to = b->to;
    int64_t at = place_of(&b->run, i, row), rows = s->gates * s->hidden;
    const float *kept = kept_of(&b->run, i, row), *one = &(float){1};
    const float *before = h_after(&b->run, i - 1, row);

    for (int64_t j = 0; b->grad_out != NULL && j < s->hidden; j++)
        b->dh[j] += b->grad_out[at * s->out_width + b->run.rnn->at + j];
    if (b->run.rnn->cell == LAB_LSTM)
        lstm_back(b, kept, c_after(&b->run, i - 1, row));
    else if (b->run.rnn->cell == LAB_GRU)
        gru_back(b, kept, before);
    else
        plain_back(b, h_after(&b->run, i, row));
    if (to->x != NULL)
        transposed_add(lab__floats(to->x) + at * s->in, b->run.w_x,
                       b->run.pre_x, rows, s->in);
    outer_add(to->w_x, b->run.pre_x, rows, b->run.x + at * s->in, s->in);
    outer_add(to->w_h, b->run.pre_h, rows, before, s->hidden);
    outer_add(to->b_x, b->run.pre_x, rows, one, 1);
    outer_add(to->b_h, b->run.pre_h, rows, one, 1);
    transposed_add(b->dh, b->run.w_h, b->run.pre_h, rows, s->hidden);
}

static void state_begin(float *state, const lab_tensor *grad, int64_t row,
                        int64_t hidden)
{
    for (int64_t j = 0; j < hidden; j++)
        state[j] = grad != NULL ? lab__floats(grad)[row * hidden + j] : 0;
}

static void state_end(lab_tensor *to, const float *state, int64_t row,
                      int64_t hidden)
{
    for (int64_t j = 0; to != NULL && j < hidden; j++)
        lab__floats(to)[row * hidden + j] += state[j];
}

larder_result lab_raw_rnn_backward(const lab_rnn *rnn, lab_tensor *x,
                                   lab_tensor *out, lab_tensor *kept,
                                   lab_tensor *grad_out, lab_tensor *grad_h,
                                   lab_tensor *grad_c, const lab_rnn_grads *to)
{
    struct back b = {.to = to, .grad_out = lab__floats(grad_out)};

    LAB__TRY(rnn_check(rnn, x, out));
    if (to->size != sizeof *to)
        return lab__invalid(
            "lab_rnn_grads has %zu bytes, this library's has %zu", to->size,
            sizeof *to);
    if (!LAB__READABLE(out, x))
        return LARDER_OK;
    LAB__TRY(run_begin(&b.run, rnn, x, out, kept));
    b.dh = b.run.step;
    b.dc = b.run.step + b.run.s.hidden;
    for (int64_t row = 0; row < b.run.s.rows; row++) {
        row_begin(&b.run, row, x);
        state_begin(b.dh, grad_h, row, b.run.s.hidden);
        state_begin(b.dc, grad_c, row, b.run.s.hidden);
        for (int64_t i = b.run.s.steps; i-- > 0;)
            step_back(&b, i, row);
        state_end(to->h, b.dh, row, b.run.s.hidden);
        state_end(to->c, b.dc, row, b.run.s.hidden);
    }
    lab__host_free(b.run.pre_x);
    return LARDER_OK;
}
