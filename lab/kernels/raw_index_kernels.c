/* raw_index_kernels.c - loops over elements selected by an index: gather,
 * scatter, nonzero, bincount. */
#include "tensor/element.h"
#include "kernels/nn_kernels.h"

/* ---- gather and scatter ------------------------------------------------- */

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

void lab__gather(lab_tensor *out, const lab_tensor *t, int dim,
                 const lab_tensor *index)
{
    int64_t count = lab_numel(index);

    if (!LAB__READABLE(out, t))
        return;
    for (int64_t i = 0; i < count; i++)
        lab__put(out, i, lab__get(t, place_of(index, i, t, dim)));
}

static void element_put(lab_tensor *t, int64_t at, double x, bool add)
{
    lab__put(t, at, add ? lab__get(t, at) + x : x);
}

void lab__scatter(lab_tensor *t, int dim, const lab_tensor *index,
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

/* ---- places ------------------------------------------------------------- */

/* The offset in t that element i of the broadcast indices selects. */
static int64_t places_offset(const struct lab__places *p, const lab_tensor *t,
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
static void places_visit(const lab_tensor *t, const struct lab__places *p,
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

void lab__places_take(lab_tensor *out, const lab_tensor *t,
                      const struct lab__places *places)
{
    struct transfer transfer = {.to = out, .from = t};

    if (LAB__READABLE(out, t))
        places_visit(t, places, take_one, &transfer);
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

void lab__places_put(lab_tensor *t, const lab_tensor *src,
                     const struct lab__places *places, bool add)
{
    struct transfer transfer = {.to = t, .from = src, .add = add};

    if (LAB__READABLE(t, src))
        places_visit(t, places, put_one, &transfer);
}

/* ---- counting ----------------------------------------------------------- */

int64_t lab__nonzero_count(const lab_tensor *t)
{
    int64_t count = lab_numel(t), found = 0;

    for (int64_t i = 0; i < count; i++)
        found += lab__get(t, i) != 0;
    return found;
}

void lab__nonzero(lab_tensor *out, const lab_tensor *t)
{
    int64_t count = lab_numel(t), *to = lab__data(out);

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

void lab__bincount(lab_tensor *out, const lab_tensor *t,
                   const lab_tensor *weights)
{
    const int64_t *numbers = lab__data(t);
    int64_t count = lab_numel(t);

    for (int64_t i = 0; i < count; i++)
        element_put(out, numbers[i], weights != NULL ? lab__get(weights, i) : 1,
                    true);
}
