/* prompt_module.h - layers with their own parameters, as in torch.nn. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_MODULE_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_MODULE_H

#include "prompt_value.h"

struct prompt;

enum prompt_module_kind {
    MODULE_LINEAR,
    MODULE_RELU,
    MODULE_GELU,
    MODULE_TANH,
    MODULE_SIGMOID,
    MODULE_SOFTMAX,
    MODULE_DROPOUT,
    MODULE_FLATTEN,
    MODULE_LAYER_NORM,
    MODULE_EMBEDDING,
    MODULE_CONV2D,
    MODULE_MAX_POOL2D,
    MODULE_SEQUENTIAL,
    MODULE_CROSS_ENTROPY,
    MODULE_MSE
};

enum { MODULE_CHILDREN_MAX = 64, MODULE_DEPTH_MAX = 16 };

struct prompt_module {
    unsigned refs;
    enum prompt_module_kind kind;
    const char *name; /* static */
    bool training;
    unsigned depth; /* nesting depth of modules */
    int64_t numbers[4];
    double rate; /* dropout's p, layer norm's eps */
    lab_tensor *weight;
    lab_tensor *bias;
    struct prompt_module *children[MODULE_CHILDREN_MAX];
    size_t child_count;
};

struct prompt_module *prompt_module_ref(struct prompt_module *m);
void prompt_module_unref(struct prompt_module *m); /* NULL is a no-op */
void prompt_module_write(const struct prompt_module *m, int indent,
                         struct prompt_text *out);

/* `second` is the target of a loss; otherwise NULL. */
bool prompt_module_forward(struct prompt *p, struct prompt_module *m,
                           lab_tensor *input, lab_tensor *second,
                           lab_tensor **out);
bool prompt_module_is_loss(const struct prompt_module *m);
/* Append every parameter to the list. */
bool prompt_module_parameters(struct prompt *p, const struct prompt_module *m,
                              struct prompt_object *list);
bool prompt_module_to(struct prompt *p, struct prompt_module *m,
                      lab_place place);
void prompt_module_train(struct prompt_module *m, bool on);

#endif
