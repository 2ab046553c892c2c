/* raw_index.c - elements by index, not recorded. */
#include "ops/op.h"
#include "tensor/element.h"
#include "tensor/rng.h"

/* ---- gather and scatter ------------------------------------------------- */

static larder_result index_check(const char *op, const lab_tensor *t, int *dim,
                                 const lab_tensor *index)
{
    LAB__TRY(lab__nn_check_index(op, index));
    LAB__TRY(lab__check_dim(op, t, dim));
    LAB__TRY(lab__check_place(op, t, index));
    if (index->ndim != t->ndim)
        return lab__invalid("%s: the index has %d dimensions, the tensor %d",
                            op, index->ndim, t->ndim);
    for (int d = 0; d < t->ndim; d++) {
        if (d != *dim && index->sizes[d] > t->sizes[d])
            return lab__invalid("%s: the index has %lld places in dimension "
                                "%d, the tensor %lld",
                                op, (long long)index->sizes[d], d,
                                (long long)t->sizes[d]);
    }
    return LARDER_OK;
}

static larder_result range_check(const char *op, const lab_tensor *index,
                                 int64_t lowest, int64_t length)
{
    int64_t value;

    if (!lab__index_outside(index, lowest, length, NULL, &value))
        return LARDER_OK;
    return lab__invalid(
        "%s: index %lld is out of bounds for a dimension of size %lld", op,
        (long long)value, (long long)length);
}

/* The offset in t of the index's element i: its own position, except for dim,
 * where it is the index's value. */
static int64_t place_of(const lab_tensor *index, int64_t i, const lab_tensor *t,
                        int dim)
{
    int64_t chosen = ((const int64_t *)lab__data(index))[i], offset = 0;

    for (int d = index->ndim; d-- > 0;) {
        int64_t at = d == dim ? chosen : i % index->sizes[d];

        offset += at * t->strides[d];
        i /= index->sizes[d];
    }
    return offset;
}

larder_result lab_raw_gather(lab_tensor *t, int dim, lab_tensor *index,
                             lab_tensor **out)
{
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    int64_t count;

    if (t->ndim == 0)
        return lab__invalid("gather: a tensor without dimensions");
    LAB__TRY(index_check("gather", t, &dim, index));
    LAB__TRY(lab__dense_all(2, (lab_tensor *[]){t, index}, &d));
    LAB__TRY(range_check("gather", d.t[1], 0, t->sizes[dim]));
    LAB__TRY(lab__tensor_of(t, index->ndim, index->sizes, out));
    if (!LAB__READABLE(*out, t))
        return LARDER_OK;
    count = lab_numel(index);
    for (int64_t i = 0; i < count; i++)
        lab__put(*out, i, lab__get(d.t[0], place_of(d.t[1], i, d.t[0], dim)));
    return LARDER_OK;
}

static larder_result source_check(const lab_tensor *t, const lab_tensor *index,
                                  const lab_tensor *src)
{
    LAB__TRY(lab__check_place("scatter", t, src));
    if (src->ndim != index->ndim)
        return lab__invalid(
            "scatter: the source has %d dimensions, the index %d", src->ndim,
            index->ndim);
    for (int d = 0; d < index->ndim; d++) {
        if (index->sizes[d] > src->sizes[d])
            return lab__invalid("scatter: the index has %lld places in "
                                "dimension %d, the source %lld",
                                (long long)index->sizes[d], d,
                                (long long)src->sizes[d]);
    }
    return LARDER_OK;
}

static void element_put(lab_tensor *t, int64_t at, double x, bool add)
{
    lab__put(t, at, add ? lab__get(t, at) + x : x);
}

static void scatter(lab_tensor *t, int dim, const lab_tensor *index,
                    const lab_tensor *src, double number, bool add)
{
    int64_t count = lab_numel(index);

    if (!lab__readable(t))
        return;
    for (int64_t i = 0; i < count; i++) {
        /* The source may be larger than the index. */
        double x =
            src == NULL
                ? number
                : lab__get(src, lab__offset_of(i, index->ndim, index->sizes,
                                               src->strides));

        element_put(t, place_of(index, i, t, dim), x, add);
    }
}

