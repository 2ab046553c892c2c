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
    LAB__OWNED lab_tensor *leaf = NULL;

    LAB__TRY(lab__tensor_alias(input, &leaf));
    LAB__TRY(lab_set_requires_grad(leaf, true));
    return lab__give(&leaf, out);
}

static larder_result backward(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *leaf = NULL, *out = NULL;

    LAB__TRY(make_leaf(lab__saved(b, 0), &leaf));
    LAB__TRY(run_recorded(b->node->extra, leaf, &out));
    LAB__TRY(lab_backward(out, b->grads[0], false));
    if (lab_grad(leaf) != NULL)
        b->results[0] = lab_ref(lab_grad(leaf));
    return LARDER_OK;
}

/* ---- the first run ------------------------------------------------------ */

/* The segment may return its input or a parameter, so the result gets a history
 * of its own. */
static larder_result run_unrecorded(const struct segment *segment,
                                    lab_tensor *input, lab_tensor **out)
{
    lab *l = input->storage->session;
    bool recorded = lab_set_grad_enabled(l, false);
    LAB__OWNED lab_tensor *got = NULL;
    larder_result r = segment->fn(segment->context, input, &got);

    lab_set_grad_enabled(l, recorded);
    LAB__TRY(r);
    if (got->refs == 1 && got->meta == NULL)
        return lab__give(&got, out);
    return lab__tensor_alias(got, out);
}

/* On success it takes over the segment. */
static larder_result recompute_record(struct segment *segment,
                                      lab_tensor *input, lab_tensor *out)
{
    const struct lab__recording what = {.name = "CheckpointFunctionBackward",
                                        .backward = backward,
                                        LAB__INPUTS(input),
                                        LAB__SAVES(input)};
    struct lab__node *node;
    larder_result r;

    LAB__TRY(lab__node_new(input->storage->session, &what, 1, &node));
    r = lab__node_set_output(node, 0, out);
    if (r == LARDER_OK) {
        node->extra = segment;
        node->drop = drop;
    }
    lab__node_unref(node);
    return r;
}

static larder_result checkpoint(struct segment *segment, lab_tensor *input,
                                bool *is_taken, lab_tensor **out)
{
    LAB__OWNED lab_tensor *got = NULL;

    LAB__TRY(run_unrecorded(segment, input, &got));
    if (lab__records(input->storage->session, 1, &input)) {
        LAB__TRY(recompute_record(segment, input, got));
        *is_taken = true;
    }
    return lab__give(&got, out);
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
