#include "prompt_table.h"

#include <string.h>

static const struct prompt_builtin *const tables[] = {
    prompt_make_table,   prompt_function_table, prompt_layer_table,
    prompt_module_table, prompt_optim_table,    prompt_cuda_table,
    prompt_method_table, prompt_python_table,
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
    enum prompt_value_kind kind;
    int64_t integer;
};

/* What `torch` has can be said without it. */
static const struct constant constants[] = {
    {"torch", OWNER_TORCH, VALUE_SPACE, OWNER_TORCH},
    {"cuda", OWNER_TORCH, VALUE_SPACE, OWNER_CUDA},
    {"cpu", OWNER_TORCH, VALUE_PLACE, LAB_HOST},
    {"nn", OWNER_TORCH, VALUE_SPACE, OWNER_NN},
    {"F", OWNER_TORCH, VALUE_SPACE, OWNER_F},
    {"optim", OWNER_TORCH, VALUE_SPACE, OWNER_OPTIM},
    {"float32", OWNER_TORCH, VALUE_DTYPE, LAB_FLOAT32},
    {"float", OWNER_TORCH, VALUE_DTYPE, LAB_FLOAT32},
    {"int64", OWNER_TORCH, VALUE_DTYPE, LAB_INT64},
    {"long", OWNER_TORCH, VALUE_DTYPE, LAB_INT64},
    {"bool", OWNER_TORCH, VALUE_DTYPE, LAB_BOOL},
    {"functional", OWNER_NN, VALUE_SPACE, OWNER_F},
};

enum { CONSTANT_COUNT = sizeof constants / sizeof constants[0] };

bool prompt_constant(enum prompt_owner owner, const char *name,
                     struct prompt_value *out)
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        const struct constant *c = &constants[i];

        if (c->owner == owner && strcmp(c->name, name) == 0) {
            *out =
                (struct prompt_value){.kind = c->kind, .integer = c->integer};
            return true;
        }
    }
    return false;
}

const char *prompt_nth_constant(size_t n)
{
    return n < CONSTANT_COUNT ? constants[n].name : NULL;
}