larder_result lab_raw_scatter(lab_tensor *t, int dim, lab_tensor *index,
                              lab_tensor *src, double number, bool add)
{
    LAB__OWNED lab_tensor *dense = NULL;

    LAB__TRY(lab__check_writable("scatter", t));
    LAB__TRY(index_check("scatter", t, &dim, index));
    if (src != NULL)
        LAB__TRY(source_check(t, index, src));
    LAB__TRY(lab__nn_dense(index, &dense));
    LAB__TRY(
        range_check("scatter", dense, 0, t->ndim == 0 ? 1 : t->sizes[dim]));
    t->storage->version++;
    scatter(t, dim, dense, src, number, add);
    lab__round(t);
    return LARDER_OK;
}

/* ---- several index tensors ---------------------------------------------- */

/* Positions in dimensions dim … dim + count - 1 of a tensor, by index tensors of
 * these sizes, and any strides. */
struct places {
    int dim, count;
    lab_tensor *const *indices;
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
};

static larder_result places_check(const lab_tensor *t, struct places *p)
{
    if (p->count < 1 || p->dim < 0 || p->dim + p->count > t->ndim)
        return lab__invalid(
            "index: %d indices from dimension %d on, of a tensor of %d",
            p->count, p->dim, t->ndim);
    for (int i = 0; i < p->count; i++) {
        const lab_tensor *index = p->indices[i];
        int64_t length = t->sizes[p->dim + i];

        LAB__TRY(lab__nn_check_index("index", index));
        LAB__TRY(lab__check_place("index", t, index));
        LAB__TRY(range_check("index", index, -length, length));
        LAB__TRY(lab__broadcast_with("index", index->ndim, index->sizes,
                                     &p->ndim, p->sizes));
    }
    return LARDER_OK;
}

/* Make index tensors contiguous, check them, and broadcast them. */
static larder_result places_take(const lab_tensor *t, int dim,
                                 lab_tensor *const *indices, int count,
                                 struct lab__dense *dense, struct places *out)
{
    if (count < 1 || count > LAB_MAX_DIMS)
        return lab__invalid("index: %d index tensors", count);
    LAB__TRY(lab__dense_all(count, indices, dense));
    *out = (struct places){
        .dim = dim,
        .count = count,
        .indices = dense->t,
    };
    LAB__TRY(places_check(t, out));
    for (int i = 0; i < count; i++) {
        LAB__OWNED lab_tensor *index = dense->t[i];

        dense->t[i] = NULL;
        LAB__TRY(lab__tensor_wide(index, out->ndim, out->sizes, &dense->t[i]));
    }
    return LARDER_OK;
}

/* The sizes of what the places take from t, or are put to; the number of
 * dimensions. */
static int places_sizes(const lab_tensor *t, const struct places *p,
                        int64_t sizes[2 * LAB_MAX_DIMS])
{
    int n = 0;

    for (int d = 0; d < p->dim; d++)
        sizes[n++] = t->sizes[d];
    for (int d = 0; d < p->ndim; d++)
        sizes[n++] = p->sizes[d];
    for (int d = p->dim + p->count; d < t->ndim; d++)
        sizes[n++] = t->sizes[d];
    return n;
}

/* The offset in t that element i of the broadcast indices selects. */
static int64_t places_offset(const struct places *p, const lab_tensor *t,
                             int64_t i)
{
    int64_t offset = 0;

    for (int k = 0; k < p->count; k++) {
        const lab_tensor *index = p->indices[k];
        int64_t chosen = ((const int64_t *)lab__data(index))[lab__offset_of(
            i, index->ndim, index->sizes, index->strides)];

        if (chosen < 0)
            chosen += t->sizes[p->dim + k];
        offset += chosen * t->strides[p->dim + k];
    }
    return offset;
}

/* Call fn for every selected element of t, with its number in the order of a
 * result: dimensions before dim, places, dimensions behind. */
