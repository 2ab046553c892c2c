/* prompt_nn.c - torch.nn: creates modules, and their methods. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "prompt_function.h"
#include "prompt_module.h"

typedef struct prompt_value value;
typedef struct prompt_module module;

/* ---- making ------------------------------------------------------------------------ */

static module *new_module(struct prompt *p, enum prompt_module_kind kind,
                          const char *name)
{
    module *m = calloc(1, sizeof *m);

    if (m == NULL) {
        prompt_fail_memory(p);
        return NULL;
    }
    m->refs = 1;
    m->kind = kind;
    m->name = name;
    m->training = true;
    m->depth = 1;
    return m;
}

static bool done(module *m, bool ok, value *out)
{
    if (ok)
        *out = (value){.kind = VALUE_MODULE, .module = m};
    else
        prompt_module_unref(m);
    return ok;
}

/* Uniform from -bound to bound, on the host, as a leaf that requires a
 * gradient; without temporary tensors. */
static bool make_uniform(struct prompt *p, int ndim, const int64_t *sizes,
                         double bound, lab_tensor **out)
{
    lab_tensor *t;

    if (!prompt_check(p,
                      lab_rand(p->lab, LAB_FLOAT32, LAB_HOST, ndim, sizes, &t)))
        return false;
    if (prompt_check(p, lab_mul_scalar_inplace(t, 2 * bound)) &&
        prompt_check(p, lab_add_scalar_inplace(t, -bound)) &&
        prompt_check(p, lab_set_requires_grad(t, true))) {
        *out = t;
        return true;
    }
    lab_unref(t);
    return false;
}

static bool make_full(struct prompt *p, int64_t size, double number,
                      lab_tensor **out)
{
    lab_tensor *t;

    if (!prompt_check(
            p, lab_full(p->lab, LAB_FLOAT32, LAB_HOST, 1, &size, number, &t)))
        return false;
    if (prompt_check(p, lab_set_requires_grad(t, true))) {
        *out = t;
        return true;
    }
    lab_unref(t);
    return false;
}

/* A whole number of at least 1, or at least 0 if `low` is 0. */
static bool read_size(struct prompt *p, value v, const char *what, int64_t low,
                      int64_t *out)
{
    const int64_t max = (int64_t)1 << 31;

    if (!prompt_read_int(p, v, what, out))
        return false;
    if (*out < low || *out > max)
        return prompt_fail(p, "%s cannot be %" PRId64, what, *out);
    return true;
}

static bool small_enough(struct prompt *p, int64_t a, int64_t b)
{
    if (p->elements_max > 0 &&
        (a > p->elements_max || b > p->elements_max || a * b > p->elements_max))
        return prompt_fail(p, "a tensor of more than %lld elements",
                           (long long)p->elements_max);
    return true;
}

static PROMPT_FUNCTION(make_linear)
{
    int64_t in, features;
    bool bias;
    module *m;
    double bound;

    if (!read_size(p, args[0], "in_features", 1, &in) ||
        !read_size(p, args[1], "out_features", 1, &features) ||
        !prompt_read_bool(p, args[2], "bias", &bias) ||
        !small_enough(p, in, features))
        return false;
    m = new_module(p, MODULE_LINEAR, self->name);
    if (m == NULL)
        return false;
    bound = 1 / sqrt((double)in);
    m->numbers[0] = in;
    m->numbers[1] = features;
    return done(
        m,
        make_uniform(p, 2, (int64_t[]){features, in}, bound, &m->weight) &&
            (!bias || make_uniform(p, 1, &features, bound, &m->bias)),
        out);
}

static PROMPT_FUNCTION(make_plain)
{
    module *m =
        new_module(p, (enum prompt_module_kind)self->number, self->name);

    (void)args;
    return m != NULL && done(m, true, out);
}

static PROMPT_FUNCTION(make_softmax)
{
    module *m;
    int dim;

    if (!prompt_read_dim(p, args[0], &dim))
        return false;
    m = new_module(p, MODULE_SOFTMAX, self->name);
    if (m == NULL)
        return false;
    m->numbers[0] = dim;
    return done(m, true, out);
}

static PROMPT_FUNCTION(make_dropout)
{
    module *m;
    double rate;

    if (!prompt_read_number(p, args[0], "p", &rate))
        return false;
    m = new_module(p, MODULE_DROPOUT, self->name);
    if (m == NULL)
        return false;
    m->rate = rate;
    return done(m, true, out);
}

