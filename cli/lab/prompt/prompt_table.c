#include "prompt_table.h"

#include <math.h>
#include <string.h>

static const struct prompt_builtin *const tables[] = {
    prompt_make_table,   prompt_function_table, prompt_layer_table,
    prompt_module_table, prompt_optim_table,    prompt_cuda_table,
    prompt_method_table, prompt_python_table,   prompt_math_table,
};

enum { TABLE_COUNT = sizeof tables / sizeof tables[0] };

const struct prompt_builtin *prompt_find(enum prompt_owner owner,
                                         const char *name)
{
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        for (const struct prompt_builtin *b = tables[t]; b->name != NULL; b++) {
            if (b->owner == owner && strcmp(b->name, name) == 0)
                return b;
        }
    }
    return NULL;
}

const struct prompt_builtin *prompt_nth(size_t n)
{
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        for (const struct prompt_builtin *b = tables[t]; b->name != NULL; b++) {
            if (n-- == 0)
                return b;
        }
    }
    return NULL;
}

const char *prompt_owner_name(enum prompt_owner owner)
{
    static const char *const names[] = {
        [OWNER_PYTHON] = "",
        [OWNER_TORCH] = "torch",
        [OWNER_CUDA] = "torch.cuda",
        [OWNER_NN] = "torch.nn",
        [OWNER_F] = "torch.nn.functional",
        [OWNER_OPTIM] = "torch.optim",
        [OWNER_MATH] = "math",
        [OWNER_TENSOR] = "Tensor",
        [OWNER_MODULE] = "Module",
        [OWNER_OPTIMIZER] = "Optimizer",
        [OWNER_LIST] = "list",
        [OWNER_NONE] = "",
    };

    return names[owner];
}

enum prompt_owner prompt_owner_of(struct prompt_value v)
{
    switch (v.kind) {
    case VALUE_TENSOR:
        return OWNER_TENSOR;
    case VALUE_MODULE:
        return OWNER_MODULE;
    case VALUE_OPTIMIZER:
        return OWNER_OPTIMIZER;
    case VALUE_LIST:
        return OWNER_LIST;
    default:
        return OWNER_NONE;
    }
}

/* ---- constants ---------------------------------------------------------------- */

struct constant {
    const char *name;
    enum prompt_owner owner;
    struct prompt_value value;
};

/* Names in `torch` can be used without a prefix. */
static const struct constant constants[] = {
    {"torch", OWNER_TORCH, {.kind = VALUE_SPACE, .integer = OWNER_TORCH}},
    {"cuda", OWNER_TORCH, {.kind = VALUE_SPACE, .integer = OWNER_CUDA}},
    {"cpu", OWNER_TORCH, {.kind = VALUE_PLACE, .integer = LAB_HOST}},
    {"nn", OWNER_TORCH, {.kind = VALUE_SPACE, .integer = OWNER_NN}},
    {"F", OWNER_TORCH, {.kind = VALUE_SPACE, .integer = OWNER_F}},
    {"optim", OWNER_TORCH, {.kind = VALUE_SPACE, .integer = OWNER_OPTIM}},
    {"float32", OWNER_TORCH, {.kind = VALUE_DTYPE, .integer = LAB_FLOAT32}},
    {"float", OWNER_TORCH, {.kind = VALUE_DTYPE, .integer = LAB_FLOAT32}},
    {"int64", OWNER_TORCH, {.kind = VALUE_DTYPE, .integer = LAB_INT64}},
    {"long", OWNER_TORCH, {.kind = VALUE_DTYPE, .integer = LAB_INT64}},
    {"bool", OWNER_TORCH, {.kind = VALUE_DTYPE, .integer = LAB_BOOL}},
    {"functional", OWNER_NN, {.kind = VALUE_SPACE, .integer = OWNER_F}},
    {"math", OWNER_TORCH, {.kind = VALUE_SPACE, .integer = OWNER_MATH}},
    {"pi", OWNER_MATH, {.kind = VALUE_FLOAT, .real = 3.141592653589793}},
    {"e", OWNER_MATH, {.kind = VALUE_FLOAT, .real = 2.718281828459045}},
    {"tau", OWNER_MATH, {.kind = VALUE_FLOAT, .real = 6.283185307179586}},
    {"inf", OWNER_MATH, {.kind = VALUE_FLOAT, .real = INFINITY}},
    {"nan", OWNER_MATH, {.kind = VALUE_FLOAT, .real = NAN}},
};

enum { CONSTANT_COUNT = sizeof constants / sizeof constants[0] };

bool prompt_constant(enum prompt_owner owner, const char *name,
                     struct prompt_value *out)
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        const struct constant *c = &constants[i];

        if (c->owner == owner && strcmp(c->name, name) == 0) {
            *out = c->value;
            return true;
        }
    }
    return false;
}

const char *prompt_nth_constant(enum prompt_owner owner, size_t n)
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        if (constants[i].owner == owner && n-- == 0)
            return constants[i].name;
    }
    return NULL;
}
