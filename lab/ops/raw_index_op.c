/* raw_index_op.c - elements by index, not recorded. */
#include <math.h>

#include "ops/raw_common.h"
#include "tensor/narrow.h"
#include "tensor/rng.h"

/* ---- gather and scatter ------------------------------------------------- */

static larder_result index_check(const char *op, const lab_tensor *t, int *dim,
                                 const lab_tensor *index)
{
    larder_result r = lab__nn_check_index(op, index);

    if (r == LARDER_OK)
        r = lab__check_dim(op, t, dim);
    if (r == LARDER_OK)
        r = lab__check_place(op, t, index);
    if (r == LARDER_OK && index->ndim != t->ndim)
        r = lab__fail(LARDER_ERR_INVALID,
                      "%s: the index has %d dimensions, the tensor %d", op,
                      index->ndim, t->ndim);
    for (int d = 0; d < t->ndim && r == LARDER_OK; d++) {
        if (d != *dim && index->sizes[d] > t->sizes[d])
            r = lab__fail(LARDER_ERR_INVALID,
                          "%s: the index has %lld places in dimension %d, the "
                          "tensor %lld",
                          op, (long long)index->sizes[d], d,
                          (long long)t->sizes[d]);
    }
    return r;
}

static larder_result range_check(const char *op, const lab_tensor *index,
                                 int64_t length, bool may_be_negative)
{
    const int64_t *at = lab__data(index);
    int64_t count = lab_numel(index);
    int64_t lowest = may_be_negative ? -length : 0;

    for (int64_t i = 0; lab__readable(index) && i < count; i++) {
        if (at[i] < lowest || at[i] >= length)
            return lab__fail(LARDER_ERR_INVALID,
                             "%s: index %lld is out of bounds for a dimension "
                             "of size %lld",
                             op, (long long)at[i], (long long)length);
    }
    return LARDER_OK;
}

larder_result lab_raw_gather(lab_tensor *t, int dim, lab_tensor *index,
                             lab_tensor **out)
{
    lab_tensor *both[2] = {t, index}, *dense[2];
    larder_result r;

    if (t->ndim == 0)
        return lab__fail(LARDER_ERR_INVALID,
                         "gather: a tensor of no dimensions");
    r = index_check("gather", t, &dim, index);
    if (r == LARDER_OK)
        r = lab__dense_all(2, both, dense);
    if (r != LARDER_OK)
        return r;
    r = range_check("gather", dense[1], t->sizes[dim], false);
    if (r == LARDER_OK)
        r = lab__tensor_of(t, index->ndim, index->sizes, out);
    if (r == LARDER_OK)
        lab__gather(*out, dense[0], dim, dense[1]);
    lab__drop_all(2, dense);
    return r;
}

static larder_result source_check(const lab_tensor *t, const lab_tensor *index,
                                  const lab_tensor *src)
{
    larder_result r = lab__check_place("scatter", t, src);

    if (r == LARDER_OK && src->ndim != index->ndim)
        r = lab__fail(LARDER_ERR_INVALID,
                      "scatter: the source has %d dimensions, the index %d",
                      src->ndim, index->ndim);
    for (int d = 0; d < index->ndim && r == LARDER_OK; d++) {
        if (index->sizes[d] > src->sizes[d])
            r = lab__fail(LARDER_ERR_INVALID,
                          "scatter: the index has %lld places in dimension %d, "
                          "the source %lld",
                          (long long)index->sizes[d], d,
                          (long long)src->sizes[d]);
    }
    return r;
}

larder_result lab_raw_scatter(lab_tensor *t, int dim, lab_tensor *index,
                              lab_tensor *src, double number, bool add)
{
    lab_tensor *dense;
    larder_result r = lab__check_writable("scatter", t);

    if (r == LARDER_OK)
        r = index_check("scatter", t, &dim, index);
    if (r == LARDER_OK && src != NULL)
        r = source_check(t, index, src);
    if (r == LARDER_OK)
        r = lab__nn_dense(index, &dense);
    if (r != LARDER_OK)
        return r;
    r = range_check("scatter", dense, t->ndim == 0 ? 1 : t->sizes[dim], false);
    if (r == LARDER_OK) {
        t->storage->version++;
        lab__scatter(t, dim, dense, src, number, add);
        lab__round(t);
    }
    lab_unref(dense);
    return r;
}

/* ---- several index tensors ---------------------------------------------- */

