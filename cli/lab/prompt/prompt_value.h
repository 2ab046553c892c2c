/* prompt_value.h - values, with reference counts, so that a tensor lives as
 * long as it does in Python. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_VALUE_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_VALUE_H

#include <larder/lab.h>

#include "prompt_text.h"
#include "prompt_tree.h"

struct prompt_builtin; /* prompt_table.h */
struct prompt_module;  /* prompt_module.h */

enum prompt_value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_DTYPE,    /* integer: a lab_dtype */
    VALUE_PLACE,    /* integer: a lab_place */
    VALUE_MODE,     /* gradient recording on or off; for `with` */
    VALUE_SPACE,    /* integer: a prompt_owner: torch, nn, F, ... */
    VALUE_FUNCTION, /* builtin */
    VALUE_TENSOR,
    VALUE_MODULE,
    /* objects of this file: */
    VALUE_STRING,
    VALUE_TUPLE,
    VALUE_LIST,
    VALUE_RANGE,
    VALUE_METHOD,
    VALUE_OPTIMIZER,
    VALUE_DEFINED /* user-defined function: text, items, tree */
};

struct prompt_object;

struct prompt_value {
    enum prompt_value_kind kind;
    union {
        int64_t integer;
        double real;
        const struct prompt_builtin *builtin;
        lab_tensor *tensor;
        struct prompt_module *module;
        struct prompt_object *object;
    };
};

/* Strings, sequences and similar objects. */
struct prompt_object {
    unsigned refs;
    unsigned nesting; /* depth of sequences within this */
    /* a sequence */
    struct prompt_value *items;
    size_t count;
    size_t capacity;
    char *text;                           /* a string */
    int64_t start, stop, step;            /* a range */
    const struct prompt_builtin *builtin; /* a method; items[0]: its object */
    lab_optimizer *optimizer;
    /* A user-defined function: `items` are the default values of its last
     * parameters, `text` is its source, and this the parsed source. */
    struct prompt_tree tree;
};

enum { PROMPT_NESTING_MAX = 16 };

struct prompt_value prompt_none(void);
struct prompt_value prompt_bool(bool on);
struct prompt_value prompt_int(int64_t n);
struct prompt_value prompt_float(double x);
/* Takes the reference. */
struct prompt_value prompt_tensor(lab_tensor *t);

/* Add a reference. */
struct prompt_value prompt_value_ref(struct prompt_value v);
/* Drop the reference; *v becomes None. */
void prompt_value_drop(struct prompt_value *v);

/* These create objects.  False: no host memory; *out is unchanged. */
bool prompt_string(const char *s, size_t length, struct prompt_value *out);
/* An empty tuple or list. */
bool prompt_sequence(enum prompt_value_kind kind, struct prompt_value *out);
bool prompt_range(int64_t start, int64_t stop, int64_t step,
                  struct prompt_value *out);
/* Takes its own reference to `self`. */
bool prompt_method(struct prompt_value self,
                   const struct prompt_builtin *builtin,
                   struct prompt_value *out);
/* A function with this source, which was parsed before, and no default values
 * yet: prompt_sequence_add() adds those of its last parameters. */
bool prompt_defined(const char *source, struct prompt_value *out);
/* Takes the optimizer on success. */
bool prompt_optimizer(lab_optimizer *o, struct prompt_value *out);

/* Append to a sequence; takes the reference on success.  False: no host memory,
 * or nested deeper than PROMPT_NESTING_MAX. */
bool prompt_sequence_add(struct prompt_object *sequence, struct prompt_value v);

bool prompt_is_sequence(struct prompt_value v);
bool prompt_is_number(struct prompt_value v); /* bool, int or float */
double prompt_number(struct prompt_value v);
int64_t prompt_range_count(const struct prompt_object *range);
/* Format like Python's str(); with `quoted`, strings as in repr(). */
void prompt_value_write(struct prompt_value v, bool quoted,
                        struct prompt_text *out);
/* For messages: "a tensor", "a number". */
const char *prompt_value_what(struct prompt_value v);

#endif
