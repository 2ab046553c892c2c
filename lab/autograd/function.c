/* function.c - operations defined by the caller: the results exist already, and
 * backward is a function of the caller's. */
#include "autograd/node.h"

#include <stdio.h>

#include "tensor/host_memory.h"

enum { NAME_MAX_BYTES = 64 };

struct function {
    lab_function_backward fn;
    void *context;
    void (*release)(void *context);
    char name[NAME_MAX_BYTES];
};

static void drop(struct lab__node *node)
{
    struct function *f = node->extra;

    if (f->release != NULL)
        f->release(f->context);
    lab__host_free(f);
}

static larder_result backward(const struct lab__back *b)
{
    const struct function *f = b->node->extra;

    return f->fn(f->context, b->node->saved, b->grads, b->results);
}

static larder_result node_new(lab *l, const lab_function *what,
                              struct lab__node **out)
{
    struct function *f = lab__host_zeroed(sizeof *f);
    struct lab__recording recording = {.backward = backward,
                                       .count = what->input_count,
                                       .inputs = what->inputs,
                                       .saves = what->saved_count,
                                       .saved = what->saved};
    larder_result r;

    if (f == NULL)
        return lab__fail_host(sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", what->name);
    f->fn = what->backward;
    f->context = what->context;
    f->release = what->release;
    recording.name = f->name;
    r = lab__node_new(l, &recording, what->output_count, out);
    if (r != LARDER_OK) {
        lab__host_free(f);
        return r;
    }
    (*out)->extra = f; /* from here on the node releases it */
    (*out)->drop = drop;
    return LARDER_OK;
}

static larder_result function_record(lab *l, const lab_function *what,
                                     bool *is_taken)
{
    struct lab__node *node;
    larder_result r = LARDER_OK;

    LAB__TRY(node_new(l, what, &node));
    *is_taken = true;
    for (unsigned i = 0; i < what->output_count && r == LARDER_OK; i++) {
        if (what->outputs[i] != NULL)
            r = lab__node_set_output(node, i, what->outputs[i]);
    }
    lab__node_unref(node);
    return r;
}

static larder_result outputs_check(const lab_function *what)
{
    for (unsigned i = 0; i < what->output_count; i++) {
        const lab_tensor *t = what->outputs[i];

        if (t != NULL && t->kind == LAB_FLOAT32 && lab_is_leaf(t) &&
            lab_requires_grad(t))
            return lab__invalid("%s: a leaf that requires grad is being used "
                                "in an in-place operation",
                                what->name);
    }
    return LARDER_OK;
}

static larder_result function_check(const lab_function *what)
{
    if (what->size == sizeof *what)
        return LARDER_OK;
    return lab__invalid("lab_function has %zu bytes, this library's has %zu",
                        what->size, sizeof *what);
}

larder_result lab_function_record(lab *l, const lab_function *what)
{
    bool is_taken = false;
    larder_result r = function_check(what);

    if (r == LARDER_OK && lab__records(l, what->input_count, what->inputs)) {
        r = outputs_check(what);
        if (r == LARDER_OK)
            r = function_record(l, what, &is_taken);
    }
    if (!is_taken && what->release != NULL)
        what->release(what->context);
    return r;
}
