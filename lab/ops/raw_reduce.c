/* raw_reduce.c - reductions, extremes, running sums and sorting, not recorded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "tensor/element.h"
#include "tensor/host_memory.h"

/* ---- reducing some dimensions ------------------------------------------- */

/* Dimensions that stay, and those that are reduced. */
struct reduction {
    lab_reduction op;
    double p;
    const lab_tensor *t;
    lab_tensor *out;
    int kept, gone;
    int64_t kept_sizes[LAB_MAX_DIMS], kept_strides[LAB_MAX_DIMS];
    int64_t gone_sizes[LAB_MAX_DIMS], gone_strides[LAB_MAX_DIMS];
    int64_t count; /* elements of one result */
};

static double start_of(lab_reduction op)
{
    switch (op) {
    case LAB_PROD:
    case LAB_ALL:
        return 1;
    case LAB_AMAX:
    case LAB_LOGSUMEXP:
        return -INFINITY;
    case LAB_AMIN:
        return INFINITY;
    default:
        return 0;
    }
}

static double step_of(lab_reduction op, double so_far, double x, double p)
{
    switch (op) {
    case LAB_SUM:
        return so_far + x;
    case LAB_PROD:
        return so_far * x;
    case LAB_AMAX:
        return isnan(x) || x > so_far ? x : so_far;
    case LAB_AMIN:
        return isnan(x) || x < so_far ? x : so_far;
    case LAB_ANY:
        return so_far != 0 || x != 0;
    case LAB_ALL:
        return so_far != 0 && x != 0;
    case LAB_NORM:
        if (isinf(p))
            return fmax(so_far, fabs(x));
        return so_far + (p == 2 ? x * x : pow(fabs(x), p));
    case LAB_COUNT_NONZERO:
        return so_far + (x != 0);
    default:
        return so_far;
    }
}

static double element_at(const struct reduction *r, const void *data,
                         int64_t base, int64_t i)
{
    return lab__element(
        data, r->t->kind,
        base + lab__offset_of(i, r->gone, r->gone_sizes, r->gone_strides));
}

static double folded(const struct reduction *r, lab_reduction op,
                     const void *data, int64_t base)
{
    double so_far = start_of(op);

    for (int64_t i = 0; i < r->count; i++)
        so_far = step_of(op, so_far, element_at(r, data, base, i), r->p);
    return so_far;
}

/* Two passes, mean first: this loses no precision. */
static double variance(const struct reduction *r, const void *data,
                       int64_t base)
{
    double mean = folded(r, LAB_SUM, data, base) / (double)r->count;
    double squares = 0;

    for (int64_t i = 0; i < r->count; i++) {
        double x = element_at(r, data, base, i) - mean;

        squares += x * x;
    }
    return squares / ((double)r->count - r->p);
}

static double log_sum_exp(const struct reduction *r, const void *data,
                          int64_t base)
{
    double max = folded(r, LAB_AMAX, data, base), sum = 0;

    if (isinf(max))
        return max;
    for (int64_t i = 0; i < r->count; i++)
        sum += exp(element_at(r, data, base, i) - max);
    return max + log(sum);
}

static double result_of(const struct reduction *r, const void *data,
                        int64_t base)
{
    double folds;

    switch (r->op) {
    case LAB_VAR:
        return variance(r, data, base);
    case LAB_STD:
        return sqrt(variance(r, data, base));
    case LAB_LOGSUMEXP:
        return log_sum_exp(r, data, base);
    case LAB_NORM:
        folds = folded(r, LAB_NORM, data, base);
        if (r->p == 2)
            return sqrt(folds);
        return isinf(r->p) ? folds : pow(folds, 1 / r->p);
    default:
        return folded(r, r->op, data, base);
    }
}