static void places_visit(const lab_tensor *t, const struct places *p,
                         void (*fn)(void *context, int64_t at, int64_t number),
                         void *context)
{
    int after = p->dim + p->count, rest = t->ndim - after;
    int64_t before_count = lab__count(p->dim, t->sizes);
    int64_t places = lab__count(p->ndim, p->sizes);
    int64_t rest_count = lab__count(rest, t->sizes + after);
    int64_t number = 0;

    for (int64_t b = 0; b < before_count; b++) {
        int64_t base = lab__offset_of(b, p->dim, t->sizes, t->strides);

        for (int64_t i = 0; i < places; i++) {
            int64_t at = base + places_offset(p, t, i);

            for (int64_t j = 0; j < rest_count; j++)
                fn(context,
                   at + lab__offset_of(j, rest, t->sizes + after,
                                       t->strides + after),
                   number++);
        }
    }
}

struct transfer {
    lab_tensor *to;
    const lab_tensor *from;
    bool add;
};

static void take_one(void *context, int64_t at, int64_t number)
{
    const struct transfer *t = context;

    lab__put(t->to, number, lab__get(t->from, at));
}

larder_result lab_raw_index(lab_tensor *t, int dim, lab_tensor *const *indices,
                            int count, lab_tensor **out)
{
    LAB__OWNED_DENSE struct lab__dense dense = {{NULL}};
    int64_t sizes[2 * LAB_MAX_DIMS];
    struct places places;

    LAB__TRY(places_take(t, dim, indices, count, &dense, &places));
    LAB__TRY(lab__tensor_of(t, places_sizes(t, &places, sizes), sizes, out));
    if (LAB__READABLE(*out, t))
        places_visit(t, &places, take_one,
                     &(struct transfer){.to = *out, .from = t});
    return LARDER_OK;
}

/* src, broadcast to what the places select. */
static larder_result put_source(const lab_tensor *t, const struct places *p,
                                lab_tensor *src, lab_tensor **out)
{
    int64_t room[2 * LAB_MAX_DIMS], sizes[2 * LAB_MAX_DIMS];
    int room_ndim = places_sizes(t, p, room), ndim = places_sizes(t, p, sizes);

    if (ndim > LAB_MAX_DIMS)
        return lab__invalid("index_put: %d dimensions to write to", ndim);
    LAB__TRY(
        lab__broadcast_with("index_put", src->ndim, src->sizes, &ndim, sizes));
    if (ndim == room_ndim &&
        lab__count(ndim, sizes) == lab__count(room_ndim, room))
        return lab__tensor_wide(src, ndim, sizes, out);
    return lab__invalid("index_put: the values do not fit the places");
}

static void put_one(void *context, int64_t at, int64_t number)
{
    const struct transfer *t = context;
    const lab_tensor *from = t->from;

    element_put(t->to, at,
                lab__get(from, lab__offset_of(number, from->ndim, from->sizes,
                                              from->strides)),
                t->add);
}

larder_result lab_raw_index_put(lab_tensor *t, int dim,
                                lab_tensor *const *indices, int count,
                                lab_tensor *src, bool add)
{
    LAB__OWNED_DENSE struct lab__dense dense = {{NULL}};
    LAB__OWNED lab_tensor *wide = NULL;
    struct places places;

    LAB__TRY(lab__check_writable("index_put", t));
    LAB__TRY(places_take(t, dim, indices, count, &dense, &places));
    LAB__TRY(put_source(t, &places, src, &wide));
    t->storage->version++;
    if (LAB__READABLE(t, wide))
        places_visit(t, &places, put_one, &(struct transfer){t, wide, add});
    lab__round(t);
    return LARDER_OK;
}

/* ---- checks that read values -------------------------------------------- */

static larder_result values_check(const char *op, const lab_tensor *t)
{
    if (lab__readable(t))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_UNSUPPORTED,
                     "%s: how large the result is depends on the values of a "
                     "tensor, and this device has no memory behind its "
                     "addresses: take one with backing=memory",
                     op);
}

static int64_t nonzero_count(const lab_tensor *t)
{
    int64_t count = lab_numel(t), found = 0;

    for (int64_t i = 0; i < count; i++)
        found += lab__get(t, i) != 0;
    return found;
}

