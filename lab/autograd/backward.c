/* backward.c - the traversal from a result back to the leaves. */
#include "autograd/node.h"

#include "autograd/ready_queue.h"
#include "tensor/host_memory.h"

/* The state of a node in one traversal.  A backward function may start a nested
 * traversal (checkpoint.c) that reaches the same leaves: the outer traversal's
 * state is saved meanwhile. */
struct lab__visit {
    const struct walk *walk;
    struct lab__node *node;
    struct lab__visit *outer; /* of the same node */
    struct lab__visit *next;  /* in the traversal's list */
    struct lab__visit *below; /* on the stack of the search for nodes */
    size_t waiting;           /* inputs still missing from earlier nodes */
    lab_tensor *incoming[];   /* by output: gradients gathered so far */
};

/* Gradients that are returned instead of accumulated in the leaves. */
struct capture {
    struct lab__node *node; /* owned */
    unsigned output;
    lab_tensor *grad;
};

struct walk {
    struct lab__visit *visits, *stack;
    size_t nodes;
    unsigned max_edges;
    struct lab__ready_queue ready;
    lab_tensor **results; /* room for max_edges */
    bool retain_graph;
    struct capture *captures; /* NULL: into the leaves */
    int capture_count;
};

/* ---- finding the nodes -------------------------------------------------- */

static larder_result visit_new(struct walk *w, struct lab__node *node)
{
    size_t bytes =
        sizeof(struct lab__visit) + node->outputs * sizeof(lab_tensor *);
    struct lab__visit *visit = lab__host_zeroed(bytes);

    if (visit == NULL)
        return lab__fail_host(bytes);
    visit->walk = w;
    visit->node = node;
    visit->outer = node->visit;
    node->visit = visit;
    visit->next = w->visits;
    w->visits = visit;
    visit->below = w->stack;
    w->stack = visit;
    w->nodes++;
    if (node->edges > w->max_edges)
        w->max_edges = node->edges;
    return LARDER_OK;
}

static bool is_visited(const struct walk *w, const struct lab__node *node)
{
    return node->visit != NULL && node->visit->walk == w;
}

static larder_result look_beyond(struct walk *w, const struct lab__node *node)
{
    for (unsigned i = 0; i < node->edges; i++) {
        struct lab__node *next = node->edge[i].node;

        if (next == NULL)
            continue;
        if (!is_visited(w, next))
            LAB__TRY(visit_new(w, next));
        next->visit->waiting++;
    }
    return LARDER_OK;
}

/* Count, for each node reachable from root, the edges that lead to it. */
static larder_result find_nodes(struct walk *w, struct lab__node *root)
{
    LAB__TRY(visit_new(w, root));
    while (w->stack != NULL) {
        struct lab__visit *visit = w->stack;

        w->stack = visit->below;
        LAB__TRY(look_beyond(w, visit->node));
    }
    return LARDER_OK;
}

static larder_result backward_make_room(struct walk *w)
{
    w->ready.at = lab__host_alloc(w->nodes * sizeof *w->ready.at);
    w->results = lab__host_zeroed(w->max_edges * sizeof(lab_tensor *));
    return w->ready.at != NULL && w->results != NULL
               ? LARDER_OK
               : lab__fail_host(w->nodes * sizeof *w->ready.at);
}

static void incoming_drop(struct lab__visit *visit)
{
    for (unsigned i = 0; i < visit->node->outputs; i++)
        lab__drop(&visit->incoming[i]);
}

static void walk_end(struct walk *w)
{
    while (w->visits != NULL) {
        struct lab__visit *visit = w->visits;

        w->visits = visit->next;
        incoming_drop(visit);
        visit->node->visit = visit->outer;
        lab__host_free(visit);
    }
    lab__host_free(w->ready.at);
    lab__host_free(w->results);
}

/* ---- running one node --------------------------------------------------- */

static larder_result retain_one(lab_tensor *t, lab_tensor *grad)
{
    lab_tensor *kept;

    LAB__TRY(t->meta->grad == NULL ? lab_clone(grad, &kept)
                                   : lab_add(t->meta->grad, grad, &kept));
    lab_unref(t->meta->grad);
    t->meta->grad = kept;
    return LARDER_OK;
}

/* Give copies to tensors that requested one. *any: there is a gradient. */
static larder_result look_at_incoming(const struct lab__node *node, bool *any)
{
    lab_tensor **grads = node->visit->incoming;

    for (unsigned i = 0; i < node->outputs; i++) {
        if (grads[i] == NULL)
            continue;
        *any = true;
        if (node->retain != NULL && node->retain[i] != NULL)
            LAB__TRY(retain_one(node->retain[i], grads[i]));
    }
    return LARDER_OK;
}