static larder_result places_check(const lab_tensor *t, struct lab__places *p)
{
    larder_result r = LARDER_OK;
    lab_tensor so_far;

    if (p->count < 1 || p->dim < 0 || p->dim + p->count > t->ndim)
        return lab__fail(LARDER_ERR_INVALID,
                         "index: %d indices from dimension %d on, of a tensor "
                         "of %d",
                         p->count, p->dim, t->ndim);
    so_far = *p->indices[0];
    for (int i = 0; i < p->count && r == LARDER_OK; i++) {
        r = lab__nn_check_index("index", p->indices[i]);
        if (r == LARDER_OK)
            r = lab__check_place("index", t, p->indices[i]);
        if (r == LARDER_OK)
            r = range_check("index", p->indices[i], t->sizes[p->dim + i], true);
        if (r == LARDER_OK)
            r = lab__broadcast("index", &so_far, p->indices[i], &p->ndim,
                               p->sizes);
        so_far.ndim = (unsigned char)p->ndim;
        for (int d = 0; r == LARDER_OK && d < p->ndim; d++)
            so_far.sizes[d] = p->sizes[d];
    }
    return r;
}

/* Make index tensors contiguous, and check them. */
static larder_result places_take(const lab_tensor *t, int dim,
                                 lab_tensor *const *indices, int count,
                                 lab_tensor *dense[LAB_MAX_DIMS],
                                 struct lab__places *out)
{
    larder_result r;

    if (count < 1 || count > LAB_MAX_DIMS)
        return lab__fail(LARDER_ERR_INVALID, "index: %d index tensors", count);
    r = lab__dense_all(count, indices, dense);
    if (r != LARDER_OK)
        return r;
    *out = (struct lab__places){
        .dim = dim,
        .count = count,
        .indices = (const lab_tensor *const *)dense,
    };
    r = places_check(t, out);
    if (r != LARDER_OK)
        lab__drop_all(count, dense);
    return r;
}

static larder_result taken_make(const lab_tensor *t,
                                const struct lab__places *p, lab_tensor **out)
{
    int64_t sizes[2 * LAB_MAX_DIMS];
    int n = 0;

    for (int d = 0; d < p->dim; d++)
        sizes[n++] = t->sizes[d];
    for (int d = 0; d < p->ndim; d++)
        sizes[n++] = p->sizes[d];
    for (int d = p->dim + p->count; d < t->ndim; d++)
        sizes[n++] = t->sizes[d];
    return lab__tensor_of(t, n, sizes, out);
}

larder_result lab_raw_index(lab_tensor *t, int dim, lab_tensor *const *indices,
                            int count, lab_tensor **out)
{
    lab_tensor *dense[LAB_MAX_DIMS];
    struct lab__places places;
    larder_result r = places_take(t, dim, indices, count, dense, &places);

    if (r != LARDER_OK)
        return r;
    r = taken_make(t, &places, out);
    if (r == LARDER_OK)
        lab__places_take(*out, t, &places);
    lab__drop_all(count, dense);
    return r;
}

static larder_result put_check(const lab_tensor *t, const struct lab__places *p,
                               const lab_tensor *src)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim;
    lab_tensor room = *t;
    larder_result r;

    room.ndim = (unsigned char)(t->ndim - p->count + p->ndim);
    if (room.ndim > LAB_MAX_DIMS)
        return lab__fail(LARDER_ERR_INVALID,
                         "index_put: %d dimensions to write to", room.ndim);
    for (int d = 0; d < room.ndim; d++) {
        if (d < p->dim)
            room.sizes[d] = t->sizes[d];
        else if (d < p->dim + p->ndim)
            room.sizes[d] = p->sizes[d - p->dim];
        else
            room.sizes[d] = t->sizes[d - p->ndim + p->count];
    }
    r = lab__broadcast("index_put", &room, src, &ndim, sizes);
    if (r != LARDER_OK)
        return r;
    return ndim == room.ndim &&
                   lab__count(ndim, sizes) == lab__count(room.ndim, room.sizes)
               ? LARDER_OK
               : lab__fail(LARDER_ERR_INVALID,
                           "index_put: the values do not fit the places");
}

larder_result lab_raw_index_put(lab_tensor *t, int dim,
                                lab_tensor *const *indices, int count,
                                lab_tensor *src, bool add)
{
    lab_tensor *dense[LAB_MAX_DIMS];
    struct lab__places places;
    larder_result r = lab__check_writable("index_put", t);

    if (r == LARDER_OK)
        r = places_take(t, dim, indices, count, dense, &places);
    if (r != LARDER_OK)
        return r;
    r = put_check(t, &places, src);
    if (r == LARDER_OK) {
        t->storage->version++;
        lab__places_put(t, src, &places, add);
        lab__round(t);
    }
    lab__drop_all(count, dense);
    return r;
}

/* ---- checks that read values -------------------------------------------- */

larder_result lab_raw_nonzero(lab_tensor *t, lab_tensor **out)
{
    int64_t sizes[2];
    lab_tensor *dense;
    larder_result r = lab__check_values("nonzero", t);

    if (r == LARDER_OK)
        r = lab__nn_dense(t, &dense);
    if (r != LARDER_OK)
        return r;
    sizes[0] = lab__nonzero_count(dense);
    sizes[1] = t->ndim;
    r = lab__tensor_new(t->storage->session, LAB_INT64, t->storage->place, 2,
                        sizes, out);
    if (r == LARDER_OK)
        lab__nonzero(*out, dense);
    lab_unref(dense);
    return r;
}

