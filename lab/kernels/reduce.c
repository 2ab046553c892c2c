/* reduce.c - sums over dimensions, in double and in parallel. */
#include "kernels/kernels.h"

#include <string.h>

#include "tensor/element.h"
#include "tensor/wide.h"

enum {
    LANES = 16,
    RUN = 1024,      /* floats summed in float before going to double */
    TILE = 256,      /* columns summed at a time */
    TILE_ROWS = 64,  /* rows of a tile, likewise */
    PIECES_MAX = 256 /* maximum pieces of a sum split for threads */
};

/* ---- kept and summed dimensions ----------------------------------------- */

struct dims {
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
    int64_t in[LAB_MAX_DIMS];  /* strides of the operand */
    int64_t out[LAB_MAX_DIMS]; /* of the result; 0 for summed dimensions */
    int64_t count;
};

static void dims_add(struct dims *d, int64_t size, int64_t in, int64_t out)
{
    int last = d->ndim - 1;

    d->count *= size;
    if (size == 1)
        return;
    if (last >= 0 && d->in[last] == in * size && d->out[last] == out * size) {
        d->sizes[last] *= size; /* adjacent to the previous one */
        d->in[last] = in;
        d->out[last] = out;
        return;
    }
    d->sizes[d->ndim] = size;
    d->in[d->ndim] = in;
    d->out[d->ndim] = out;
    d->ndim++;
}

static void dims_split(const lab_tensor *out, const lab_tensor *a,
                       unsigned mask, struct dims *kept, struct dims *summed)
{
    bool keeps = out->ndim == a->ndim;
    int at = 0; /* in the result, which may lack dimensions */

    kept->ndim = summed->ndim = 0;
    kept->count = summed->count = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (mask >> i & 1u)
            dims_add(summed, a->sizes[i], a->strides[i], 0);
        else
            dims_add(kept, a->sizes[i], a->strides[i],
                     out->strides[keeps ? i : at++]);
    }
}

/* The offset of element number n. */
static int64_t dims_in(const struct dims *d, int64_t n, int64_t *out)
{
    int64_t in = 0;

    *out = 0;
    for (int i = d->ndim; i-- > 0;) {
        int64_t digit = n % d->sizes[i];

        n /= d->sizes[i];
        in += digit * d->in[i];
        *out += digit * d->out[i];
    }
    return in;
}

/* The size of the last dimension, over which the inner loop runs. */
static int64_t row_size(const struct dims *d)
{
    return d->ndim > 0 ? d->sizes[d->ndim - 1] : 1;
}

static int64_t row_step(const struct dims *d)
{
    return d->ndim > 0 ? d->in[d->ndim - 1] : 1;
}

/* ---- sums of a row ------------------------------------------------------ */

LAB__BODY run_sum_body(const float *from, int64_t n, double *sum)
{
    float lanes[LANES] = {0};
    double all = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++)
            lanes[j] += from[i + j];
    }
    for (; i < n; i++)
        lanes[i % LANES] += from[i];
    for (int j = 0; j < LANES; j++)
        all += (double)lanes[j];
    *sum += all;
}
LAB__TWICE(run_sum, (const float *from, int64_t n, double *sum), (from, n, sum))

static double row_sum(const float *from, int64_t n, int64_t step)
{
    double sum = 0;

    if (step != 1) {
        for (int64_t i = 0; i < n; i++)
            sum += (double)from[i * step];
        return sum;
    }
    for (int64_t i = 0; i < n; i += RUN)
        run_sum(from + i, n - i < RUN ? n - i : RUN, &sum);
    return sum;
}

struct sum {
    const float *from;
    float *to;
    double scale;
    struct dims kept, summed;
    int64_t piece; /* elements of a partial sum */
    double *partial;
};

/* Elements [begin, end) of a sum whose result is at `at`.  If there are none
 * there may be no memory to point to. */
static double part_sum(const struct sum *s, int64_t at, int64_t begin,
                       int64_t end)
{
    int64_t row = row_size(&s->summed), step = row_step(&s->summed), unused;
    double sum = 0;

    while (begin < end) {
        int64_t n = row - begin % row;

        if (n > end - begin)
            n = end - begin;
        sum += row_sum(s->from + at + dims_in(&s->summed, begin, &unused), n,
                       step);
        begin += n;
    }
    return sum;
}

static void by_element(void *context, int64_t k)
{
    const struct sum *s = context;
    int64_t out, in = dims_in(&s->kept, k, &out);

    s->to[out] = (float)(s->scale * part_sum(s, in, 0, s->summed.count));
}

/* ---- few results of many elements --------------------------------------- */

static void by_piece(void *context, int64_t i)
{
    const struct sum *s = context;
    int64_t first = i * s->piece, last = first + s->piece;

    if (last > s->summed.count)
        last = s->summed.count;
    s->partial[i] = part_sum(s, 0, first, last);
}