static PROMPT_FUNCTION(make_layer_norm)
{
    int64_t size;
    double eps;
    module *m;

    if (!read_size(p, args[0], "normalized_shape", 1, &size) ||
        !prompt_read_number(p, args[1], "eps", &eps) ||
        !small_enough(p, size, 1))
        return false;
    m = new_module(p, MODULE_LAYER_NORM, self->name);
    if (m == NULL)
        return false;
    m->numbers[0] = size;
    m->rate = eps;
    return done(
        m, make_full(p, size, 1, &m->weight) && make_full(p, size, 0, &m->bias),
        out);
}

static PROMPT_FUNCTION(make_embedding)
{
    int64_t sizes[2];
    module *m;

    if (!read_size(p, args[0], "num_embeddings", 1, &sizes[0]) ||
        !read_size(p, args[1], "embedding_dim", 1, &sizes[1]) ||
        !small_enough(p, sizes[0], sizes[1]))
        return false;
    m = new_module(p, MODULE_EMBEDDING, self->name);
    if (m == NULL)
        return false;
    m->numbers[0] = sizes[0];
    m->numbers[1] = sizes[1];
    return done(m,
                prompt_check(p, lab_randn(p->lab, LAB_FLOAT32, LAB_HOST, 2,
                                          sizes, &m->weight)) &&
                    prompt_check(p, lab_set_requires_grad(m->weight, true)),
                out);
}

static PROMPT_FUNCTION(make_conv2d)
{
    int64_t in, channels, kernel, stride, padding;
    double bound;
    module *m;

    if (!read_size(p, args[0], "in_channels", 1, &in) ||
        !read_size(p, args[1], "out_channels", 1, &channels) ||
        !read_size(p, args[2], "kernel_size", 1, &kernel) ||
        !read_size(p, args[3], "stride", 1, &stride) ||
        !read_size(p, args[4], "padding", 0, &padding) ||
        !small_enough(p, in, channels) || !small_enough(p, kernel, kernel) ||
        !small_enough(p, stride, padding))
        return false;
    m = new_module(p, MODULE_CONV2D, self->name);
    if (m == NULL)
        return false;
    bound = 1 / sqrt((double)in * (double)kernel * (double)kernel);
    m->numbers[0] = stride;
    m->numbers[1] = padding;
    m->numbers[2] = in;
    m->numbers[3] = channels;
    return done(m,
                make_uniform(p, 4, (int64_t[]){channels, in, kernel, kernel},
                             bound, &m->weight) &&
                    make_uniform(p, 1, &channels, bound, &m->bias),
                out);
}

static PROMPT_FUNCTION(make_max_pool2d)
{
    int64_t kernel, stride;
    module *m;

    if (!read_size(p, args[0], "kernel_size", 1, &kernel) ||
        !read_size(p, args[1].kind == VALUE_NONE ? args[0] : args[1], "stride",
                   1, &stride))
        return false;
    m = new_module(p, MODULE_MAX_POOL2D, self->name);
    if (m == NULL)
        return false;
    m->numbers[0] = kernel;
    m->numbers[1] = stride;
    return done(m, true, out);
}

static bool add_child(struct prompt *p, module *m, value child)
{
    if (child.kind != VALUE_MODULE)
        return prompt_fail(p, "Sequential takes modules, not %s",
                           prompt_value_what(child));
    if (m->child_count == MODULE_CHILDREN_MAX)
        return prompt_fail(p, "Sequential takes at most %d modules",
                           MODULE_CHILDREN_MAX);
    if (child.module->depth == MODULE_DEPTH_MAX)
        return prompt_fail(p, "modules within modules end at %d",
                           MODULE_DEPTH_MAX);
    m->children[m->child_count++] = prompt_module_ref(child.module);
    if (child.module->depth + 1 > m->depth)
        m->depth = child.module->depth + 1;
    return true;
}

static PROMPT_FUNCTION(make_sequential)
{
    module *m = new_module(p, MODULE_SEQUENTIAL, self->name);
    bool ok = m != NULL;

    for (size_t i = 0; ok && i < args[0].object->count; i++)
        ok = add_child(p, m, args[0].object->items[i]);
    return m != NULL && done(m, ok, out);
}

/* ---- methods ---------------------------------------------------------------------- */

static PROMPT_FUNCTION(module_to)
{
    lab_place place = (lab_place)self->number;

    if (args[1].kind != VALUE_NONE && !prompt_read_place(p, args[1], &place))
        return false;
    if (!prompt_module_to(p, args[0].module, place))
        return false;
    *out = prompt_value_ref(args[0]);
    return true;
}

static PROMPT_FUNCTION(module_place)
{
    value with[2] = {args[0], prompt_none()};

    return module_to(p, self, with, out);
}

