/* prompt_table.h - all names that the prompt knows.
 *
 * One set of tables drives calls, help, completion and the list in the
 * manual. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_TABLE_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_TABLE_H

#include "prompt_value.h"

struct prompt;

/* The namespace of a name. */
enum prompt_owner {
    OWNER_PYTHON, /* print, len, range */
    OWNER_TORCH,
    OWNER_CUDA,
    OWNER_NN,
    OWNER_F,
    OWNER_OPTIM,
    OWNER_MATH,
    OWNER_TENSOR,
    OWNER_MODULE,
    OWNER_OPTIMIZER,
    OWNER_LIST,
    OWNER_NONE
};

enum { PROMPT_PARAMETERS_MAX = 12 };

typedef larder_result prompt_unary(lab_tensor *a, lab_tensor **out);
typedef larder_result prompt_binary(lab_tensor *a, lab_tensor *b,
                                    lab_tensor **out);
typedef larder_result prompt_in_place(lab_tensor *a, lab_tensor *b);
typedef double prompt_real(double x);

struct prompt_builtin {
    enum prompt_owner owner;
    const char *name;
    /* As shown in help and as arguments are bound to it: "*size, dtype=None".
     * A method's first parameter is `self`.  NULL: not a function but a
     * property of `self`. */
    const char *parameters;
    const char *help; /* one line */
    /* Receives a value for each parameter, in order, borrowed. *out is None
     * before.  False: the error is set. */
    bool (*call)(struct prompt *p, const struct prompt_builtin *self,
                 struct prompt_value *args, struct prompt_value *out);
    /* Data for call(), if it serves many rows. */
    union {
        prompt_unary *unary;
        prompt_binary *binary;
        prompt_in_place *in_place;
        prompt_real *real;
        int number;
    };
};

/* A row: call() is `function`, with `of` as its data in the member `field`. */
#define PROMPT_ROW(owner, name, parameters, text, function, field, of)         \
    {                                                                          \
        owner, name, parameters, text, function,                               \
        {                                                                      \
            .field = of                                                        \
        }                                                                      \
    }

/* The tables; each ends with a row without a name. */
extern const struct prompt_builtin prompt_make_table[];
extern const struct prompt_builtin prompt_function_table[];
extern const struct prompt_builtin prompt_method_table[];
extern const struct prompt_builtin prompt_layer_table[];
extern const struct prompt_builtin prompt_module_table[];
extern const struct prompt_builtin prompt_optim_table[];
extern const struct prompt_builtin prompt_cuda_table[];
extern const struct prompt_builtin prompt_python_table[];
extern const struct prompt_builtin prompt_math_table[];

/* NULL: there is none. */
const struct prompt_builtin *prompt_find(enum prompt_owner owner,
                                         const char *name);
/* The n-th of all rows; NULL past the end. */
const struct prompt_builtin *prompt_nth(size_t n);

/* "torch", "torch.cuda", ... */
const char *prompt_owner_name(enum prompt_owner owner);
/* The owner of the methods of a value; OWNER_NONE: it has none. */
enum prompt_owner prompt_owner_of(struct prompt_value v);

/* Constants: cuda, cpu, float32, torch, math, nn, F, ... `owner` is the package
 * to search.  False: there is no such name. */
bool prompt_constant(enum prompt_owner owner, const char *name,
                     struct prompt_value *out);
/* The name of a package's n-th constant; NULL past the end. */
const char *prompt_nth_constant(enum prompt_owner owner, size_t n);

/* Bind arguments to `b`'s parameters: `values` gets one for each (references of
 * the caller's, also on failure: drop PROMPT_PARAMETERS_MAX of them).
 * Positional arguments come first in `given`, then named ones: names[i] belongs
 * to given[count + i]. */
bool prompt_bind(struct prompt *p, const struct prompt_builtin *b,
                 const struct prompt_value *given, size_t count,
                 const char *const *names, size_t named,
                 struct prompt_value *values);

#endif
