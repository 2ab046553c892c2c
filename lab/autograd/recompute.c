/* recompute.c - checkpointing: runs a part of the model again instead of
 * keeping what it saves. */
#include "tensor/tensor.h"

#include "tensor/host_memory.h"
#include "tensor/rng.h"

struct segment {
    lab_segment_fn fn;
    void *context;
    void (*release)(void *context);
    struct lab__rng rng; /* as it was before the first run */
};

static void segment_end(void *context)
{
    struct segment *segment = context;

    if (segment->release != NULL)
        segment->release(segment->context);
    lab__host_free(segment);
}

/* ---- the second run ----------------------------------------------------- */

static larder_result run_recorded(const struct segment *segment,
                                  lab_tensor *input, lab_tensor **out)
{
    LAB__RECORDING(lab_session(input), true);
    struct lab__rng *rng = lab_session(input)->rng, now = *rng;
    larder_result r;

    *rng = segment->rng;
    r = segment->fn(segment->context, input, out);
    *rng = now;
    return r;
}

/* The segment's graph ends at an alias of the input that is a leaf. */
static larder_result backward(void *segment, lab_tensor *const *saved,
                              lab_tensor *const *grads, lab_tensor **results)
{
    LAB__OWNED lab_tensor *leaf = NULL, *out = NULL;

    LAB__TRY(lab__tensor_alias(saved[0], &leaf));
    LAB__TRY(lab_set_requires_grad(leaf, true));
    LAB__TRY(run_recorded(segment, leaf, &out));
    LAB__TRY(lab_backward(out, grads[0], false));
    if (lab_grad(leaf) != NULL)
        results[0] = lab_ref(lab_grad(leaf));
    return LARDER_OK;
}

/* ---- the first run ------------------------------------------------------ */

/* The segment may return its input or a parameter, so the result gets a history
 * of its own. */
static larder_result run_unrecorded(const struct segment *segment,
                                    lab_tensor *input, lab_tensor **out)
{
    LAB__RECORDING(lab_session(input), false);
    LAB__OWNED lab_tensor *got = NULL;

    LAB__TRY(segment->fn(segment->context, input, &got));
    if (got->refs == 1 && got->meta == NULL)
        return lab__give(&got, out);
    return lab__tensor_alias(got, out);
}

/* Takes over the segment. */
static larder_result checkpoint(struct segment *segment, lab_tensor *input,
                                lab_tensor **out)
{
    LAB__OWNED lab_tensor *got = NULL;
    larder_result r = run_unrecorded(segment, input, &got);

    if (r != LARDER_OK) {
        segment_end(segment);
        return r;
    }
    LAB__TRY(lab_function_record(
        input->storage->session,
        &(lab_function){.size = sizeof(lab_function),
                        .name = "CheckpointFunctionBackward",
                        .backward = backward,
                        .context = segment,
                        .release = segment_end,
                        .inputs = &input,
                        .input_count = 1,
                        .saved = &input,
                        .saved_count = 1,
                        .outputs = &got,
                        .output_count = 1}));
    return lab__give(&got, out);
}

larder_result lab_checkpoint(lab_segment_fn fn, void *context,
                             void (*release)(void *context), lab_tensor *input,
                             lab_tensor **out)
{
    struct segment *segment = lab__host_alloc(sizeof *segment);

    if (segment == NULL) {
        if (release != NULL)
            release(context);
        return lab__fail_host(sizeof *segment);
    }
    *segment =
        (struct segment){fn, context, release, *input->storage->session->rng};
    return checkpoint(segment, input, out);
}