/* Of int64, whose numbers need not be exact as a double. */
static int64_t extreme_of(const struct reduction *r, const int64_t *data,
                          int64_t base)
{
    int64_t best = data[base];

    for (int64_t i = 1; i < r->count; i++) {
        int64_t x = data[base + lab__offset_of(i, r->gone, r->gone_sizes,
                                               r->gone_strides)];

        if (r->op == LAB_AMAX ? x > best : x < best)
            best = x;
    }
    return best;
}

static void reduce_part(void *context, int64_t begin, int64_t end)
{
    const struct reduction *r = context;
    const void *data = lab__data(r->t);
    void *to = lab__data(r->out);
    bool is_exact =
        r->t->kind == LAB_INT64 && (r->op == LAB_AMAX || r->op == LAB_AMIN);

    for (int64_t i = begin; i < end; i++) {
        int64_t base =
            lab__offset_of(i, r->kept, r->kept_sizes, r->kept_strides);

        if (is_exact)
            ((int64_t *)to)[i] = extreme_of(r, data, base);
        else
            lab__element_set(to, r->out->kind, i, result_of(r, data, base));
    }
}

/* out has t's dimensions, with size 1 for those in dims, or lacks these. */
static void reduce(lab_reduction op, lab_tensor *out, const lab_tensor *t,
                   unsigned dims, double p)
{
    struct reduction r = {.op = op, .p = p, .t = t, .out = out, .count = 1};

    if (!LAB__READABLE(out, t))
        return;
    for (int d = 0; d < t->ndim; d++) {
        if ((dims & 1U << d) != 0) {
            r.gone_sizes[r.gone] = t->sizes[d];
            r.gone_strides[r.gone++] = t->strides[d];
            r.count *= t->sizes[d];
        } else {
            r.kept_sizes[r.kept] = t->sizes[d];
            r.kept_strides[r.kept++] = t->strides[d];
        }
    }
    lab__parallel(out->storage->session, lab_numel(out),
                  lab__grain(LAB__GRAIN / 8, r.count), reduce_part, &r);
}

static lab_dtype dtype_for(lab_reduction op, const lab_tensor *t)
{
    bool whole = t->kind != LAB_FLOAT32;

    switch (op) {
    case LAB_ANY:
    case LAB_ALL:
        return LAB_BOOL;
    case LAB_COUNT_NONZERO:
        return LAB_INT64;
    case LAB_SUM:
    case LAB_PROD:
        return whole ? LAB_INT64 : t->dtype;
    default:
        return t->dtype;
    }
}

static larder_result reduce_check(lab_reduction op, const lab_tensor *t,
                                  unsigned dims)
{
    bool has_floats =
        op == LAB_VAR || op == LAB_STD || op == LAB_NORM || op == LAB_LOGSUMEXP;

    if ((int)op < 0 || op > LAB_COUNT_NONZERO)
        return lab__invalid("%d is not a reduction", (int)op);
    if (has_floats && t->kind != LAB_FLOAT32)
        return lab__check_float("reduce", t);
    if (op != LAB_AMAX && op != LAB_AMIN)
        return LARDER_OK;
    for (int d = 0; d < t->ndim; d++) {
        if ((dims & 1U << d) != 0 && t->sizes[d] == 0)
            return lab__invalid("dimension %d has no elements to choose from",
                                d);
    }
    return LARDER_OK;
}

larder_result lab_raw_reduce(lab_reduction op, lab_tensor *t, unsigned dims,
                             bool keep, double p, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int n = lab__reduced_sizes(t, dims, keep, sizes);
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(reduce_check(op, t, dims));
    LAB__TRY(lab__tensor_new(t->storage->session, dtype_for(op, t),
                             t->storage->place, n, sizes, &made));
    reduce(op, made, t, dims, p);
    return lab__done(&made, out);
}

/* ---- along one dimension ------------------------------------------------ */

struct along {
    const lab_tensor *t;
    int dim;
    lab_tensor *values, *indices;
    struct lab__lines lines;
    bool flag; /* largest, product or descending, by operation */
};