static PROMPT_FUNCTION(module_parameters)
{
    value list;

    (void)self;
    if (!prompt_sequence(VALUE_LIST, &list))
        return prompt_fail_memory(p);
    if (!prompt_module_parameters(p, args[0].module, list.object)) {
        prompt_value_drop(&list);
        return false;
    }
    *out = list;
    return true;
}

static PROMPT_FUNCTION(module_zero_grad)
{
    value list = prompt_none();
    bool ok = module_parameters(p, self, args, &list);

    (void)out;
    for (size_t i = 0; ok && i < list.object->count; i++)
        ok = prompt_check(p, lab_set_grad(list.object->items[i].tensor, NULL));
    prompt_value_drop(&list);
    return ok;
}

static PROMPT_FUNCTION(module_train)
{
    (void)p;
    prompt_module_train(args[0].module, self->number != 0);
    *out = prompt_value_ref(args[0]);
    return true;
}

static PROMPT_FUNCTION(module_weight)
{
    module *m = args[0].module;
    lab_tensor *t = self->number == 0 ? m->weight : m->bias;

    (void)p;
    if (t != NULL)
        *out = prompt_tensor(lab_ref(t));
    return true;
}

static PROMPT_FUNCTION(module_child)
{
    module *m = args[0].module;
    int64_t count = (int64_t)m->child_count;
    int64_t i;

    (void)self;
    if (!prompt_read_int(p, args[1], "an index", &i))
        return false;
    if (i < -count || i >= count)
        return prompt_fail(p, "there is no module %" PRId64 " of %" PRId64, i,
                           count);
    m = m->children[i < 0 ? i + count : i];
    *out = (value){.kind = VALUE_MODULE, .module = prompt_module_ref(m)};
    return true;
}

#define NN(name, parameters, text, function, which)                            \
    PROMPT_ROW(OWNER_NN, name, parameters, text, function, number, which)
#define METHOD(name, parameters, text, function, which)                        \
    PROMPT_ROW(OWNER_MODULE, name, parameters, text, function, number, which)

const struct prompt_builtin prompt_module_table[] = {
    NN("Linear", "in_features, out_features, bias=True",
       "x @ weight.t() + bias", make_linear, 0),
    NN("ReLU", "", "0 for what is negative", make_plain, MODULE_RELU),
    NN("GELU", "", "x times the normal distribution of x", make_plain,
       MODULE_GELU),
    NN("Tanh", "", "hyperbolic tangent", make_plain, MODULE_TANH),
    NN("Sigmoid", "", "1 / (1 + exp(-x))", make_plain, MODULE_SIGMOID),
    NN("Softmax", "dim", "exp(x) / sum(exp(x)) along a dimension", make_softmax,
       0),
    NN("Dropout", "p=0.5", "elements set to 0 while training", make_dropout, 0),
    NN("Flatten", "", "all dimensions but the first made one", make_plain,
       MODULE_FLATTEN),
    NN("LayerNorm", "normalized_shape, eps=1e-05",
       "mean 0 and variance 1 over the last dimension", make_layer_norm, 0),
    NN("Embedding", "num_embeddings, embedding_dim",
       "rows of a table by their numbers", make_embedding, 0),
    NN("Conv2d", "in_channels, out_channels, kernel_size, stride=1, padding=0",
       "convolution of images (N, C, H, W)", make_conv2d, 0),
    NN("MaxPool2d", "kernel_size, stride=None", "the largest of each square",
       make_max_pool2d, 0),
    NN("Sequential", "*modules", "modules one after the other", make_sequential,
       0),
    NN("CrossEntropyLoss", "", "of logits (N, C) and classes (N)", make_plain,
       MODULE_CROSS_ENTROPY),
    NN("MSELoss", "", "the mean of the squared differences", make_plain,
       MODULE_MSE),
    METHOD("to", "self, device=None", "move the parameters", module_to,
           LAB_HOST),
    METHOD("cuda", "self", "move the parameters to the device", module_place,
           LAB_DEVICE),
    METHOD("cpu", "self", "move the parameters to the host", module_place,
           LAB_HOST),
    METHOD("parameters", "self", "a list of the parameters", module_parameters,
           0),
    METHOD("zero_grad", "self", "drop the parameters' gradients",
           module_zero_grad, 0),
    METHOD("train", "self", "for training: dropout drops", module_train, 1),
    METHOD("eval", "self", "for use: dropout does not drop", module_train, 0),
    METHOD("__getitem__", "self, index", "m[i]: a module of a Sequential",
           module_child, 0),
    {OWNER_MODULE, "weight", NULL, "its weight", module_weight, {.number = 0}},
    {OWNER_MODULE,
     "bias",
     NULL,
     "its bias, or None",
     module_weight,
     {.number = 1}},
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
