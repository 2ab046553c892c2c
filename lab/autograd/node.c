/* node.c - the graph that backward traverses. */
#include "autograd/node.h"

#include "autograd/hook.h"
#include "tensor/host_memory.h"

/* ---- creating ----------------------------------------------------------- */

bool lab__records(lab *l, unsigned count, lab_tensor *const *inputs)
{
    if (!l->grad_enabled)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (inputs[i] != NULL && lab_requires_grad(inputs[i]))
            return true;
    }
    return false;
}

static larder_result edge_to(struct lab__edge *edge, lab_tensor *t)
{
    if (t == NULL)
        return LARDER_OK;
    edge->ndim = t->ndim;
    edge->dtype = t->dtype;
    edge->place = (unsigned char)t->storage->place;
    for (int i = 0; i < t->ndim; i++)
        edge->sizes[i] = t->sizes[i];
    return lab__node_of(t, &edge->node, &edge->output);
}

larder_result lab__node_new(lab *l, const struct lab__node_kind *kind,
                            unsigned count, lab_tensor *const *inputs,
                            unsigned outputs, struct lab__node **out)
{
    size_t bytes = sizeof(struct lab__node) + count * sizeof(struct lab__edge);
    struct lab__node *node = lab__host_zeroed(bytes);

    if (node == NULL)
        return lab__fail_host(bytes);
    node->refs = 1;
    node->session = l;
    node->kind = kind;
    node->outputs = outputs;
    node->edges = count;
    node->hooks = &node->own_hooks;
    node->edge = (struct lab__edge *)(node + 1);
    for (unsigned i = 0; i < count; i++) {
        larder_result r = edge_to(&node->edge[i], inputs[i]);

        if (r != LARDER_OK) {
            lab__node_unref(node);
            return r;
        }
    }
    node->sequence = l->next_node++;
    *out = node;
    return LARDER_OK;
}

struct lab__node *lab__node_ref(struct lab__node *node)
{
    node->refs++;
    return node;
}

/* ---- saving tensors ----------------------------------------------------- */

larder_result lab__node_saves(struct lab__node *node, unsigned count)
{
    size_t bytes;

    if (count <= LAB__MAX_SAVED)
        return LARDER_OK;
    bytes = (count - LAB__MAX_SAVED) * sizeof *node->more;
    node->more = lab__host_zeroed(bytes);
    if (node->more == NULL)
        return lab__fail_host(bytes);
    node->more_count = count - LAB__MAX_SAVED;
    return LARDER_OK;
}

static struct lab__saved *node_slot_of(struct lab__node *node, unsigned slot)
{
    return slot < LAB__MAX_SAVED ? &node->saved[slot]
                                 : &node->more[slot - LAB__MAX_SAVED];
}

larder_result lab__node_save(struct lab__node *node, unsigned slot,
                             lab_tensor *t)
{
    struct lab__saved *saved = node_slot_of(node, slot);
    larder_result r;

    if (t == NULL)
        return LARDER_OK;
    r = lab__tensor_alias(t, &saved->tensor);
    if (r != LARDER_OK)
        return r;
    saved->tensor->storage->saved++;
    saved->version = t->storage->version;
    saved->was_set = true;
    return LARDER_OK;
}

larder_result lab__node_saved(struct lab__node *node, unsigned slot,
                              lab_tensor **out)
{
    const struct lab__saved *saved = node_slot_of(node, slot);
    char shape[LAB__SHAPE_TEXT];

    if (saved->was_set && saved->tensor == NULL) {
        return lab__fail(
            LARDER_ERR_INVALID,
            "backward through the graph a second time: what %s saved was let "
            "go by the first; keep it with retain_graph=True",
            node->kind->name);
    }
    if (saved->was_set && saved->tensor->storage->version != saved->version) {
        return lab__fail(
            LARDER_ERR_INVALID,
            "a tensor that the gradient needs was modified in place: of sizes "
            "%s, saved by %s at version %u, now at version %u",
            lab__shape_text(saved->tensor->ndim, saved->tensor->sizes, shape),
            node->kind->name, saved->version, saved->tensor->storage->version);
    }
    *out = saved->tensor;
    return LARDER_OK;
}