static larder_result bins_count(const lab_tensor *t, int64_t min_length,
                                int64_t *bins)
{
    const int64_t *at = lab__data(t);
    int64_t count = lab_numel(t);

    *bins = min_length;
    for (int64_t i = 0; i < count; i++) {
        if (at[i] < 0)
            return lab__fail(LARDER_ERR_INVALID, "bincount: %lld is below 0",
                             (long long)at[i]);
        if (at[i] >= *bins)
            *bins = at[i] + 1;
    }
    return LARDER_OK;
}

larder_result lab_raw_bincount(lab_tensor *t, lab_tensor *weights,
                               int64_t min_length, lab_tensor **out)
{
    lab_tensor *both[2] = {t, weights}, *dense[2];
    int64_t bins;
    larder_result r = lab__nn_check_index("bincount", t);

    if (r == LARDER_OK && weights != NULL && !lab__same_sizes(t, weights))
        r = lab__fail(LARDER_ERR_INVALID,
                      "bincount: a weight for each number is needed");
    if (r == LARDER_OK)
        r = lab__check_values("bincount", t);
    if (r == LARDER_OK)
        r = lab__dense_all(2, both, dense);
    if (r != LARDER_OK)
        return r;
    r = bins_count(dense[0], min_length, &bins);
    if (r == LARDER_OK)
        r = lab_zeros(t->storage->session,
                      weights != NULL ? lab_dtype_of(weights) : LAB_INT64,
                      t->storage->place, 1, &bins, out);
    if (r == LARDER_OK)
        lab__bincount(*out, dense[0], dense[1]);
    lab__drop_all(2, dense);
    return r;
}

/* ---- sampling ----------------------------------------------------------- */

static double weight_at(const lab_tensor *t, int64_t i)
{
    return (double)((const float *)lab__data(t))[i];
}

/* The first `have` entries of `drawn` are excluded. */
static bool is_drawn(const int64_t *drawn, int64_t have, int64_t i)
{
    for (int64_t k = 0; k < have; k++) {
        if (drawn[k] == i)
            return true;
    }
    return false;
}

static double total_of(const lab_tensor *t, int64_t row, int64_t length,
                       const int64_t *drawn, int64_t have)
{
    double total = 0;

    for (int64_t i = 0; i < length; i++)
        total += is_drawn(drawn, have, i) ? 0 : weight_at(t, row * length + i);
    return total;
}

static void row_draw(struct lab__draw *draw, const lab_tensor *t, int64_t row,
                     int64_t count, bool replacement, int64_t *to)
{
    int64_t length = t->sizes[t->ndim - 1];

    for (int64_t k = 0; k < count; k++) {
        int64_t have = replacement ? 0 : k, i = 0, last = 0;
        double at = (double)lab__draw_below(draw, UINT64_C(1) << 53) * 0x1p-53 *
                    total_of(t, row, length, to, have);

        for (; i < length; i++) {
            double weight = weight_at(t, row * length + i);

            if (weight <= 0 || is_drawn(to, have, i))
                continue;
            last = i;
            at -= weight;
            if (at < 0)
                break;
        }
        to[k] = last;
    }
}

static larder_result draw_check(const lab_tensor *t, int64_t count,
                                bool replacement)
{
    larder_result r = lab__check_float("multinomial", t);

    if (r == LARDER_OK && t->ndim != 1 && t->ndim != 2)
        r = lab__fail(LARDER_ERR_INVALID,
                      "multinomial: weights have 1 or 2 dimensions, not %d",
                      t->ndim);
    if (r == LARDER_OK &&
        (count < 1 || (!replacement && count > t->sizes[t->ndim - 1])))
        r = lab__fail(LARDER_ERR_INVALID,
                      "multinomial: %lld cannot be drawn from %lld",
                      (long long)count, (long long)t->sizes[t->ndim - 1]);
    return r;
}

larder_result lab_raw_multinomial(lab_tensor *t, int64_t count,
                                  bool replacement, lab_tensor **out)
{
    int64_t sizes[2] = {t->sizes[0], count};
    int64_t rows = t->ndim == 2 ? t->sizes[0] : 1;
    struct lab__draw draw;
    lab_tensor *dense;
    larder_result r = draw_check(t, count, replacement);

    if (r == LARDER_OK)
        r = lab__nn_dense(t, &dense);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_new(t->storage->session, LAB_INT64, t->storage->place,
                        t->ndim, t->ndim == 2 ? sizes : &count, out);
    lab__draw_begin(&draw, t->storage->session->rng);
    for (int64_t i = 0; r == LARDER_OK && lab__readable(t) && i < rows; i++)
        row_draw(&draw, dense, i, count, replacement,
                 (int64_t *)lab__data(*out) + i * count);
    lab_unref(dense);
    return r;
}