/* Split in the same way for any number of threads, so that the result does not
 * depend on it. */
static void sum_whole(lab *l, struct sum *s)
{
    double partial[PIECES_MAX], sum = 0;
    int64_t pieces;

    s->piece = s->summed.count / PIECES_MAX + 1;
    if (s->piece < LAB__GRAIN)
        s->piece = LAB__GRAIN;
    pieces = (s->summed.count + s->piece - 1) / s->piece;
    s->partial = partial;
    lab__parallel_each(l, pieces, 1, by_piece, s);
    for (int64_t i = 0; i < pieces; i++)
        sum += partial[i]; /* cppcheck-suppress uninitvar; by_piece() did */
    s->to[0] = (float)(s->scale * sum);
}

/* ---- columns ------------------------------------------------------------ */

LAB__BODY row_add_body(const float *from, float *sums, int n)
{
    for (int i = 0; i < n; i++)
        sums[i] += from[i];
}
LAB__TWICE(row_add, (const float *from, float *sums, int n), (from, sums, n))

/* n adjacent columns, the first of which begins at `at`. */
static void tile_sum(const struct sum *s, int64_t at, double *sums, int n)
{
    float few[TILE];
    int64_t unused;

    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t i = 0; i < s->summed.count; i += TILE_ROWS) {
        int64_t end = i + TILE_ROWS;

        if (end > s->summed.count)
            end = s->summed.count;
        memset(few, 0, (size_t)n * sizeof *few);
        for (int64_t j = i; j < end; j++)
            row_add(s->from + at + dims_in(&s->summed, j, &unused), few, n);
        for (int j = 0; j < n; j++)
            sums[j] += (double)few[j];
    }
}

static void by_column(void *context, int64_t begin, int64_t end)
{
    const struct sum *s = context;
    int64_t row = row_size(&s->kept);
    int64_t step = s->kept.out[s->kept.ndim - 1];
    double sums[TILE];

    while (begin < end) {
        int64_t n = row - begin % row;
        int64_t out, in = dims_in(&s->kept, begin, &out);

        n = n < end - begin ? n : end - begin;
        n = n < TILE ? n : TILE;
        tile_sum(s, in, sums, (int)n);
        for (int64_t i = 0; i < n; i++)
            s->to[out + i * step] = (float)(s->scale * sums[i]);
        begin += n;
    }
}

static bool is_by_column(const struct sum *s)
{
    return s->kept.ndim > 0 && row_step(&s->kept) == 1 &&
           row_size(&s->kept) >= 8 && s->summed.ndim > 0 &&
           row_step(&s->summed) != 1;
}

static void sum_floats(lab_tensor *out, const lab_tensor *a, unsigned dims,
                       double scale)
{
    lab *l = out->storage->session;
    struct sum s = {.from = lab__data(a), .to = lab__data(out), .scale = scale};
    int64_t grain;

    dims_split(out, a, dims, &s.kept, &s.summed);
    grain = lab__grain(LAB__GRAIN, s.summed.count);
    if (s.kept.count == 1)
        sum_whole(l, &s);
    else if (is_by_column(&s))
        lab__parallel(l, s.kept.count, grain > TILE ? grain : TILE, by_column,
                      &s);
    else
        lab__parallel_each(l, s.kept.count, grain, by_element, &s);
}

/* ---- sums of whole numbers ---------------------------------------------- */

static void sum_ints(lab_tensor *out, const lab_tensor *a, unsigned mask,
                     double scale)
{
    const void *from = lab__data(a);
    struct dims kept, summed;

    dims_split(out, a, mask, &kept, &summed);
    for (int64_t k = 0; k < kept.count; k++) {
        int64_t at, unused, in = dims_in(&kept, k, &at);
        uint64_t sum = 0; /* wraps around like int64 sums */

        for (int64_t i = 0; i < summed.count; i++)
            sum += (uint64_t)lab__whole(from, a->kind,
                                        in + dims_in(&summed, i, &unused));
        if (out->kind == LAB_INT64)
            ((int64_t *)lab__data(out))[at] =
                scale == 1 ? (int64_t)sum
                           : lab__to_int64(scale * (double)(int64_t)sum);
        else
            lab__floats(out)[at] = (float)(scale * (double)(int64_t)sum);
    }
}

void lab__sum_dims(lab_tensor *out, const lab_tensor *a, unsigned dims,
                   double scale)
{
    if (!LAB__READABLE(out, a) || lab_numel(out) == 0)
        return;
    if (a->kind == LAB_FLOAT32)
        sum_floats(out, a, dims, scale);
    else
        sum_ints(out, a, dims, scale);
}