static bool fits(const struct lab__edge *edge, const lab_tensor *t)
{
    return t->storage->place == edge->place && t->dtype == edge->dtype &&
           lab__is_sized(t, edge->ndim, edge->sizes);
}

/* Undo broadcasting.  A gradient has its tensor's type; the gradient of a
 * number in host memory that was combined with device tensors is copied back to
 * the host. */
static larder_result trim(const struct lab__edge *edge, lab_tensor *whole,
                          lab_tensor **out)
{
    LAB__OWNED lab_tensor *summed = NULL, *typed = NULL;

    LAB__TRY(lab__sum_to(whole, edge->ndim, edge->sizes, &summed));
    LAB__TRY(lab_to_dtype(summed, edge->dtype, &typed));
    lab__drop(&summed);
    return lab_to(typed, edge->place, out);
}

/* Replace a result by what its edge needs, or drop it if that is nothing. */
static larder_result trim_result(const struct lab__edge *edge,
                                 lab_tensor **result)
{
    LAB__OWNED lab_tensor *whole = NULL;

    if (edge->node != NULL && fits(edge, *result))
        return LARDER_OK;
    lab__give(result, &whole);
    return edge->node != NULL ? trim(edge, whole, result) : LARDER_OK;
}

/* Gradients are rounded as results of operations are.  One with gaps, or whose
 * elements overlap, is a view of what was rounded when it was made. */
static larder_result trim_results(const struct lab__node *node,
                                  lab_tensor **results)
{
    for (unsigned i = 0; i < node->edges; i++) {
        if (results[i] == NULL)
            continue;
        LAB__TRY(trim_result(&node->edge[i], &results[i]));
        if (results[i] != NULL && lab__is_dense(results[i]))
            lab__round(results[i]);
    }
    return LARDER_OK;
}

static larder_result run_hooks(const struct lab__node *node)
{
    lab_tensor **grads = node->visit->incoming;

    for (unsigned i = 0; i < node->outputs; i++) {
        if (grads[i] != NULL)
            LAB__TRY(lab__hooks_run(node->hooks, i, &grads[i]));
    }
    return LARDER_OK;
}

static void capture_incoming(const struct walk *w, const struct lab__node *node)
{
    for (int i = 0; i < w->capture_count; i++) {
        struct capture *c = &w->captures[i];
        lab_tensor *grad =
            c->node == node ? node->visit->incoming[c->output] : NULL;

        if (grad != NULL)
            c->grad = lab_ref(grad);
    }
}

/* Only leaves have no inputs. */
static bool is_passed_over(const struct walk *w, const struct lab__node *node)
{
    return w->captures != NULL && node->edges == 0;
}

static bool is_captured(const struct walk *w, const struct lab__node *node)
{
    for (int i = 0; i < w->capture_count; i++) {
        if (w->captures[i].node == node)
            return true;
    }
    return false;
}

static larder_result node_backward(const struct walk *w, struct lab__node *node)
{
    const struct lab__back b = {node, node->visit->incoming, w->results};
    bool any = false;

    if (!is_passed_over(w, node) || is_captured(w, node))
        LAB__TRY(run_hooks(node));
    LAB__TRY(look_at_incoming(node, &any));
    capture_incoming(w, node);
    if (!any || is_passed_over(w, node))
        return LARDER_OK;
    LAB__TRY(lab__node_check(node));
    LAB__TRY(node->backward(&b));
    return trim_results(node, w->results);
}

static larder_result run_node(const struct walk *w, struct lab__node *node)
{
    larder_result r = node_backward(w, node);

    incoming_drop(node->visit);
    if (r == LARDER_OK && !w->retain_graph)
        lab__node_release(node);
    return r;
}

/* ---- propagating gradients ---------------------------------------------- */

/* Two gradients are added into a third, as in PyTorch 1.13: neither is modified
 * in place. *grad, unless it is taken over, stays until all results of its node
 * are passed on. */
static larder_result deliver(lab_tensor **slot, lab_tensor **grad)
{
    lab_tensor *old = *slot;

    if (*grad == NULL)
        return LARDER_OK;
    if (old == NULL)
        return lab__give(grad, slot);
    LAB__TRY(lab_add(old, *grad, slot));
    lab_unref(old);
    return LARDER_OK;
}

static larder_result pass_on(struct walk *w, const struct lab__node *node)
{
    for (unsigned i = 0; i < node->edges; i++) {
        const struct lab__edge *edge = &node->edge[i];
        struct lab__visit *next;

        if (edge->node == NULL)
            continue;
        next = edge->node->visit;
        LAB__TRY(deliver(&next->incoming[edge->output], &w->results[i]));
        if (--next->waiting == 0)
            lab__ready_push(&w->ready, edge->node);
    }
    return LARDER_OK;
}