static void run_along(struct along *a, void (*fn)(void *context, int64_t line))
{
    if (LAB__READABLE(a->t, a->values, a->indices))
        lab__parallel_each(a->t->storage->session, a->lines.count,
                           lab__grain(LAB__GRAIN / 8, a->lines.length), fn, a);
}

static int64_t best_float(const float *from, int64_t n, int64_t step,
                          bool largest)
{
    int64_t best = 0;

    for (int64_t i = 0; i < n; i++) {
        float x = from[i * step], so_far = from[best * step];

        if (isnan(x))
            return i;
        if (largest ? x > so_far : x < so_far)
            best = i;
    }
    return best;
}

static int64_t best_whole(const void *data, unsigned char kind, int64_t at,
                          int64_t n, int64_t step, bool largest)
{
    int64_t best = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t x = lab__whole(data, kind, at + i * step);
        int64_t so_far = lab__whole(data, kind, at + best * step);

        if (largest ? x > so_far : x < so_far)
            best = i;
    }
    return best;
}

static void line_extreme(void *context, int64_t line)
{
    const struct along *a = context;
    const lab_tensor *t = a->t;
    int64_t at = 0, rest = line, n = a->lines.length, best;
    int64_t step = t->ndim > 0 ? t->strides[a->dim] : 1;

    for (int d = t->ndim; d-- > 0;) {
        if (d == a->dim)
            continue;
        at += rest % t->sizes[d] * t->strides[d];
        rest /= t->sizes[d];
    }
    best = t->kind == LAB_FLOAT32
               ? best_float(lab__floats(t) + at, n, step, a->flag)
               : best_whole(lab__data(t), t->kind, at, n, step, a->flag);
    lab__put(a->indices, line, (double)best);
    if (a->values != NULL)
        lab__move(a->values, line, t, at + best * step);
}

void lab__extreme(lab_tensor *values, lab_tensor *indices, const lab_tensor *t,
                  int dim, bool largest)
{
    struct along a = {t, dim, values, indices, lab__lines_of(t, dim), largest};

    run_along(&a, line_extreme);
}

larder_result lab_raw_extreme(lab_tensor *t, int dim, bool largest, bool keep,
                              lab_tensor **values, lab_tensor **indices)
{
    const char *op = largest ? "max" : "min";
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *chosen = NULL, *dense = NULL;
    int n;

    LAB__TRY(lab__check_dim(op, t, &dim));
    if (t->ndim > 0 && t->sizes[dim] == 0)
        return lab__invalid("%s: dimension %d has no elements", op, dim);
    n = lab__reduced_sizes(t, 1U << dim, keep, sizes);
    LAB__TRY(lab__nn_dense(t, &dense));
    if (values != NULL)
        LAB__TRY(lab__tensor_of(t, n, sizes, &chosen));
    LAB__TRY(lab__ints_of(t, n, sizes, indices));
    lab__extreme(chosen, *indices, dense, dim, largest);
    return values != NULL ? lab__give(&chosen, values) : LARDER_OK;
}

static void line_scan(void *context, int64_t line)
{
    const struct along *a = context;
    const void *data = lab__data(a->t);
    void *to = lab__data(a->values);
    int64_t at = lab__line_begin(&a->lines, line);
    double so_far = a->flag;

    for (int64_t i = 0; i < a->lines.length; i++, at += a->lines.inner) {
        double x = lab__element(data, a->t->kind, at);

        so_far = a->flag ? so_far * x : so_far + x;
        lab__element_set(to, a->values->kind, at, so_far);
    }
}

