/* rows.c - rows of a tensor by an index tensor, and the check that indices are in
 * range. */
#include <inttypes.h>
#include <string.h>

#include "ops/op.h"

/* ---- indices ------------------------------------------------------------ */

bool lab__index_outside(const lab_tensor *index, int64_t lowest, int64_t rows,
                        const int64_t *allowed, int64_t *value)
{
    const int64_t *at = lab__data(index);
    int64_t count = lab__readable(index) ? lab_numel(index) : 0;

    for (int64_t i = 0; i < count; i++) {
        if (at[i] >= lowest && at[i] < rows)
            continue;
        if (allowed != NULL && at[i] == *allowed)
            continue;
        *value = at[i];
        return true;
    }
    return false;
}

/* Negative indices count from the end. */
static int64_t row_at(const int64_t *index, int64_t i, const lab_tensor *t)
{
    return index[i] < 0 ? index[i] + t->sizes[0] : index[i];
}

/* Elements in a row. */
static int64_t row_count(const lab_tensor *t)
{
    return lab__count(t->ndim - 1, t->sizes + 1);
}

/* ---- taking and adding rows --------------------------------------------- */

struct rows {
    const lab_tensor *out, *t, *index;
    int64_t bytes; /* of a row */
};

static void gather_piece(void *context, int64_t begin, int64_t end)
{
    const struct rows *r = context;
    const int64_t *index = lab__data(r->index), bytes = r->bytes;
    const lab_tensor *t = r->t;
    const char *from = lab__data(t);
    char *to = lab__data(r->out);

    for (int64_t i = begin; i < end; i++)
        memcpy(to + i * bytes, from + row_at(index, i, t) * bytes,
               (size_t)bytes);
}

/* t's rows by index, both contiguous, with indices in range. */
static larder_result rows_take(const lab_tensor *t, const lab_tensor *index,
                               lab_tensor **out)
{
    struct rows r = {.t = t, .index = index};
    int64_t sizes[LAB_MAX_DIMS];
    int ndim = 0;

    for (int i = 0; i < index->ndim; i++)
        sizes[ndim++] = index->sizes[i];
    for (int i = 1; i < t->ndim; i++)
        sizes[ndim++] = t->sizes[i];
    LAB__TRY(lab__tensor_of(t, ndim, sizes, out));
    if (!LAB__READABLE(*out, t, index) || lab_numel(*out) == 0)
        return LARDER_OK;
    r.out = *out;
    r.bytes = row_count(t) * (int64_t)lab__dtype_bytes(t->kind);
    lab__parallel(lab_session(t), lab_numel(index), 1 + LAB__GRAIN / r.bytes,
                  gather_piece, &r);
    return LARDER_OK;
}

/* t's rows by index += grad's.  An index may occur twice, so rows are added
 * sequentially. */
static void rows_add(lab_tensor *t, const lab_tensor *grad,
                     const lab_tensor *index)
{
    const int64_t *at = lab__data(index);
    int64_t width = row_count(t), count = lab_numel(index);
    const float *from = lab__floats(grad);
    float *to = lab__floats(t);

    if (!LAB__READABLE(t, grad, index) || lab_numel(grad) == 0)
        return;
    for (int64_t i = 0; i < count; i++, from += width) {
        float *row = to + row_at(at, i, t) * width;

        for (int64_t j = 0; j < width; j++)
            row[j] += from[j];
    }
}

/* ---- embeddings --------------------------------------------------------- */

/* The gradient of the whole table, mostly zeros. */
static larder_result embedding_back(const struct lab__back *b)
{
    const struct lab__edge *table = &b->node->edge[0];
    LAB__OWNED lab_tensor *index = NULL, *grad = NULL;

    LAB__TRY(lab__nn_dense(lab__saved(b, 0), &index));
    LAB__TRY(lab__nn_dense(b->grads[0], &grad));
    LAB__TRY(lab__zeros_of(grad, table->ndim, table->sizes, &b->results[0]));
    rows_add(b->results[0], grad, index);
    return LARDER_OK;
}

