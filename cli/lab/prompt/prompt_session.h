/* prompt_session.h - a session of the prompt: a lab, its variables, and its
 * limits. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_SESSION_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_SESSION_H

#include <signal.h>
#include <stdio.h>

#include <larder/lab.h>

#include "prompt_table.h"
#include "prompt_text.h"
#include "prompt_tree.h"
#include "prompt_value.h"

struct prompt_variable {
    char *name;
    struct prompt_value value;
};

/* What a statement requests of the enclosing ones. */
enum prompt_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN };

struct prompt {
    lab *lab;
    lab_options options;
    struct prompt_variable *variables;
    size_t variable_count;
    size_t variable_capacity;
    /* Within a function its own variables begin at `scope`, and the global ones
     * end at `globals`.  Elsewhere both are 0. */
    size_t scope, globals;
    unsigned calls; /* functions being executed */
    enum prompt_flow flow;
    struct prompt_value returned; /* with FLOW_RETURN */
    unsigned depth;               /* nesting of values being evaluated */
    struct prompt_text output;    /* what the statement printed */
    FILE *live;                /* print there at once; NULL: only to `output` */
    struct prompt_error error; /* of the statement that failed */
    bool failed;
    /* Set from outside (an interrupt): the statement ends with an error. */
    volatile sig_atomic_t *interrupted; /* NULL: none */
    uint64_t steps;
    uint64_t steps_max;   /* 0: no limit */
    int64_t elements_max; /* of one tensor; 0: no limit */
};

/* False: lab_last_error() has the reason.  The strings in `options` must stay
 * valid. */
bool prompt_open(struct prompt *p, const lab_options *options);
void prompt_close(struct prompt *p);
/* Start over, on another device (NULL: the same).  False: lab_last_error() has
 * the reason, and nothing has changed. */
bool prompt_reopen(struct prompt *p, const char *device);

/* Run one statement of a tree.  False: p->error has the reason.  Printed text
 * is in p->output, which is cleared first, or went to p->live line by line. */
bool prompt_run(struct prompt *p, const struct prompt_node *statement);

/* Borrowed; NULL: there is none. */
struct prompt_value *prompt_variable(struct prompt *p, const char *name);
/* Takes the reference on success, and drops the old value afterwards. */
bool prompt_set_variable(struct prompt *p, const char *name,
                         struct prompt_value v);
bool prompt_delete_variable(struct prompt *p, const char *name);
/* Drop all variables from index `from` on, newest first. */
void prompt_forget_variables(struct prompt *p, size_t from);

/* ---- for the functions ---- */

/* End a printed line, so that the output of a long loop is visible while it
 * runs. */
void prompt_end_line(struct prompt *p);

/* Set the error, unless one is set.  Returns false. */
bool prompt_fail(struct prompt *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool prompt_fail_memory(struct prompt *p);
/* True for LARDER_OK; otherwise sets the lab's message as the error. */
bool prompt_check(struct prompt *p, larder_result r);
/* The same for a call that created a tensor, *made, which becomes *out.  (By
 * address, so that the call itself can be an argument.) */
bool prompt_made(struct prompt *p, larder_result r, lab_tensor *const *made,
                 struct prompt_value *out);

/* Convert arguments; `what` is the argument's name in messages.  False: the
 * error is set. */
bool prompt_read_int(struct prompt *p, struct prompt_value v, const char *what,
                     int64_t *out);
bool prompt_read_dim(struct prompt *p, struct prompt_value v, int *out);
bool prompt_read_number(struct prompt *p, struct prompt_value v,
                        const char *what, double *out);
bool prompt_read_tensor(struct prompt *p, struct prompt_value v,
                        const char *what, lab_tensor **out);
bool prompt_read_bool(struct prompt *p, struct prompt_value v, const char *what,
                      bool *out);
/* None leaves *out unchanged. */
bool prompt_read_place(struct prompt *p, struct prompt_value v, lab_place *out);
bool prompt_read_dtype(struct prompt *p, struct prompt_value v, lab_dtype *out);
/* A tuple of whole numbers, or a tuple that contains only such a tuple: both 2,
 * 3 and (2, 3). */
bool prompt_read_sizes(struct prompt *p, struct prompt_value v, int *ndim,
                       int64_t sizes[LAB_MAX_DIMS]);
/* The same, with the product checked against the limit. */
bool prompt_read_shape(struct prompt *p, struct prompt_value v, int *ndim,
                       int64_t sizes[LAB_MAX_DIMS]);
/* The tensors of a tuple or list, borrowed; the caller frees the array. */
bool prompt_read_tensors(struct prompt *p, struct prompt_value v,
                         lab_tensor ***out, size_t *count);

/* ---- the evaluator ---- */

/* A value as a condition. */
bool prompt_truth(struct prompt *p, struct prompt_value v, bool *out);
bool prompt_execute_block(struct prompt *p, const struct prompt_node *block);
bool prompt_define(struct prompt *p, const struct prompt_node *n);
bool prompt_call_defined(struct prompt *p, struct prompt_value callee,
                         const struct prompt_value *given, size_t count,
                         const char *const *names, size_t named,
                         struct prompt_value *out);

bool prompt_evaluate(struct prompt *p, const struct prompt_node *n,
                     struct prompt_value *out);
bool prompt_call(struct prompt *p, struct prompt_value callee,
                 const struct prompt_value *given, size_t count,
                 const char *const *names, size_t named,
                 struct prompt_value *out);
bool prompt_attribute(struct prompt *p, struct prompt_value object,
                      const char *name, struct prompt_value *out);
bool prompt_operate(struct prompt *p, const char *op, struct prompt_value a,
                    struct prompt_value b, struct prompt_value *out);
/* *out = a op b, in place in a tensor's memory where Python does so. */
bool prompt_operate_in_place(struct prompt *p, const char *op,
                             struct prompt_value a, struct prompt_value b,
                             struct prompt_value *out);
bool prompt_compare(struct prompt *p, const char *op, struct prompt_value a,
                    struct prompt_value b, struct prompt_value *out);
bool prompt_index(struct prompt *p, struct prompt_value object,
                  const struct prompt_node *indices, struct prompt_value *out);

#endif