larder_result lab_raw_scan(lab_reduction op, lab_tensor *t, int dim,
                           lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense = NULL;

    LAB__TRY(lab__check_dim("scan", t, &dim));
    if (op != LAB_SUM && op != LAB_PROD)
        return lab__invalid(
            "scan: only sums and products are supported, not reduction %d",
            (int)op);
    LAB__TRY(lab__nn_dense(t, &dense));
    LAB__TRY(lab__tensor_new(t->storage->session, dtype_for(op, t),
                             t->storage->place, t->ndim, t->sizes, &made));
    run_along(&(struct along){dense, dim, made, NULL, lab__lines_of(t, dim),
                              op == LAB_PROD},
              line_scan);
    return lab__done(&made, out);
}

/* ---- sorting ------------------------------------------------------------ */

struct entry {
    int64_t key;
    int64_t index;
};

/* A number in the order of the elements: exact for whole numbers, and of a
 * float its bits, whose sign and magnitude become a number.  NaN comes last. */
static int64_t key_of(const lab_tensor *t, int64_t at, bool descending)
{
    int64_t key;

    if (t->kind != LAB_FLOAT32) {
        key = lab__whole(lab__data(t), t->kind, at);
    } else {
        const float *x = lab__floats(t) + at;
        int32_t bits;

        if (isnan(*x))
            return INT64_MAX;
        memcpy(&bits, x, sizeof bits);
        key = bits >= 0 ? bits : (int64_t)INT32_MIN - bits;
    }
    return descending ? ~key : key;
}

static int entry_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void line_sort(const struct along *a, int64_t line,
                      struct entry *entries)
{
    struct lab__lines to = a->lines;
    int64_t from = lab__line_begin(&a->lines, line), at;
    int64_t *indices = lab__data(a->indices);

    for (int64_t i = 0; i < a->lines.length; i++)
        entries[i] =
            (struct entry){key_of(a->t, from + i * a->lines.inner, a->flag), i};
    qsort(entries, (size_t)a->lines.length, sizeof *entries, entry_compare);
    to.length = lab_numel(a->indices) / a->lines.count;
    at = lab__line_begin(&to, line);
    for (int64_t i = 0; i < to.length; i++, at += to.inner) {
        indices[at] = entries[i].index;
        lab__move(a->values, at, a->t,
                  from + entries[i].index * a->lines.inner);
    }
}

/* Fails only for lack of host memory. */
static larder_result sort(lab_tensor *values, lab_tensor *indices,
                          const lab_tensor *t, int dim, bool descending)
{
    struct along a = {t,         dim, values, indices, lab__lines_of(t, dim),
                      descending};
    size_t bytes = (size_t)a.lines.length * sizeof(struct entry);
    struct entry *entries;

    if (!LAB__READABLE(indices, t))
        return LARDER_OK;
    entries = lab__host_alloc(bytes);
    if (entries == NULL)
        return lab__fail_host(bytes);
    for (int64_t line = 0; line < a.lines.count; line++)
        line_sort(&a, line, entries);
    lab__host_free(entries);
    return LARDER_OK;
}

larder_result lab_raw_sort(lab_tensor *t, int dim, bool descending,
                           int64_t count, lab_tensor **values,
                           lab_tensor **indices)
{
    LAB__OWNED lab_tensor *sorted = NULL, *order = NULL, *dense = NULL;
    int64_t length, sizes[LAB_MAX_DIMS];

    LAB__TRY(lab__check_dim("sort", t, &dim));
    length = t->ndim == 0 ? 1 : t->sizes[dim];
    if (count < 0 || count > length)
        return lab__invalid("topk: %lld of the %lld elements of dimension %d",
                            (long long)count, (long long)length, dim);
    for (int d = 0; d < t->ndim; d++)
        sizes[d] = d == dim ? count : t->sizes[d];
    LAB__TRY(lab__nn_dense(t, &dense));
    LAB__TRY(lab__tensor_of(t, t->ndim, sizes, &sorted));
    LAB__TRY(lab__ints_of(t, t->ndim, sizes, &order));
    LAB__TRY(sort(sorted, order, dense, dim, descending));
    lab__give(&sorted, values);
    return lab__give(&order, indices);
}
