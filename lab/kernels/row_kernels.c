/* row_kernels.c - rows of a tensor of any dtype, selected by index, and the check that
 * indices are in range. */
#include "kernels/nn_kernels.h"

#include <string.h>

#include "tensor/parallel.h"

bool lab__index_outside(const lab_tensor *index, int64_t lowest, int64_t rows,
                        const int64_t *allowed, int64_t *value)
{
    const int64_t *at;
    int64_t count = lab_numel(index);

    if (!lab__readable(index) || count == 0)
        return false;
    at = lab__data(index);
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

struct rows {
    const int64_t *index;
    int64_t rows;  /* rows in the whole tensor */
    int64_t width; /* of a row: bytes for gathering, elements for adding */
    char *to;
    const char *from;
};

static int64_t row_at(const struct rows *r, int64_t i)
{
    return r->index[i] < 0 ? r->index[i] + r->rows : r->index[i];
}

static void gather_piece(void *context, int64_t begin, int64_t end)
{
    const struct rows *r = context;

    for (int64_t i = begin; i < end; i++)
        memcpy(r->to + i * r->width, r->from + row_at(r, i) * r->width,
               (size_t)r->width);
}

/* Elements in a row. */
static int64_t row_count(const lab_tensor *t)
{
    return lab__count(t->ndim - 1, t->sizes + 1);
}

void lab__rows_gather(lab_tensor *out, const lab_tensor *t,
                      const lab_tensor *index)
{
    struct rows r = {.rows = t->sizes[0]};

    if (!LAB__READABLE(out, t, index) || lab_numel(out) == 0)
        return;
    r.width = row_count(t) * (int64_t)lab__dtype_bytes(t->kind);
    r.index = lab__data(index);
    r.to = lab__data(out);
    r.from = lab__data(t);
    lab__parallel(lab_session(t), lab_numel(index), 1 + LAB__GRAIN / r.width,
                  gather_piece, &r);
}

/* An index may occur twice, so rows are added sequentially. */
void lab__rows_add(lab_tensor *t, const lab_tensor *grad,
                   const lab_tensor *index)
{
    struct rows r = {.rows = t->sizes[0], .width = row_count(t)};
    int64_t count = lab_numel(index);

    if (!LAB__READABLE(t, grad, index) || lab_numel(grad) == 0)
        return;
    r.index = lab__data(index);
    for (int64_t i = 0; i < count; i++) {
        float *to = lab__floats(t) + row_at(&r, i) * r.width;
        const float *from = lab__floats(grad) + i * r.width;

        for (int64_t j = 0; j < r.width; j++)
            to[j] += from[j];
    }
}
