/* splitting.c - splits a tensor into several views with one node. */
#include "ops/op.h"

#include <inttypes.h>
#include <limits.h>

#include "tensor/host_memory.h"

static void splitting_drop_all(lab_tensor **ts, int count)
{
    for (int i = 0; i < count; i++)
        lab_unref(ts[i]);
}

/* ---- the gradient: join the pieces -------------------------------------- */

/* Zeros of the shape of piece i along dim. */
static larder_result zeros_for_piece(const struct lab__node *node, int64_t i,
                                     const lab_tensor *like, lab_tensor **out)
{
    const struct lab__edge *edge = &node->edge[0];
    int dim = (int)node->integer[0];
    int64_t length = node->integer[1], rest, sizes[LAB_MAX_DIMS];
    int n = 0;

    for (int k = 0; k < edge->ndim; k++) {
        if (k != dim || length != 0)
            sizes[n++] = edge->sizes[k];
    }
    if (length != 0) {
        rest = edge->sizes[dim] - i * length;
        sizes[dim] = rest < 0 ? 0 : rest < length ? rest : length;
    }
    return lab_zeros(node->session, (lab_dtype)like->dtype,
                     like->storage->place, n, sizes, out);
}

/* A reference to each gradient, or zeros if none arrived. */
static larder_result splitting_gather(const struct lab__node *node,
                                      lab_tensor **grads, lab_tensor **pieces,
                                      const lab_tensor *like)
{
    for (unsigned i = 0; i < node->outputs; i++) {
        larder_result r = LARDER_OK;

        if (grads[i] != NULL)
            pieces[i] = lab_ref(grads[i]);
        else
            r = zeros_for_piece(node, i, like, &pieces[i]);
        if (r != LARDER_OK) {
            splitting_drop_all(pieces, (int)i);
            return r;
        }
    }
    return LARDER_OK;
}

static const lab_tensor *any_of(lab_tensor **grads)
{
    while (*grads == NULL)
        grads++;
    return *grads;
}

static larder_result join_backward(struct lab__node *node, lab_tensor **grads,
                                   lab_tensor **results)
{
    int count = (int)node->outputs, dim = (int)node->integer[0];
    size_t bytes = node->outputs * sizeof(lab_tensor *);
    lab_tensor **pieces = lab__host_alloc(bytes);
    larder_result r;

    if (pieces == NULL)
        return lab__fail_host(bytes);
    r = splitting_gather(node, grads, pieces, any_of(grads));
    if (r == LARDER_OK) {
        r = node->integer[1] != 0 ? lab_cat(pieces, count, dim, &results[0])
                                  : lab_stack(pieces, count, dim, &results[0]);
        splitting_drop_all(pieces, count);
    }
    lab__host_free(pieces);
    return r;
}

static const struct lab__node_kind split_kind = {"SplitBackward0",
                                                 join_backward, NULL};
static const struct lab__node_kind unbind_kind = {"UnbindBackward0",
                                                  join_backward, NULL};

/* ---- making the views --------------------------------------------------- */

/* A view `length` long along dim; 0: a single slice without that dimension. */
static larder_result make_piece(lab_tensor *t, int dim, int64_t length,
                                int64_t i, lab_tensor **out)
{
    if (length == 0)
        return lab_select(t, dim, i, out);
    return lab_slice(t, dim, i * length, (i + 1) * length, 1, out);
}

static larder_result splitting_record(lab_tensor *t, int dim, int64_t length,
                                      lab_tensor **outs, int count)
{
    lab *l = t->storage->session;
    struct lab__node *node;
    larder_result r;

    if (count == 0 || !lab__records(l, 1, &t))
        return LARDER_OK;
    r = lab__node_new(l, length != 0 ? &split_kind : &unbind_kind, 1, &t,
                      (unsigned)count, &node);
    if (r != LARDER_OK)
        return r;
    node->integer[0] = dim;
    node->integer[1] = length;
    for (int i = 0; r == LARDER_OK && i < count; i++)
        r = lab__node_set_output(node, (unsigned)i, outs[i]);
    lab__node_unref(node);
    return r;
}

static larder_result make_unrecorded(lab_tensor *t, int dim, int64_t length,
                                     lab_tensor **made, int count)
{
    lab *l = t->storage->session;
    bool recorded = lab_set_grad_enabled(l, false);
    larder_result r = LARDER_OK;
    int n = 0;

    while (r == LARDER_OK && n < count) {
        r = make_piece(t, dim, length, n, &made[n]);
        n += r == LARDER_OK;
    }
    lab_set_grad_enabled(l, recorded);
    if (r != LARDER_OK)
        splitting_drop_all(made, n);
    return r;
}

/* outs is written only after everything has succeeded. */
static larder_result make_pieces(lab_tensor *t, int dim, int64_t length,
                                 lab_tensor **outs, int count)
{
    size_t bytes = (size_t)count * sizeof(lab_tensor *);
    lab_tensor **made = lab__host_alloc(bytes);
    larder_result r;

    if (made == NULL)
        return lab__fail_host(bytes);
    r = make_unrecorded(t, dim, length, made, count);
    if (r == LARDER_OK) {
        r = splitting_record(t, dim, length, made, count);
        if (r != LARDER_OK)
            splitting_drop_all(made, count);
    }
    for (int i = 0; r == LARDER_OK && i < count; i++)
        outs[i] = made[i];
    lab__host_free(made);
    return r;
}

larder_result lab_chunk(lab_tensor *t, int count, int dim, lab_tensor **outs,
                        int *made)
{
    int64_t size, length;
    int pieces;
    larder_result r = lab__check_part_dim("chunk", t, &dim);

    if (r != LARDER_OK)
        return r;
    if (count < 1) {
        return lab__fail(LARDER_ERR_INVALID,
                         "chunk: the number of pieces must be positive, not %d",
                         count);
    }
    size = t->sizes[dim];
    length = size == 0 ? 1 : (size - 1) / count + 1;
    pieces = size == 0 ? count : (int)((size - 1) / length + 1);
    r = make_pieces(t, dim, length, outs, pieces);
    if (r == LARDER_OK)
        *made = pieces;
    return r;
}

larder_result lab_unbind(lab_tensor *t, int dim, lab_tensor **outs)
{
    larder_result r = lab__check_part_dim("unbind", t, &dim);

    if (r != LARDER_OK)
        return r;
    if (t->sizes[dim] > INT_MAX) {
        return lab__fail(LARDER_ERR_INVALID,
                         "unbind: %" PRId64 " tensors are too many",
                         t->sizes[dim]);
    }
    return make_pieces(t, dim, 0, outs, (int)t->sizes[dim]);
}