static void results_drop(struct walk *w)
{
    for (unsigned i = 0; i < w->max_edges; i++)
        lab__drop(&w->results[i]);
}

static larder_result run_all(struct walk *w, struct lab__node *root)
{
    struct lab__node *node;
    larder_result r = LARDER_OK;

    lab__ready_push(&w->ready, root);
    while (r == LARDER_OK && (node = lab__ready_pop(&w->ready)) != NULL) {
        r = run_node(w, node);
        if (r == LARDER_OK)
            r = pass_on(w, node);
        results_drop(w);
    }
    return r;
}

static larder_result walk_run(struct walk *w, struct lab__node *root,
                              unsigned output, lab_tensor *grad)
{
    LAB__TRY(find_nodes(w, root));
    LAB__TRY(backward_make_room(w));
    root->visit->incoming[output] = lab_ref(grad);
    return run_all(w, root);
}

static larder_result walk_from(struct walk w, struct lab__node *root,
                               unsigned output, lab_tensor *grad)
{
    LAB__RECORDING(root->session, false);
    larder_result r = walk_run(&w, root, output, grad);

    walk_end(&w);
    return r;
}

/* ---- public functions --------------------------------------------------- */

static larder_result start_check(const lab_tensor *t, const lab_tensor *grad)
{
    char want[LAB__SHAPE_TEXT], got[LAB__SHAPE_TEXT];

    if (!lab_requires_grad(t)) {
        return lab__invalid("backward: the tensor does not require a gradient "
                            "and has no grad_fn");
    }
    if (grad == NULL) {
        return lab_numel(t) == 1
                   ? LARDER_OK
                   : lab__invalid(
                         "backward: a gradient can be created implicitly only "
                         "for tensors of one element, not of sizes %s",
                         lab__shape_text(t->ndim, t->sizes, want));
    }
    if (!lab__same_sizes(t, grad)) {
        return lab__invalid(
            "backward: the gradient has sizes %s, the tensor %s",
            lab__shape_text(grad->ndim, grad->sizes, got),
            lab__shape_text(t->ndim, t->sizes, want));
    }
    if (grad->kind != LAB_FLOAT32) {
        return lab__invalid("backward: the gradient is %s, not float32",
                            lab__dtype_name(grad->dtype));
    }
    return lab__check_place("backward", t, grad);
}

/* The caller's gradient is referenced until the traversal ends, so that no leaf
 * takes it over. */
static larder_result start_grad(lab_tensor *t, lab_tensor *grad,
                                lab_tensor **out)
{
    if (grad == NULL) {
        return lab_ones(t->storage->session, t->dtype, t->storage->place,
                        t->ndim, t->sizes, out);
    }
    *out = lab_ref(grad);
    return LARDER_OK;
}

static larder_result walk_back(struct walk w, lab_tensor *t, lab_tensor *given)
{
    LAB__OWNED lab_tensor *grad = NULL;
    struct lab__node *root;
    unsigned output;
    larder_result r;

    LAB__TRY(start_check(t, given));
    LAB__TRY(start_grad(t, given, &grad));
    LAB__TRY(lab__node_of(t, &root, &output));
    r = walk_from(w, root, output, grad);
    lab__node_unref(root);
    return r;
}

larder_result lab_backward(lab_tensor *t, lab_tensor *grad, bool retain_graph)
{
    return walk_back((struct walk){.retain_graph = retain_graph}, t, grad);
}

static larder_result captures_find(struct capture *captures,
                                   lab_tensor *const *inputs, int count)
{
    for (int i = 0; i < count; i++) {
        struct capture *c = &captures[i];

        LAB__TRY(lab__node_of(inputs[i], &c->node, &c->output));
        if (c->node == NULL) {
            return lab__invalid("grad: input %d does not require a gradient",
                                i);
        }
    }
    return LARDER_OK;
}

larder_result lab_gradients(lab_tensor *t, lab_tensor *grad, bool retain_graph,
                            lab_tensor *const *inputs, int count,
                            lab_tensor **results)
{
    size_t bytes = (size_t)count * sizeof(struct capture);
    struct capture *captures = lab__host_zeroed(bytes);
    struct walk w = {.retain_graph = retain_graph,
                     .captures = captures,
                     .capture_count = count};
    larder_result r;

    if (captures == NULL)
        return lab__fail_host(bytes);
    r = captures_find(captures, inputs, count);
    if (r == LARDER_OK)
        r = walk_back(w, t, grad);
    for (int i = 0; i < count; i++) {
        if (r == LARDER_OK)
            results[i] = captures[i].grad;
        else
            lab_unref(captures[i].grad);
        lab__node_unref(captures[i].node);
    }
    lab__host_free(captures);
    return r;
}
