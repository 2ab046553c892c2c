/* join.c - joins several tensors into one. */
#include "ops/op.h"

/* A tensor with one dimension of size 0 joins with anything: the legacy empty
 * list. */
static bool is_nothing(int ndim, const int64_t *sizes)
{
    return ndim == 1 && sizes[0] == 0;
}

/* ---- cat ---------------------------------------------------------------- */

static larder_result cat_back(const struct lab__back *b)
{
    lab_tensor *grad = b->grads[0];
    int dim = (int)b->node->integer[0];
    int64_t at = 0;

    for (unsigned i = 0; i < b->node->edges; i++) {
        const struct lab__edge *edge = &b->node->edge[i];
        bool skip = is_nothing(edge->ndim, edge->sizes);

        if (skip && edge->node != NULL)
            LAB__TRY(lab__zeros_of(grad, 1, edge->sizes, &b->results[i]));
        else if (edge->node != NULL)
            LAB__TRY(lab_slice(grad, dim, at, at + edge->sizes[dim], 1,
                               &b->results[i]));
        at += skip ? 0 : edge->sizes[dim];
    }
    return LARDER_OK;
}

static larder_result list_check(const char *op, lab_tensor *const *ts,
                                int count)
{
    if (count < 1)
        return lab__invalid("%s: expected a non-empty list of tensors", op);
    for (int i = 1; i < count; i++) {
        LAB__TRY(lab__check_place(op, ts[0], ts[i]));
        if (ts[i]->dtype != ts[0]->dtype) {
            return lab__invalid(
                "%s: tensors of one dtype are expected, not %s and %s", op,
                lab__dtype_name(ts[0]->dtype), lab__dtype_name(ts[i]->dtype));
        }
    }
    return LARDER_OK;
}

static larder_result cat_mismatch(const lab_tensor *a, const lab_tensor *b,
                                  int dim)
{
    char first[LAB__SHAPE_TEXT], other[LAB__SHAPE_TEXT];

    return lab__invalid(
        "cat: Sizes of tensors must match except in dimension %d: %s and %s",
        dim, lab__shape_text(a->ndim, a->sizes, first),
        lab__shape_text(b->ndim, b->sizes, other));
}

static bool joins(const lab_tensor *a, const lab_tensor *b, int dim)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++) {
        if (i != dim && a->sizes[i] != b->sizes[i])
            return false;
    }
    return true;
}

/* The first tensor that is not such an empty one, otherwise the first. */
static const lab_tensor *model_of(lab_tensor *const *ts, int count)
{
    for (int i = 0; i < count; i++) {
        if (!is_nothing(ts[i]->ndim, ts[i]->sizes))
            return ts[i];
    }
    return ts[0];
}

static larder_result cat_sizes(lab_tensor *const *ts, int count, int *dim,
                               const lab_tensor **model,
                               int64_t sizes[LAB_MAX_DIMS])
{
    const lab_tensor *m = *model = model_of(ts, count);

    if (m->ndim == 0)
        return lab__invalid("cat: tensors without dimensions cannot be joined");
    LAB__TRY(lab__check_dim("cat", m, dim));
    for (int i = 0; i < m->ndim; i++)
        sizes[i] = m->sizes[i];
    sizes[*dim] = 0;
    for (int i = 0; i < count; i++) {
        if (is_nothing(ts[i]->ndim, ts[i]->sizes))
            continue;
        if (!joins(m, ts[i], *dim))
            return cat_mismatch(m, ts[i], *dim);
        sizes[*dim] += ts[i]->sizes[*dim];
        if (lab__reach(m->ndim, sizes) < 0)
            return lab__invalid("cat: the elements are too many to count");
    }
    return LARDER_OK;
}

/* Copy each to its window of `made`. */
static larder_result put_all(lab_tensor *made, lab_tensor *const *ts, int count,
                             int dim)
{
    int64_t at = 0;

    for (int i = 0; i < count; i++) {
        LAB__OWNED lab_tensor *window = NULL;
        int64_t end;

        if (is_nothing(ts[i]->ndim, ts[i]->sizes))
            continue;
        end = at + ts[i]->sizes[dim];
        LAB__TRY(lab_slice(made, dim, at, end, 1, &window));
        LAB__TRY(lab__copy(window, ts[i]));
        at = end;
    }
    return LARDER_OK;
}

larder_result lab_cat(lab_tensor *const *ts, int count, int dim,
                      lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    const lab_tensor *model;
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(list_check("cat", ts, count));
    LAB__TRY(cat_sizes(ts, count, &dim, &model, sizes));
    LAB__TRY(lab__tensor_of(model, model->ndim, sizes, &made));
    LAB__TRY(put_all(made, ts, count, dim));
    return lab__recorded(&(struct lab__recording){.name = "CatBackward0",
                                                  .backward = cat_back,
                                                  .count = (unsigned)count,
                                                  .inputs = ts,
                                                  .integer = {dim}},
                         &made, out);
}

/* ---- stack -------------------------------------------------------------- */

static larder_result stack_back(const struct lab__back *b)
{
    int dim = (int)b->node->integer[0];

    for (unsigned i = 0; i < b->node->edges; i++) {
        if (lab__wants(b, i))
            LAB__TRY(lab_select(b->grads[0], dim, i, &b->results[i]));
    }
    return LARDER_OK;
}

static larder_result stack_check(lab_tensor *const *ts, int count, int *dim)
{
    char first[LAB__SHAPE_TEXT], other[LAB__SHAPE_TEXT];

    for (int i = 1; i < count; i++) {
        if (!lab__same_sizes(ts[0], ts[i])) {
            return lab__invalid(
                "stack: expects each tensor to be of equal size: %s and %s",
                lab__shape_text(ts[0]->ndim, ts[0]->sizes, first),
                lab__shape_text(ts[i]->ndim, ts[i]->sizes, other));
        }
    }
    if (ts[0]->ndim == LAB_MAX_DIMS || *dim > ts[0]->ndim ||
        *dim < -ts[0]->ndim - 1) {
        return lab__invalid(
            "stack: dimension %d is out of range for tensors of %d dimensions",
            *dim, ts[0]->ndim);
    }
    if (*dim < 0)
        *dim += ts[0]->ndim + 1;
    return LARDER_OK;
}

larder_result lab_stack(lab_tensor *const *ts, int count, int dim,
                        lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(list_check("stack", ts, count));
    LAB__TRY(stack_check(ts, count, &dim));
    sizes[dim] = count;
    for (int i = 0; i < ts[0]->ndim; i++)
        sizes[i < dim ? i : i + 1] = ts[0]->sizes[i];
    LAB__TRY(lab__tensor_of(ts[0], ts[0]->ndim + 1, sizes, &made));
    for (int i = 0; i < count; i++) {
        LAB__OWNED lab_tensor *window = NULL;

        LAB__TRY(lab_select(made, dim, i, &window));
        LAB__TRY(lab__copy(window, ts[i]));
    }
    return lab__recorded(&(struct lab__recording){.name = "StackBackward0",
                                                  .backward = stack_back,
                                                  .count = (unsigned)count,
                                                  .inputs = ts,
                                                  .integer = {dim}},
                         &made, out);
}
