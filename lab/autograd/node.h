/* node.h - the graph that backward walks.
 *
 * A node stands for one operation that was recorded.  It has an edge for each
 * input (empty where that input needs no gradient), what it saved, and a
 * function that turns gradients of its outputs into gradients of its inputs.
 *
 * N1  A node owns the nodes its edges lead to; nothing leads back, so graphs
 *     are freed by counting.  Freeing is iterative: a chain of a million
 *     operations must not use up the stack.
 * N2  What is saved is an alias (storage shared, no history) with the
 *     storage's version at that time: a write in between is an error that
 *     says so.
 * N3  A leaf's node (accumulate.c) owns the leaf, which knows the node but
 *     does not own it.
 * N4  Backward runs a node's function, lets go of the gradients given to it,
 *     then of what it saved (unless retain_graph), then passes the results on:
 *     PyTorch's order, which decides which memory is reused.
 */
#ifndef LAB_AUTOGRAD_NODE_H
#define LAB_AUTOGRAD_NODE_H

#include "tensor/tensor.h"

#define LAB__MAX_SAVED 6
#define LAB__MAX_NUMBERS 4
#define LAB__MAX_INTS 16

struct lab__node;

/* grads: one for each output, NULL where none arrived; borrowed, but
 * lab__grad_take() may take one over.  results: one for each input, all NULL
 * on entry; write a reference, or leave NULL, for each wanted one.  Runs with
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
    /* What the input looked like: its gradient is summed to these sizes. */
    unsigned char ndim, dtype, place;
    int64_t sizes[LAB_MAX_DIMS];
};

struct lab__saved {
    lab_tensor *tensor; /* NULL: nothing saved, or let go */
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
    struct lab__saved *more; /* those beyond, for who asks (owned) */
    unsigned more_count;
    double number[LAB__MAX_NUMBERS];
    int64_t integer[LAB__MAX_INTS];
    void *extra;            /* kind's own */
    struct lab__edge *edge; /* `edges` of them */
    /* For retain_grad: by output, the tensor to give the copy to (weak). */
    lab_tensor **retain;
    struct lab_hook *own_hooks; /* of its outputs */
    struct lab_hook **hooks;    /* those, or the leaf's */
    struct lab__visit *visit;   /* by the walk that runs; the innermost one's */
    struct lab__node *dying;    /* the next one to free */
};

/* ---- making nodes ---- */

/* True when recording is on and one of the inputs needs a gradient (NULL
 * inputs count as not). */
bool lab__records(lab *l, unsigned count, lab_tensor *const *inputs);

/* A node with an edge for each input.  On success *out is the caller's, to be
 * passed on by lab__node_attach() or dropped. */
larder_result lab__node_new(lab *l, const struct lab__node_kind *kind,
                            unsigned count, lab_tensor *const *inputs,
                            unsigned outputs, struct lab__node **out);
struct lab__node *lab__node_ref(struct lab__node *node);
void lab__node_unref(struct lab__node *node);

/* Room for `count` slots, where LAB__MAX_SAVED are not enough. */
larder_result lab__node_saves(struct lab__node *node, unsigned count);
/* Save t (NULL: nothing) in a slot.  Outputs are saved like inputs.  Slots
 * are let go in their order: PyTorch's is that of first use in the formulas
 * of the gradients, these sorted by the names of the arguments. */
larder_result lab__node_save(struct lab__node *node, unsigned slot,
                             lab_tensor *t);
/* Borrowed; NULL where nothing was saved.  ERR_INVALID, in PyTorch's sense,
 * when it was let go ("backward a second time") or written to since. */
larder_result lab__node_saved(struct lab__node *node, unsigned slot,
                              lab_tensor **out);
/* Let go of everything saved. */
void lab__node_release(struct lab__node *node);

/* Make t output number `output` of node; what it was an output of before (an
 * operation in place) is forgotten.  lab__node_attach() gives up the caller's
 * reference to node on every outcome and is for one output; for several:
 * lab__node_set_output() for each, then lab__node_unref(). */
larder_result lab__node_set_output(struct lab__node *node, unsigned output,
                                   lab_tensor *t);
larder_result lab__node_attach(struct lab__node *node, lab_tensor *t);

/* The end of most operations: record `kind` from inputs to out where that is
 * asked for, with nothing saved.  *node (may be NULL) is borrowed: for its
 * numbers, and for saving; NULL where nothing is recorded. */
larder_result lab__record(const struct lab__node_kind *kind, unsigned count,
                          lab_tensor *const *inputs, lab_tensor *out,
                          struct lab__node **node);

/* ---- in backward functions ---- */

/* Whether input number i's gradient is asked for. */
static inline bool lab__node_wants(const struct lab__node *node, unsigned i)
{
    return i < node->edges && node->edge[i].node != NULL;
}

/* The gradient itself, a reference of the caller's; results[i] = this. */
lab_tensor *lab__grad_take(lab_tensor **grads, unsigned i);

/* Sum grad down to these sizes (broadcasting undone): a tensor of its own, or
 * another reference where there is nothing to sum.  backward.c does it for
 * every result, so functions seldom need it. */
larder_result lab__sum_to(lab_tensor *grad, int ndim, const int64_t *sizes,
                          lab_tensor **out);

/* ---- what is known of a tensor (meta.c) ---- */

/* t's meta, made where there is none. */
larder_result lab__meta_of(lab_tensor *t, struct lab__meta **out);
/* t's node: its grad_fn, or for a leaf that requires grad its accumulator,
 * made where there is none.  A reference of the caller's; NULL for a tensor
 * without gradient. */
larder_result lab__node_of(lab_tensor *t, struct lab__node **out,
                           unsigned *output);
/* Have backward keep a copy of that output's gradient in t. */
larder_result lab__node_retain(struct lab__node *node, unsigned output,
                               lab_tensor *t);
/* Whether t's elements lie without gaps, in any order of dimensions, each at
 * an address of its own (accumulate.c). */
bool lab__is_dense(const lab_tensor *t);
/* A leaf's node (accumulate.c). */
larder_result lab__accumulator_new(lab_tensor *leaf, struct lab__node **out);

#endif
