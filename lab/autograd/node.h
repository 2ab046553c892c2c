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
#pragma once

#include "tensor/tensor.h"

#define LAB__MAX_INTS LAB_MAX_DIMS

struct lab__node;

/* A node's backward function at work, with recording off: it calls public
 * operations. */
struct lab__back {
    struct lab__node *node;
    lab_tensor *const *grads; /* one for each output, NULL if none arrived */
    lab_tensor **results; /* for a reference for each input that wants one */
};

typedef larder_result (*lab__backward_fn)(const struct lab__back *b);

/* What is recorded of an operation. */
struct lab__recording {
    const char *name; /* "MulBackward0" */
    lab__backward_fn backward;
    unsigned count; /* of inputs, NULL for those that are not tensors */
    lab_tensor *const *inputs;
    /* To save, NULL for an empty slot; outputs are saved like inputs.  Slots are
     * released in order: PyTorch's order is that of first use in the gradients'
     * formulas, sorted by argument name. */
    unsigned saves;
    lab_tensor *const *saved;
    double number;
    int64_t integer[LAB__MAX_INTS];
};

/* Members of a recording: a list of tensors, and how many there are. */
#define LAB__COUNTED(counter, list, ...)                                       \
    .counter = sizeof((lab_tensor *[]){__VA_ARGS__}) / sizeof(lab_tensor *),   \
    .list = (lab_tensor *[])                                                   \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#define LAB__INPUTS(...) LAB__COUNTED(count, inputs, __VA_ARGS__)
#define LAB__SAVES(...) LAB__COUNTED(saves, saved, __VA_ARGS__)

struct lab__visit; /* backward.c */

struct lab__edge {
    struct lab__node *node; /* owned; NULL: this input needs no gradient */
    unsigned output;        /* which of node's outputs the input was */
    /* The input's shape: its gradient is summed to these sizes. */
    lab_dtype dtype : 8;
    lab_place place : 8;
    int ndim : 8;
    int64_t sizes[LAB_MAX_DIMS];
};

struct lab__node {
    unsigned refs;
    uint64_t sequence;
    lab *session;
    const char *name;
    lab__backward_fn backward;
    unsigned outputs, edges, saves;
    struct lab__edge *edge; /* `edges` of them */
    lab_tensor **saved;     /* `saves`; NULL: nothing, or released */
    unsigned *version;      /* of each when it was saved */
    bool was_released;
    double number;
    int64_t integer[LAB__MAX_INTS];
    void *extra;                          /* private to the operation */
    void (*drop)(struct lab__node *node); /* frees `extra`; may be NULL */
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
larder_result lab__node_new(lab *l, const struct lab__recording *what,
                            unsigned outputs, struct lab__node **out);
struct lab__node *lab__node_ref(struct lab__node *node);
void lab__node_unref(struct lab__node *node);

/* ERR_INVALID, as in PyTorch, if what was saved was released ("backward a second
 * time") or written to since. */
larder_result lab__node_check(const struct lab__node *node);
/* Release everything that was saved. */
void lab__node_release(struct lab__node *node);

/* Make t output number `output` of node; an earlier history (of an in-place
 * operation) is dropped. lab__node_attach() always gives up the caller's
 * reference to node, and is for a single output.  For several, call
 * lab__node_set_output() for each and then lab__node_unref(). */
larder_result lab__node_set_output(struct lab__node *node, unsigned output,
                                   lab_tensor *t);
larder_result lab__node_attach(struct lab__node *node, lab_tensor *t);

/* Record the operation that made `out`, if necessary. */
larder_result lab__record(const struct lab__recording *what, lab_tensor *out);

/* ---- in backward functions ---- */

/* Whether the gradient of input number i is needed.  Others may be given: they
 * are dropped. */
static inline bool lab__wants(const struct lab__back *b, unsigned i)
{
    return i < b->node->edges && b->node->edge[i].node != NULL;
}

/* What was saved in a slot: borrowed; NULL if nothing was. */
static inline lab_tensor *lab__saved(const struct lab__back *b, unsigned slot)
{
    return b->node->saved[slot];
}

/* Every input gets the gradient as it is. */
larder_result lab__pass_back(const struct lab__back *b);

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

/* ---- hooks (hook.c) -------
 *
 * Callbacks that see a gradient before it is used.  Hooks of an operation's output
 * belong to the operation's node; hooks of a leaf belong to the leaf itself, because a
 * leaf's node is freed with each graph. */

/* Run the hooks of one output in order of registration; *grad becomes the last
 * one's result. */
larder_result lab__hooks_run(struct lab_hook *const *list, unsigned output,
                             lab_tensor **grad);
/* Remove all hooks; remaining handles have no effect. */
void lab__hooks_end(struct lab_hook **list);
