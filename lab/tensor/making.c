/* making.c - tensors made of one value, of a sequence or of random numbers. */
#include "tensor/tensor.h"

#include <math.h>

#include "tensor/element.h"
#include "tensor/parallel.h"
#include "tensor/rng.h"

/* ---- filled with one value ---------------------------------------------- */

larder_result lab_empty(lab *l, LAB_SHAPE, lab_tensor **out)
{
    return lab__tensor_new(l, dtype, place, ndim, sizes, out);
}

larder_result lab_full(lab *l, LAB_SHAPE, double value, lab_tensor **out)
{
    int zeroed = 0;

    LAB__TRY(lab__check_shape(dtype, place, ndim, sizes));
    LAB__TRY(lab__tensor_blank(l, dtype, place, ndim, sizes, &zeroed, out));
    /* Untouched host pages stay untouched: a large tensor of zeros on the host
     * costs nothing until it is written. */
    if (zeroed && value == 0 && !signbit(value))
        return LARDER_OK;
    return lab__fill(*out, value);
}

larder_result lab_zeros(lab *l, LAB_SHAPE, lab_tensor **out)
{
    return lab_full(l, dtype, place, ndim, sizes, 0, out);
}

larder_result lab_ones(lab *l, LAB_SHAPE, lab_tensor **out)
{
    return lab_full(l, dtype, place, ndim, sizes, 1, out);
}

/* ---- counting ----------------------------------------------------------- */

struct series {
    void *to;
    double start, step;
};

static void series_floats(void *context, int64_t begin, int64_t end)
{
    const struct series *s = context;
    float *to = s->to;

    for (int64_t i = begin; i < end; i++)
        to[i] = (float)(s->start + (double)i * s->step);
}

static void series_ints(void *context, int64_t begin, int64_t end)
{
    const struct series *s = context;
    int64_t start = lab__to_int64(s->start), step = lab__to_int64(s->step);
    int64_t *to = s->to;

    for (int64_t i = begin; i < end; i++)
        to[i] = start + i * step;
}

static larder_result series_check(lab_dtype dtype, double start, double end,
                                  double step)
{
    const double far = 1e18; /* ints and counts are exact far below this */

    if (dtype == LAB_BOOL)
        return lab__invalid("arange: bool is not supported");
    if (!(fabs(start) < far && fabs(end) < far && fabs(step) < far))
        return lab__invalid("arange: %g, %g and %g must be finite and below %g",
                            start, end, step, far);
    if (step == 0 || (end - start) / step < 0)
        return lab__invalid("arange: steps of %g do not lead from %g to %g",
                            step, start, end);
    if (lab__kind_of(dtype) == LAB_INT64 &&
        (start != floor(start) || step != floor(step)))
        return lab__invalid("arange: %g and %g must be integers for int64",
                            start, step);
    return LARDER_OK;
}

larder_result lab_arange(lab *l, lab_dtype dtype, lab_place place, double start,
                         double end, double step, lab_tensor **out)
{
    struct series s = {NULL, start, step};
    int64_t count;

    LAB__TRY(series_check(dtype, start, end, step));
    count = lab__to_int64(ceil((end - start) / step));
    LAB__TRY(lab__tensor_new(l, dtype, place, 1, &count, out));
    if (!lab__readable(*out))
        return LARDER_OK;
    s.to = lab__data(*out);
    lab__parallel(
        l, count, LAB__GRAIN,
        lab__kind_of(dtype) == LAB_INT64 ? series_ints : series_floats, &s);
    lab__round(*out);
    return LARDER_OK;
}

/* ---- random ------------------------------------------------------------- */

static larder_result random_floats(lab *l, const char *op, LAB_SHAPE,
                                   void (*fill)(lab *, float *, int64_t),
                                   lab_tensor **out)
{
    if (lab__kind_of(dtype) != LAB_FLOAT32)
        return lab__invalid("%s: creates floating-point tensors, not %s", op,
                            lab__dtype_name(dtype));
    LAB__TRY(lab__tensor_new(l, dtype, place, ndim, sizes, out));
    if (lab__readable(*out))
        fill(l, lab__data(*out), lab_numel(*out));
    lab__round(*out);
    return LARDER_OK;
}

larder_result lab_randn(lab *l, LAB_SHAPE, lab_tensor **out)
{
    return random_floats(l, "randn", dtype, place, ndim, sizes,
                         lab__random_normal, out);
}

larder_result lab_rand(lab *l, LAB_SHAPE, lab_tensor **out)
{
    return random_floats(l, "rand", dtype, place, ndim, sizes,
                         lab__random_uniform, out);
}

static void fill_randint(lab *l, lab_tensor *t, int64_t low, int64_t high)
{
    struct lab__draw draw;
    uint64_t range = (uint64_t)high - (uint64_t)low;
    int64_t count = lab_numel(t);
    void *to = lab__data(t);

    lab__draw_begin(&draw, l->rng);
    for (int64_t i = 0; i < count; i++) {
        uint64_t drawn = (uint64_t)low + lab__draw_below(&draw, range);

        if (t->kind == LAB_INT64)
            ((int64_t *)to)[i] = (int64_t)drawn; /* exactly */
        else
            lab__element_set(to, t->kind, i, (double)(int64_t)drawn);
    }
}

larder_result lab_randint(lab *l, LAB_SHAPE, int64_t low, int64_t high,
                          lab_tensor **out)
{
    if (low >= high)
        return lab__invalid(
            "randint: expects low < high, but got %lld and %lld",
            (long long)low, (long long)high);
    LAB__TRY(lab__tensor_new(l, dtype, place, ndim, sizes, out));
    if (lab__readable(*out))
        fill_randint(l, *out, low, high);
    lab__round(*out);
    return LARDER_OK;
}

larder_result lab_randperm(lab *l, int64_t n, lab_tensor **out)
{
    struct lab__draw draw;
    int64_t *to;

    LAB__TRY(lab__tensor_new(l, LAB_INT64, LAB_HOST, 1, &n, out));
    to = lab__data(*out);
    lab__draw_begin(&draw, l->rng);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)lab__draw_below(&draw, (uint64_t)i + 1);

        to[i] = to[j];
        to[j] = i;
    }
    return LARDER_OK;
}
