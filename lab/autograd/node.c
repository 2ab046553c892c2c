/* node.c - the graph that backward traverses. */
#include "autograd/node.h"

#include <string.h>

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
    edge->place = t->storage->place;
    for (int i = 0; i < t->ndim; i++)
        edge->sizes[i] = t->sizes[i];
    return lab__node_of(t, &edge->node, &edge->output);
}

static larder_result save(struct lab__node *node, unsigned slot, lab_tensor *t)
{
    if (t == NULL)
        return LARDER_OK;
    LAB__TRY(lab__tensor_alias(t, &node->saved[slot]));
    t->storage->saved++;
    node->version[slot] = t->storage->version;
    return LARDER_OK;
}

static larder_result fill_in(struct lab__node *node,
                             const struct lab__recording *what)
{
    for (unsigned i = 0; i < what->count; i++)
        LAB__TRY(edge_to(&node->edge[i], what->inputs[i]));
    for (unsigned i = 0; i < what->saves; i++)
        LAB__TRY(save(node, i, what->saved[i]));
    return LARDER_OK;
}

larder_result lab__node_new(lab *l, const struct lab__recording *what,
                            unsigned outputs, struct lab__node **out)
{
    size_t bytes = sizeof(struct lab__node) +
                   what->count * sizeof(struct lab__edge) +
                   what->saves * (sizeof(lab_tensor *) + sizeof(unsigned));
    struct lab__node *node = lab__host_zeroed(bytes);
    larder_result r;

    if (node == NULL)
        return lab__fail_host(bytes);
    node->refs = 1;
    node->session = l;
    node->name = what->name;
    node->backward = what->backward;
    node->outputs = outputs;
    node->edges = what->count;
    node->saves = what->saves;
    node->number = what->number;
    memcpy(node->integer, what->integer, sizeof node->integer);
    node->hooks = &node->own_hooks;
    node->edge = (struct lab__edge *)(node + 1);
    node->saved = (lab_tensor **)(void *)(node->edge + node->edges);
    node->version = (unsigned *)(void *)(node->saved + node->saves);
    r = fill_in(node, what);
    if (r != LARDER_OK) {
        lab__node_unref(node);
        return r;
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

/* ---- what was saved ----------------------------------------------------- */

larder_result lab__node_check(const struct lab__node *node)
{
    char shape[LAB__SHAPE_TEXT];

    if (node->was_released) {
        return lab__invalid(
            "backward through the graph a second time: what %s saved was freed "
            "by the first; keep it with retain_graph=True",
            node->name);
    }
    for (unsigned i = 0; i < node->saves; i++) {
        const lab_tensor *t = node->saved[i];

        if (t != NULL && t->storage->version != node->version[i]) {
            return lab__invalid(
                "a tensor that the gradient needs was modified in place: of "
                "sizes %s, saved by %s at version %u, now at version %u",
                lab__shape_text(t->ndim, t->sizes, shape), node->name,
                node->version[i], t->storage->version);
        }
    }
    return LARDER_OK;
}

void lab__node_release(struct lab__node *node)
{
    for (unsigned i = 0; i < node->saves; i++) {
        lab_tensor *t = node->saved[i];

        if (t == NULL)
            continue;
        node->saved[i] = NULL;
        node->was_released = true;
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
    if (node->drop != NULL)
        node->drop(node);
    for (unsigned i = 0; i < node->edges; i++) {
        struct lab__node *next = node->edge[i].node;

        if (next != NULL && --next->refs == 0) {
            next->dying = *dying;
            *dying = next;
        }
    }
    lab__host_free(node->retain);
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

    LAB__TRY(lab__meta_of(t, &meta));
    if (meta->retains_grad) {
        LAB__TRY(retain_room(node));
        retain_move(meta, node, output);
    }
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

larder_result lab__record(const struct lab__recording *what, lab_tensor *out)
{
    lab *l = out->storage->session;
    struct lab__node *node;

    if (out->kind != LAB_FLOAT32 || !lab__records(l, what->count, what->inputs))
        return LARDER_OK;
    LAB__TRY(lab__node_new(l, what, 1, &node));
    return lab__node_attach(node, out);
}

larder_result lab__node_retain(struct lab__node *node, unsigned output,
                               lab_tensor *t)
{
    LAB__TRY(retain_room(node));
    node->retain[output] = t;
    return LARDER_OK;
}

larder_result lab__pass_back(const struct lab__back *b)
{
    for (unsigned i = 0; i < b->node->edges; i++)
        b->results[i] = lab_ref(b->grads[0]);
    return LARDER_OK;
}