static larder_result embedding_check(const lab_tensor *w,
                                     const lab_tensor *index)
{
    LAB__TRY(lab__check_float("embedding", w));
    LAB__TRY(lab__nn_check_ndim("embedding", "the table", w, 2));
    LAB__TRY(lab__nn_check_index("embedding", index));
    LAB__TRY(lab__check_place("embedding", w, index));
    if (lab_ndim(index) < LAB_MAX_DIMS)
        return LARDER_OK;
    return lab__invalid(
        "embedding: the result would have %d dimensions, more than %d",
        LAB_MAX_DIMS + 1, LAB_MAX_DIMS);
}

larder_result lab_embedding(lab_tensor *w, lab_tensor *index, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *dense_index = NULL, *dense_w = NULL;
    int64_t value;

    LAB__TRY(embedding_check(w, index));
    LAB__TRY(lab__nn_dense(index, &dense_index));
    LAB__TRY(lab__nn_dense(w, &dense_w));
    if (lab__index_outside(dense_index, 0, w->sizes[0], NULL, &value))
        return lab__invalid("embedding: index %lld is not in [0, %lld)",
                            (long long)value, (long long)w->sizes[0]);
    LAB__TRY(rows_take(dense_w, dense_index, &made));
    return lab__recorded(&(struct lab__recording){.name = "EmbeddingBackward0",
                                                  .backward = embedding_back,
                                                  LAB__INPUTS(w),
                                                  LAB__SAVES(index)},
                         &made, out);
}

/* ---- indexing ----------------------------------------------------------- */

static larder_result index_back(const struct lab__back *b)
{
    const struct lab__edge *edge = &b->node->edge[0];
    lab_tensor *g = b->grads[0];
    LAB__OWNED lab_tensor *whole = NULL, *grad = NULL;

    LAB__TRY(lab__zeros_of(g, edge->ndim, edge->sizes, &whole));
    LAB__TRY(lab__nn_dense(g, &grad));
    rows_add(whole, grad, lab__saved(b, 0));
    return lab__done(&whole, &b->results[0]);
}

static larder_result index_check(const lab_tensor *t, const lab_tensor *index)
{
    if (t->storage->session != index->storage->session)
        return lab__check_place("index", t, index);
    LAB__TRY(lab__nn_check_index("index", index));
    if (t->storage->place == LAB_HOST && index->storage->place == LAB_DEVICE) {
        return lab__invalid("index: indices should be on the same device as "
                            "the indexed tensor (cpu), or on the cpu");
    }
    if (t->ndim == 0 || t->ndim - 1 + index->ndim > LAB_MAX_DIMS) {
        return lab__invalid(
            "index: %d dimensions of indices for a tensor of %d", index->ndim,
            t->ndim);
    }
    return LARDER_OK;
}

/* Indices on the host are copied to the rows' place, as in PyTorch. */
larder_result lab_index_rows(lab_tensor *t, lab_tensor *index, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *near_index = NULL, *near = NULL;
    LAB__OWNED lab_tensor *dense = NULL;
    int64_t value;

    LAB__TRY(index_check(t, index));
    LAB__TRY(lab_to(index, t->storage->place, &near));
    LAB__TRY(lab__nn_dense(near, &near_index));
    lab__drop(&near);
    LAB__TRY(lab__nn_dense(t, &dense));
    if (lab__index_outside(near_index, -t->sizes[0], t->sizes[0], NULL,
                           &value)) {
        return lab__invalid(
            "index %" PRId64
            " is out of bounds for dimension 0 with size %" PRId64,
            value, t->sizes[0]);
    }
    LAB__TRY(rows_take(dense, near_index, &made));
    return lab__recorded(&(struct lab__recording){.name = "IndexBackward0",
                                                  .backward = index_back,
                                                  LAB__INPUTS(t),
                                                  LAB__SAVES(near_index)},
                         &made, out);
}
