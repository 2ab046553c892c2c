/* splitting.c - splits a tensor into several views with one node. */
#include "ops/op.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

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
    return lab__zeros_of(like, n, sizes, out);
}

/* A reference to each gradient, or zeros if none arrived. */
static larder_result splitting_gather(const struct lab__back *b,
                                      lab_tensor **pieces,
                                      const lab_tensor *like)
{
    for (unsigned i = 0; i < b->node->outputs; i++) {
        if (b->grads[i] != NULL)
            pieces[i] = lab_ref(b->grads[i]);
        else
            LAB__TRY(zeros_for_piece(b->node, i, like, &pieces[i]));
    }
    return LARDER_OK;
}

static const lab_tensor *any_of(lab_tensor *const *grads)
{
    while (*grads == NULL)
        grads++;
    return *grads;
}

static larder_result join_back(const struct lab__back *b)
{
    int count = (int)b->node->outputs, dim = (int)b->node->integer[0];
    size_t bytes = b->node->outputs * sizeof(lab_tensor *);
    lab_tensor **pieces = lab__host_zeroed(bytes);
    larder_result r;

    if (pieces == NULL)
        return lab__fail_host(bytes);
    r = splitting_gather(b, pieces, any_of(b->grads));
    if (r == LARDER_OK)
        r = b->node->integer[1] != 0
                ? lab_cat(pieces, count, dim, &b->results[0])
                : lab_stack(pieces, count, dim, &b->results[0]);
    splitting_drop_all(pieces, count);
    lab__host_free(pieces);
    return r;
}

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
    const struct lab__recording what = {.name = length != 0 ? "SplitBackward0"
                                                            : "UnbindBackward0",
                                        .backward = join_back,
                                        LAB__INPUTS(t),
                                        .integer = {dim, length}};
    struct lab__node *node;
    larder_result r = LARDER_OK;

    if (count == 0 || !lab__records(l, 1, &t))
        return LARDER_OK;
    LAB__TRY(lab__node_new(l, &what, (unsigned)count, &node));
    for (int i = 0; r == LARDER_OK && i < count; i++)
        r = lab__node_set_output(node, (unsigned)i, outs[i]);
    lab__node_unref(node);
    return r;
}

static larder_result make_unrecorded(lab_tensor *t, int dim, int64_t length,
                                     lab_tensor **made, int count)
{
    LAB__RECORDING(lab_session(t), false);

    for (int i = 0; i < count; i++)
        LAB__TRY(make_piece(t, dim, length, i, &made[i]));
    return LARDER_OK;
}

/* outs is written only after everything has succeeded. */
static larder_result make_pieces(lab_tensor *t, int dim, int64_t length,
                                 lab_tensor **outs, int count)
{
    size_t bytes = (size_t)count * sizeof(lab_tensor *);
    lab_tensor **made = lab__host_zeroed(bytes);
    larder_result r;

    if (made == NULL)
        return lab__fail_host(bytes);
    r = make_unrecorded(t, dim, length, made, count);
    if (r == LARDER_OK)
        r = splitting_record(t, dim, length, made, count);
    if (r == LARDER_OK)
        memcpy(outs, made, bytes);
    else
        splitting_drop_all(made, count);
    lab__host_free(made);
    return r;
}

larder_result lab_chunk(lab_tensor *t, int count, int dim, lab_tensor **outs,
                        int *made)
{
    int64_t size, length;
    int pieces;

    LAB__TRY(lab__check_part_dim("chunk", t, &dim));
    if (count < 1) {
        return lab__invalid(
            "chunk: the number of pieces must be positive, not %d", count);
    }
    size = t->sizes[dim];
    length = size == 0 ? 1 : (size - 1) / count + 1;
    pieces = size == 0 ? count : (int)((size - 1) / length + 1);
    LAB__TRY(make_pieces(t, dim, length, outs, pieces));
    *made = pieces;
    return LARDER_OK;
}

larder_result lab_unbind(lab_tensor *t, int dim, lab_tensor **outs)
{
    LAB__TRY(lab__check_part_dim("unbind", t, &dim));
    if (t->sizes[dim] > INT_MAX) {
        return lab__invalid("unbind: %" PRId64 " tensors are too many",
                            t->sizes[dim]);
    }
    return make_pieces(t, dim, 0, outs, (int)t->sizes[dim]);
}
