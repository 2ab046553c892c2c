/* prompt_layers.c - torch.nn.functional. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "prompt_function.h"

typedef struct prompt_value value;

static bool optional_tensor(struct prompt *p, value v, const char *what,
                            lab_tensor **out)
{
    *out = NULL;
    return v.kind == VALUE_NONE || prompt_read_tensor(p, v, what, out);
}

static bool read_small(struct prompt *p, value v, const char *what, int *out)
{
    int64_t n;

    if (!prompt_read_int(p, v, what, &n))
        return false;
    if (n < 0 || n > 1 << 20)
        return prompt_fail(p, "%s is out of range", what);
    *out = (int)n;
    return true;
}

static PROMPT_FUNCTION(call_linear)
{
    lab_tensor *made = NULL;
    lab_tensor *x, *w, *b;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "input", &x) ||
        !prompt_read_tensor(p, args[1], "weight", &w) ||
        !optional_tensor(p, args[2], "bias", &b))
        return false;
    return prompt_made(p, lab_linear(x, w, b, &made), &made, out);
}

static PROMPT_FUNCTION(call_layer_norm)
{
    int64_t sizes[LAB_MAX_DIMS];
    lab_tensor *made = NULL;
    lab_tensor *x, *w, *b;
    double eps;
    int ndim;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "input", &x) ||
        !prompt_read_sizes(p, args[1], &ndim, sizes) ||
        !optional_tensor(p, args[2], "weight", &w) ||
        !optional_tensor(p, args[3], "bias", &b) ||
        !prompt_read_number(p, args[4], "eps", &eps))
        return false;
    if (ndim != 1 || lab_ndim(x) < 1 ||
        sizes[0] != lab_sizes(x)[lab_ndim(x) - 1])
        return prompt_fail(p, "layer_norm goes over the last dimension");
    return prompt_made(p, lab_layer_norm(x, w, b, eps, &made), &made, out);
}

static PROMPT_FUNCTION(call_embedding)
{
    lab_tensor *made = NULL;
    lab_tensor *index, *w;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "input", &index) ||
        !prompt_read_tensor(p, args[1], "weight", &w))
        return false;
    return prompt_made(p, lab_embedding(w, index, &made), &made, out);
}

static PROMPT_FUNCTION(call_attention)
{
    lab_tensor *made = NULL;
    lab_tensor *q, *k, *v;
    bool causal = false;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "query", &q) ||
        !prompt_read_tensor(p, args[1], "key", &k) ||
        !prompt_read_tensor(p, args[2], "value", &v) ||
        !prompt_read_bool(p, args[3], "is_causal", &causal))
        return false;
    return prompt_made(p, lab_attention(q, k, v, causal, &made), &made, out);
}

static PROMPT_FUNCTION(call_conv2d)
{
    lab_tensor *made = NULL;
    lab_tensor *x, *w, *b;
    int stride = 0, padding = 0;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "input", &x) ||
        !prompt_read_tensor(p, args[1], "weight", &w) ||
        !optional_tensor(p, args[2], "bias", &b) ||
        !read_small(p, args[3], "stride", &stride) ||
        !read_small(p, args[4], "padding", &padding))
        return false;
    return prompt_made(p, lab_conv2d(x, w, b, stride, padding, &made), &made,
                       out);
}

static PROMPT_FUNCTION(call_max_pool2d)
{
    lab_tensor *made = NULL;
    lab_tensor *x;
    int kernel = 0, stride = 0;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "input", &x) ||
        !read_small(p, args[1], "kernel_size", &kernel) ||
        !read_small(p, args[2].kind == VALUE_NONE ? args[1] : args[2], "stride",
                    &stride))
        return false;
    return prompt_made(p, lab_max_pool2d(x, kernel, stride, &made), &made, out);
}

static PROMPT_FUNCTION(call_dropout)
{
    lab_tensor *made = NULL;
    lab_tensor *x;
    double rate;
    bool training = false;

    (void)self;
    if (!prompt_read_tensor(p, args[0], "input", &x) ||
        !prompt_read_number(p, args[1], "p", &rate) ||
        !prompt_read_bool(p, args[2], "training", &training))
        return false;
    return prompt_made(p, lab_dropout(x, rate, training, &made), &made, out);
}

#define UNARY(name, function, text)                                            \
    PROMPT_ROW(OWNER_F, #name, "input", text, prompt_call_unary, unary,        \
               function)
#define LOSS(name, function, text)                                             \
    PROMPT_ROW(OWNER_F, #name, "input, target", text, prompt_call_binary,      \
               binary, function)
#define ROW(name, parameters, text, function, which)                           \
    PROMPT_ROW(OWNER_F, name, parameters, text, function, number, which)

const struct prompt_builtin prompt_layer_table[] = {
    UNARY(relu, lab_relu, "0 for what is negative"),
    UNARY(gelu, lab_gelu, "x times the normal distribution of x"),
    UNARY(tanh, lab_tanh, "hyperbolic tangent"),
    UNARY(sigmoid, lab_sigmoid, "1 / (1 + exp(-x))"),
    LOSS(cross_entropy, lab_cross_entropy,
         "the mean loss of logits (N, C) for classes (N)"),
    LOSS(mse_loss, lab_mse_loss, "the mean of the squared differences"),
    ROW("softmax", "input, dim", "exp(x) / sum(exp(x)) along a dimension",
        prompt_call_dim, DIM_SOFTMAX),
    ROW("log_softmax", "input, dim", "the logarithm of softmax",
        prompt_call_dim, DIM_LOG_SOFTMAX),
    ROW("linear", "input, weight, bias=None", "input @ weight.t() + bias",
        call_linear, 0),
    ROW("layer_norm",
        "input, normalized_shape, weight=None, bias=None, eps=1e-05",
        "mean 0 and variance 1 over the last dimension", call_layer_norm, 0),
    ROW("embedding", "input, weight", "rows of weight by their numbers",
        call_embedding, 0),
    ROW("scaled_dot_product_attention", "query, key, value, is_causal=False",
        "softmax(q @ k.t() / sqrt(d)) @ v", call_attention, 0),
    ROW("conv2d", "input, weight, bias=None, stride=1, padding=0",
        "convolution of images (N, C, H, W)", call_conv2d, 0),
    ROW("max_pool2d", "input, kernel_size, stride=None",
        "the largest of each square", call_max_pool2d, 0),
    ROW("dropout", "input, p=0.5, training=True",
        "elements set to 0 with probability p", call_dropout, 0),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
