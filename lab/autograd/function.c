/* function.c - operations defined by the caller: the results exist already, and
 * backward is a function of the caller's. */
#include "autograd/node.h"

#include <stdio.h>

#include "tensor/host_memory.h"

enum { NAME_MAX_BYTES = 64 };

struct function {
    struct lab__node_kind kind; /* with the name below */
    lab_function_backward fn;
    void *context;
    void (*release)(void *context);
    unsigned saved;
    char name[NAME_MAX_BYTES];
};

/* ---- backward ----------------------------------------------------------- */

/* Without the function if the node could not be created completely. */
static void drop(struct lab__node *node)
{
    struct function *f = node->extra;

    if (f == NULL)
        return;
    if (f->release != NULL)
        f->release(f->context);
    lab__host_free(f);
}

static larder_result saved_get(struct lab__node *node, lab_tensor **saved,
                               unsigned count)
{
    larder_result r = LARDER_OK;

    for (unsigned i = 0; i < count && r == LARDER_OK; i++)
        r = lab__node_saved(node, i, &saved[i]);
    return r;
}

static larder_result backward(struct lab__node *node, lab_tensor **grads,
                              lab_tensor **results)
{
    const struct function *f = node->extra;
    size_t bytes = f->saved * sizeof(lab_tensor *);
    lab_tensor **saved = lab__host_zeroed(bytes);
    larder_result r;

    if (saved == NULL)
        return lab__fail_host(bytes);
    r = saved_get(node, saved, f->saved);
    if (r == LARDER_OK)
        r = f->fn(f->context, saved, grads, results);
    lab__host_free(saved);
    return r;
}

/* ---- recording ---------------------------------------------------------- */

static struct function *function_new(const lab_function *what)
{
    struct function *f = lab__host_zeroed(sizeof *f);

    if (f == NULL)
        return NULL;
    snprintf(f->name, sizeof f->name, "%s", what->name);
    f->kind = (struct lab__node_kind){f->name, backward, drop};
    f->fn = what->backward;
    f->context = what->context;
    f->release = what->release;
    f->saved = what->saved_count;
    return f;
}

static larder_result fill_in(struct lab__node *node, const lab_function *what)
{
    larder_result r = lab__node_saves(node, what->saved_count);

    for (unsigned i = 0; i < what->saved_count && r == LARDER_OK; i++)
        r = lab__node_save(node, i, what->saved[i]);
    for (unsigned i = 0; i < what->output_count && r == LARDER_OK; i++) {
        if (what->outputs[i] != NULL)
            r = lab__node_set_output(node, i, what->outputs[i]);
    }
    return r;
}

static larder_result function_record(lab *l, const lab_function *what,
                                     bool *is_taken)
{
    struct function *f = function_new(what);
    struct lab__node *node;
    larder_result r;

    if (f == NULL)
        return lab__fail_host(sizeof *f);
    r = lab__node_new(l, &f->kind, what->input_count, what->inputs,
                      what->output_count, &node);
    if (r != LARDER_OK) {
        lab__host_free(f);
        return r;
    }
    node->extra = f; /* from here on the node releases it */
    *is_taken = true;
    r = fill_in(node, what);
    lab__node_unref(node);
    return r;
}

static larder_result outputs_check(const lab_function *what)
{
    for (unsigned i = 0; i < what->output_count; i++) {
        const lab_tensor *t = what->outputs[i];

        if (t != NULL && t->kind == LAB_FLOAT32 && lab_is_leaf(t) &&
            lab_requires_grad(t))
            return lab__fail(LARDER_ERR_INVALID,
                             "%s: a leaf that requires grad is being used in "
                             "an operation in place",
                             what->name);
    }
    return LARDER_OK;
}

larder_result lab_function_record(lab *l, const lab_function *what)
{
    bool is_taken = false;
    larder_result r = LARDER_OK;

    if (what->size != sizeof *what)
        r = lab__fail(LARDER_ERR_INVALID,
                      "lab_function of %zu bytes, this library's has %zu",
                      what->size, sizeof *what);
    else if (lab__records(l, what->input_count, what->inputs))
        r = outputs_check(what);
    else
        goto done;
    if (r == LARDER_OK)
        r = function_record(l, what, &is_taken);
done:
    if (!is_taken && what->release != NULL)
        what->release(what->context);
    return r;
}
