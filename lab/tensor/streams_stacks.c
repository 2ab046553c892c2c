/* streams_stacks.c - streams, and the program's call stacks for the allocator's
 * history. */
#include "tensor/tensor.h"

#include <string.h>

#include <larder/history.h>

#include "tensor/host_memory.h"

/* ---- streams ------------------------------------------------------------ */

larder_stream lab_set_stream(lab *l, larder_stream stream)
{
    larder_stream was = l->stream;

    l->stream = stream;
    return was;
}

larder_stream lab_stream(lab *l)
{
    return l->stream;
}

larder_result lab_record_stream(lab_tensor *t, larder_stream stream)
{
    const struct lab__storage *s = t->storage;

    if (s->place == LAB_HOST || s->bytes == 0)
        return LARDER_OK;
    return lab__of_larder(
        larder_record_stream(s->session->allocator, s->address, stream));
}

/* ---- stacks ------------------------------------------------------------- */

/* The allocator calls this with its lock held; the stack was captured before
 * that (storage.c). */
static size_t stack_give(void *ctx, uint64_t *frames, size_t capacity)
{
    const lab *l = ctx;
    size_t n = l->stack_depth < capacity ? l->stack_depth : capacity;

    memcpy(frames, l->stack, n * sizeof *frames);
    return n;
}

static larder_result stack_room(lab *l)
{
    size_t bytes = LARDER_STACK_DEPTH_MAX * sizeof *l->stack;

    if (l->stack == NULL)
        l->stack = lab__host_zeroed(bytes);
    return l->stack != NULL ? LARDER_OK : lab__fail_host(bytes);
}

larder_result lab_history_start(lab *l, const larder_history_options *opt,
                                lab_stack_fn stack, larder_frame_fn *name,
                                void *context)
{
    larder_history_options own;

    LAB__TRY(stack_room(l));
    larder_history_options_init(&own);
    if (opt != NULL)
        own = *opt;
    own.stacks = stack != NULL ? LARDER_STACKS_CALLBACK : LARDER_STACKS_OFF;
    own.stack_fn = stack != NULL ? stack_give : NULL;
    own.stack_ctx = l;
    LAB__TRY(
        lab__of_larder(larder_set_frame_resolver(l->allocator, name, context)));
    LAB__TRY(lab__of_larder(larder_history_start(l->allocator, &own)));
    l->stack_fn = stack;
    l->stack_context = context;
    return LARDER_OK;
}

larder_result lab_history_stop(lab *l)
{
    l->stack_fn = NULL;
    return lab__of_larder(larder_history_stop(l->allocator));
}