static void nonzero_list(const lab_tensor *t, int64_t *to)
{
    int64_t count = lab_numel(t);

    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;

        if (lab__get(t, i) == 0)
            continue;
        for (int d = t->ndim; d-- > 0;) {
            to[d] = rest % t->sizes[d];
            rest /= t->sizes[d];
        }
        to += t->ndim;
    }
}

larder_result lab_raw_nonzero(lab_tensor *t, lab_tensor **out)
{
    LAB__OWNED lab_tensor *dense = NULL;
    int64_t sizes[2] = {0, t->ndim};

    LAB__TRY(values_check("nonzero", t));
    LAB__TRY(lab__nn_dense(t, &dense));
    sizes[0] = nonzero_count(dense);
    LAB__TRY(lab__ints_of(t, 2, sizes, out));
    nonzero_list(dense, lab__data(*out));
    return LARDER_OK;
}

static larder_result bins_count(const lab_tensor *t, int64_t min_length,
                                int64_t *bins)
{
    const int64_t *at = lab__data(t);
    int64_t count = lab_numel(t);

    *bins = min_length;
    for (int64_t i = 0; i < count; i++) {
        if (at[i] < 0)
            return lab__invalid("bincount: %lld is below 0", (long long)at[i]);
        if (at[i] >= *bins)
            *bins = at[i] + 1;
    }
    return LARDER_OK;
}

static void bins_fill(lab_tensor *bins, const lab_tensor *t,
                      const lab_tensor *weights)
{
    const int64_t *at = lab__data(t);
    int64_t count = lab_numel(t);
    void *to = lab__data(bins);

    for (int64_t i = 0; i < count; i++) {
        double x = weights != NULL ? lab__get(weights, i) : 1;

        x += lab__element(to, bins->kind, at[i]);
        lab__element_set(to, bins->kind, at[i], x);
    }
}

larder_result lab_raw_bincount(lab_tensor *t, lab_tensor *weights,
                               int64_t min_length, lab_tensor **out)
{
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    int64_t bins;

    LAB__TRY(lab__nn_check_index("bincount", t));
    if (weights != NULL && !lab__same_sizes(t, weights))
        return lab__invalid("bincount: a weight for each number is needed");
    LAB__TRY(values_check("bincount", t));
    LAB__TRY(lab__dense_all(2, (lab_tensor *[]){t, weights}, &d));
    LAB__TRY(bins_count(d.t[0], min_length, &bins));
    LAB__TRY(lab_zeros(t->storage->session,
                       weights != NULL ? lab_dtype_of(weights) : LAB_INT64,
                       t->storage->place, 1, &bins, out));
    bins_fill(*out, d.t[0], d.t[1]);
    return LARDER_OK;
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
    LAB__TRY(lab__check_float("multinomial", t));
    if (t->ndim != 1 && t->ndim != 2)
        return lab__invalid(
            "multinomial: weights have 1 or 2 dimensions, not %d", t->ndim);
    if (count < 1 || (!replacement && count > t->sizes[t->ndim - 1]))
        return lab__invalid("multinomial: %lld cannot be drawn from %lld",
                            (long long)count, (long long)t->sizes[t->ndim - 1]);
    return LARDER_OK;
}

larder_result lab_raw_multinomial(lab_tensor *t, int64_t count,
                                  bool replacement, lab_tensor **out)
{
    int64_t sizes[2] = {t->sizes[0], count};
    int64_t rows = t->ndim == 2 ? t->sizes[0] : 1;
    LAB__OWNED lab_tensor *dense = NULL;
    struct lab__draw draw;

    LAB__TRY(draw_check(t, count, replacement));
    LAB__TRY(lab__nn_dense(t, &dense));
    LAB__TRY(lab__ints_of(t, t->ndim, t->ndim == 2 ? sizes : &count, out));
    lab__draw_begin(&draw, t->storage->session->rng);
    for (int64_t i = 0; lab__readable(t) && i < rows; i++)
        row_draw(&draw, dense, i, count, replacement,
                 (int64_t *)lab__data(*out) + i * count);
    return LARDER_OK;
}
