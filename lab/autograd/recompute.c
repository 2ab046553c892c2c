/* recompute.c - checkpointing: runs a part of the model again instead of
 * keeping what it saves. */
#include "autograd/node.h"
#include "tensor/host_memory.h"
#include "tensor/rng.h"

struct segment {
    lab_segment_fn fn;
    void *context;
    void (*release)(void *context);
    struct lab__rng rng; /* as it was before the first run */
};

static void segment_end(struct segment *segment)
{
    if (segment->release != NULL)
        segment->release(segment->context);
    lab__host_free(segment);
}

static void drop(struct lab__node *node)
{
    if (node->extra != NULL)
        segment_end(node->extra);
}

/* ---- the second run ----------------------------------------------------- */

static larder_result run_recorded(const struct segment *segment,
                                  lab_tensor *input, lab_tensor **out)
{
    lab *l = input->storage->session;
    struct lab__rng now = *l->rng;
    bool recorded = lab_set_grad_enabled(l, true);
    larder_result r;

    *l->rng = segment->rng;
    r = segment->fn(segment->context, input, out);
    *l->rng = now;
    lab_set_grad_enabled(l, recorded);
    return r;
}

/* An alias of the input that is a leaf: the segment's graph ends there. */
static larder_result make_leaf(lab_tensor *input, lab_tensor **out)
{
    lab_tensor *leaf;
    larder_result r = lab__tensor_alias(input, &leaf);

    if (r != LARDER_OK)
        return r;
    r = lab_set_requires_grad(leaf, true);
    if (r != LARDER_OK) {
        lab_unref(leaf);
        return r;
    }
    *out = leaf;
    return LARDER_OK;
}

static larder_result backward(struct lab__node *node, lab_tensor **grads,
                              lab_tensor **results)
{
    lab_tensor *input, *leaf, *out = NULL;
    larder_result r = lab__node_saved(node, 0, &input);

    if (r == LARDER_OK)
        r = make_leaf(input, &leaf);
    if (r != LARDER_OK)
        return r;
    r = run_recorded(node->extra, leaf, &out);
    if (r == LARDER_OK)
        r = lab_backward(out, grads[0], false);
    if (r == LARDER_OK && lab_grad(leaf) != NULL)
        results[0] = lab_ref(lab_grad(leaf));
    lab_unref(out);
    lab_unref(leaf);
    return r;
}

static const struct lab__node_kind checkpoint_kind = {
    "CheckpointFunctionBackward", backward, drop};

/* ---- the first run ------------------------------------------------------ */

/* The segment may return its input or a parameter, so the result gets a history
 * of its own. */
static larder_result run_unrecorded(const struct segment *segment,
                                    lab_tensor *input, lab_tensor **out)
{
    lab *l = input->storage->session;
    bool recorded = lab_set_grad_enabled(l, false);
    lab_tensor *got;
    larder_result r = segment->fn(segment->context, input, &got);

    lab_set_grad_enabled(l, recorded);
    if (r != LARDER_OK)
        return r;
    if (got->refs == 1 && got->meta == NULL) {
        *out = got;
        return LARDER_OK;
    }
    r = lab__tensor_alias(got, out);
    lab_unref(got);
    return r;
}

/* On success it takes over the segment. */
static larder_result recompute_record(struct segment *segment,
                                      lab_tensor *input, lab_tensor *out)
{
    struct lab__node *node;
    larder_result r = lab__node_new(input->storage->session, &checkpoint_kind,
                                    1, &input, 1, &node);

    if (r != LARDER_OK)
        return r;
    node->extra = segment;
    r = lab__node_save(node, 0, input);
    if (r == LARDER_OK)
        r = lab__node_set_output(node, 0, out);
    if (r != LARDER_OK)
        node->extra = NULL;
    lab__node_unref(node);
    return r;
}

static larder_result checkpoint(struct segment *segment, lab_tensor *input,
                                bool *is_taken, lab_tensor **out)
{
    lab_tensor *got;
    larder_result r = run_unrecorded(segment, input, &got);

    if (r != LARDER_OK)
        return r;
    if (lab__records(input->storage->session, 1, &input)) {
        r = recompute_record(segment, input, got);
        *is_taken = r == LARDER_OK;
    }
    if (r != LARDER_OK) {
        lab_unref(got);
        return r;
    }
    *out = got;
    return LARDER_OK;
}

larder_result lab_checkpoint(lab_segment_fn fn, void *context,
                             void (*release)(void *context), lab_tensor *input,
                             lab_tensor **out)
{
    struct segment *segment = lab__host_alloc(sizeof *segment);
    bool is_taken = false;
    larder_result r;

    if (segment == NULL) {
        if (release != NULL)
            release(context);
        return lab__fail_host(sizeof *segment);
    }
    *segment =
        (struct segment){fn, context, release, *input->storage->session->rng};
    r = checkpoint(segment, input, &is_taken, out);
    if (!is_taken)
        segment_end(segment);
    return r;
}
