/* node.h - the graph that backward traverses.
 *
 * A node stands for one recorded operation.  It has an edge for each input
 * (empty if that input needs no gradient), what it saved, and a function that
 * computes gradients of its inputs from gradients of its outputs.
 *
 * N1  A node owns the nodes its edges lead to; nothing leads back, so graphs
 *     are freed by reference counts.  Freeing is iterative: a chain of a
 *     million operations must not overflow the stack.
 * N2  A saved tensor is an alias (shared storage, no history) with the
 *     storage's version at that time: a write in between is an error.
 * N3  A leaf's node (accumulate.c) owns the leaf, which refers to the node but
 *     does not own it.
 * N4  Backward runs a node's function, drops the gradients passed to it, then
 *     what it saved (unless retain_graph), then passes the results on:
 *     PyTorch's order, which determines which memory is reused. */
#ifndef LARDER_LAB_AUTOGRAD_NODE_H
#define LARDER_LAB_AUTOGRAD_NODE_H

#include "tensor/tensor.h"

#define LAB__MAX_SAVED 6
#define LAB__MAX_NUMBERS 4
#define LAB__MAX_INTS 16

struct lab__node;

/* grads: one for each output, NULL if none arrived; borrowed, but
 * lab__grad_take() may take one over. results: one for each input, all NULL on
 * entry; store a reference, or leave NULL, for each that is needed.  Runs with
 * recording off: call the public operations. */
typedef larder_result (*lab__backward_fn)(struct lab__node *node,
                                          lab_tensor **grads,
                                          lab_tensor **results);

struct lab__node_kind {
    const char *name; /* "MulBackward0" */
    lab__backward_fn backward;
    void (*drop)(struct lab__node *node); /* frees `extra`; may be NULL */
};

struct lab__visit; /* backward.c */

struct lab__edge {
    struct lab__node *node; /* owned; NULL: this input needs no gradient */
    unsigned output;        /* which of node's outputs the input was */
    /* The input's shape: its gradient is summed to these sizes. */
    unsigned char ndim, dtype, place;
    int64_t sizes[LAB_MAX_DIMS];
};

struct lab__saved {
    lab_tensor *tensor; /* NULL: nothing saved, or released */
    unsigned version;
    bool was_set;
};

struct lab__node {
    unsigned refs;
    uint64_t sequence;
    lab *session;
    const struct lab__node_kind *kind;
    unsigned outputs, edges;
    struct lab__saved saved[LAB__MAX_SAVED];
    struct lab__saved *more; /* further slots, if needed (owned) */
    unsigned more_count;
    double number[LAB__MAX_NUMBERS];
    int64_t integer[LAB__MAX_INTS];
    void *extra;            /* private to the kind */
    struct lab__edge *edge; /* `edges` of them */
    /* For retain_grad: by output, the tensor that receives the copy (weak). */
    lab_tensor **retain;
    struct lab_hook *own_hooks; /* of its outputs */
    struct lab_hook **hooks;    /* own_hooks, or the leaf's */
    struct lab__visit *visit;   /* of the innermost traversal */
    struct lab__node *dying;    /* next in the list of nodes to free */
};

/* ---- making nodes ---- */

/* Whether recording is on and an input needs a gradient (NULL inputs do
 * not). */
bool lab__records(lab *l, unsigned count, lab_tensor *const *inputs);

/* Create a node with an edge for each input.  On success the caller owns *out,
 * and passes it to lab__node_attach() or drops it. */
larder_result lab__node_new(lab *l, const struct lab__node_kind *kind,
                            unsigned count, lab_tensor *const *inputs,
                            unsigned outputs, struct lab__node **out);
struct lab__node *lab__node_ref(struct lab__node *node);
void lab__node_unref(struct lab__node *node);

/* Make room for `count` slots, if more than LAB__MAX_SAVED are needed. */
larder_result lab__node_saves(struct lab__node *node, unsigned count);
/* Save t (NULL: nothing) in a slot.  Outputs are saved like inputs.  Slots are
 * released in order: PyTorch's order is that of first use in the gradients'
 * formulas, sorted by argument name. */
larder_result lab__node_save(struct lab__node *node, unsigned slot,
                             lab_tensor *t);
/* Borrowed; NULL if nothing was saved.  ERR_INVALID, as in PyTorch, if it was
 * released ("backward a second time") or written to since. */
larder_result lab__node_saved(struct lab__node *node, unsigned slot,
                              lab_tensor **out);
/* Release everything that was saved. */
void lab__node_release(struct lab__node *node);

/* Make t output number `output` of node; an earlier history (of an in-place
 * operation) is dropped. lab__node_attach() always gives up the caller's
 * reference to node, and is for a single output.  For several, call
 * lab__node_set_output() for each and then lab__node_unref(). */
larder_result lab__node_set_output(struct lab__node *node, unsigned output,
                                   lab_tensor *t);
larder_result lab__node_attach(struct lab__node *node, lab_tensor *t);

/* The end of most operations: record `kind` from inputs to out if necessary,
 * with nothing saved. *node (may be NULL) is borrowed, for its numbers and for
 * saving; NULL if nothing is recorded. */
larder_result lab__record(const struct lab__node_kind *kind, unsigned count,
                          lab_tensor *const *inputs, lab_tensor *out,
                          struct lab__node **node);

/* ---- in backward functions ---- */

/* Whether the gradient of input number i is needed. */
static inline bool lab__node_wants(const struct lab__node *node, unsigned i)
{
    return i < node->edges && node->edge[i].node != NULL;
}

/* Take over the gradient: a reference of the caller's, for results[i]. */
lab_tensor *lab__grad_take(lab_tensor **grads, unsigned i);

/* Sum grad down to these sizes (undo broadcasting): a new tensor, or another
 * reference if there is nothing to sum. backward.c does this for every result,
 * so functions seldom need it. */
larder_result lab__sum_to(lab_tensor *grad, int ndim, const int64_t *sizes,
                          lab_tensor **out);

/* ---- metadata of a tensor (meta.c) --------- */

/* t's meta, created if necessary. */
larder_result lab__meta_of(lab_tensor *t, struct lab__meta **out);
/* t's node: its grad_fn or, for a leaf that requires grad, its accumulator,
 * created if necessary.  A reference of the caller's; NULL for a tensor without
 * gradient. */
larder_result lab__node_of(lab_tensor *t, struct lab__node **out,
                           unsigned *output);
/* Make backward keep a copy of that output's gradient in t. */
larder_result lab__node_retain(struct lab__node *node, unsigned output,
                               lab_tensor *t);
/* Whether t's elements have no gaps, in any order of dimensions, and distinct
 * addresses (accumulate.c). */
bool lab__is_dense(const lab_tensor *t);
/* A leaf's node (accumulate.c). */
larder_result lab__accumulator_new(lab_tensor *leaf, struct lab__node **out);

#endif