void lab__node_release(struct lab__node *node)
{
    for (unsigned i = 0; i < LAB__MAX_SAVED + node->more_count; i++) {
        struct lab__saved *saved = node_slot_of(node, i);
        lab_tensor *t = saved->tensor;

        if (t == NULL)
            continue;
        saved->tensor = NULL;
        t->storage->saved--;
        lab_unref(t);
    }
}

/* ---- freeing ------------------------------------------------------------ */

/* The nodes to be freed form a stack: the last input's come first, as in
 * PyTorch. */
static void node_end(struct lab__node *node, struct lab__node **dying)
{
    lab__hooks_end(&node->own_hooks);
    lab__node_release(node);
    if (node->kind->drop != NULL)
        node->kind->drop(node);
    for (unsigned i = 0; i < node->edges; i++) {
        struct lab__node *next = node->edge[i].node;

        if (next != NULL && --next->refs == 0) {
            next->dying = *dying;
            *dying = next;
        }
    }
    lab__host_free(node->retain);
    lab__host_free(node->more);
    lab__host_free(node);
}

void lab__node_unref(struct lab__node *node)
{
    struct lab__node *dying = NULL;

    if (node == NULL || --node->refs != 0)
        return;
    for (node_end(node, &dying); dying != NULL; node_end(node, &dying)) {
        node = dying;
        dying = node->dying;
    }
}

/* ---- outputs ------------------------------------------------------------ */

/* A retained gradient belongs to the tensor, not to the operation that created
 * it before. */
static void retain_move(struct lab__meta *meta, struct lab__node *node,
                        unsigned output)
{
    lab_tensor *t = meta->grad_fn->retain[meta->output];

    meta->grad_fn->retain[meta->output] = NULL;
    node->retain[output] = t;
}

static larder_result retain_room(struct lab__node *node)
{
    size_t bytes = node->outputs * sizeof(lab_tensor *);

    if (node->retain != NULL)
        return LARDER_OK;
    node->retain = lab__host_zeroed(bytes);
    return node->retain != NULL ? LARDER_OK : lab__fail_host(bytes);
}

larder_result lab__node_set_output(struct lab__node *node, unsigned output,
                                   lab_tensor *t)
{
    struct lab__meta *meta;
    larder_result r = lab__meta_of(t, &meta);

    if (r == LARDER_OK && meta->retains_grad)
        r = retain_room(node);
    if (r != LARDER_OK)
        return r;
    if (meta->retains_grad)
        retain_move(meta, node, output);
    lab__node_ref(node);
    lab__node_unref(meta->grad_fn);
    meta->grad_fn = node;
    meta->output = output;
    return LARDER_OK;
}

larder_result lab__node_attach(struct lab__node *node, lab_tensor *t)
{
    larder_result r = lab__node_set_output(node, 0, t);

    lab__node_unref(node);
    return r;
}

larder_result lab__record(const struct lab__node_kind *kind, unsigned count,
                          lab_tensor *const *inputs, lab_tensor *out,
                          struct lab__node **node)
{
    lab *l = out->storage->session;
    struct lab__node *made;
    larder_result r;

    if (node != NULL)
        *node = NULL;
    if (!lab__records(l, count, inputs))
        return LARDER_OK;
    r = lab__node_new(l, kind, count, inputs, 1, &made);
    if (r != LARDER_OK)
        return r;
    r = lab__node_attach(made, out);
    if (r == LARDER_OK && node != NULL)
        *node = made;
    return r;
}

larder_result lab__node_retain(struct lab__node *node, unsigned output,
                               lab_tensor *t)
{
    larder_result r = retain_room(node);

    if (r == LARDER_OK)
        node->retain[output] = t;
    return r;
}

lab_tensor *lab__grad_take(lab_tensor **grads, unsigned i)
{
    return lab_ref(grads[i]);
}
