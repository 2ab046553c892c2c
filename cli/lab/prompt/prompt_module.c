#include "prompt_module.h"

#include <inttypes.h>
#include <stdlib.h>

#include "prompt_session.h"

typedef struct prompt_module module;

module *prompt_module_ref(module *m)
{
    m->refs++;
    return m;
}

void prompt_module_unref(module *m)
{
    if (m == NULL || --m->refs > 0)
        return;
    for (size_t i = 0; i < m->child_count; i++)
        prompt_module_unref(m->children[i]);
    lab_unref(m->weight);
    lab_unref(m->bias);
    free(m);
}

bool prompt_module_is_loss(const module *m)
{
    return m->kind == MODULE_CROSS_ENTROPY || m->kind == MODULE_MSE;
}

/* ---- forward --------------------------------------------------------------------- */

/* An input lives while the next layer runs, and no longer. */
static bool forward_children(struct prompt *p, module *m, lab_tensor *input,
                             lab_tensor **out)
{
    lab_tensor *now = lab_ref(input);

    for (size_t i = 0; i < m->child_count; i++) {
        lab_tensor *next = NULL;
        bool ok = prompt_module_forward(p, m->children[i], now, NULL, &next);

        lab_unref(now);
        if (!ok)
            return false;
        now = next;
    }
    *out = now;
    return true;
}

/* Flatten all dimensions from 1 on. */
static larder_result flatten(lab_tensor *x, lab_tensor **out)
{
    int64_t sizes[2] = {lab_ndim(x) > 0 ? lab_sizes(x)[0] : 1, 1};

    for (int i = 1; i < lab_ndim(x); i++)
        sizes[1] *= lab_sizes(x)[i];
    return lab_reshape(x, 2, sizes, out);
}

static larder_result forward_one(module *m, lab_tensor *x, lab_tensor *second,
                                 lab_tensor **out)
{
    int a = (int)m->numbers[0];
    int b = (int)m->numbers[1];

    switch (m->kind) {
    case MODULE_LINEAR:
        return lab_linear(x, m->weight, m->bias, out);
    case MODULE_RELU:
        return lab_relu(x, out);
    case MODULE_GELU:
        return lab_gelu(x, out);
    case MODULE_TANH:
        return lab_tanh(x, out);
    case MODULE_SIGMOID:
        return lab_sigmoid(x, out);
    case MODULE_SOFTMAX:
        return lab_softmax(x, a, out);
    case MODULE_DROPOUT:
        return lab_dropout(x, m->rate, m->training, out);
    case MODULE_FLATTEN:
        return flatten(x, out);
    case MODULE_LAYER_NORM:
        return lab_layer_norm(x, m->weight, m->bias, m->rate, out);
    case MODULE_EMBEDDING:
        return lab_embedding(m->weight, x, out);
    case MODULE_CONV2D:
        return lab_conv2d(x, m->weight, m->bias, a, b, out);
    case MODULE_MAX_POOL2D:
        return lab_max_pool2d(x, a, b, out);
    case MODULE_CROSS_ENTROPY:
        return lab_cross_entropy(x, second, out);
    case MODULE_MSE:
        return lab_mse_loss(x, second, out);
    case MODULE_SEQUENTIAL:
        break;
    }
    return LARDER_ERR_INVALID;
}

bool prompt_module_forward(struct prompt *p, module *m, lab_tensor *input,
                           lab_tensor *second, lab_tensor **out)
{
    if (prompt_module_is_loss(m) && second == NULL)
        return prompt_fail(p, "%s takes an input and a target", m->name);
    if (m->kind == MODULE_SEQUENTIAL)
        return forward_children(p, m, input, out);
    return prompt_check(p, forward_one(m, input, second, out));
}

/* ---- parameters -------------------------------------------------------------------- */

static bool add_parameter(struct prompt *p, lab_tensor *t,
                          struct prompt_object *list)
{
    if (t == NULL)
        return true;
    if (prompt_sequence_add(list, prompt_tensor(t))) {
        lab_ref(t);
        return true;
    }
    return prompt_fail_memory(p);
}

bool prompt_module_parameters(struct prompt *p, const module *m,
                              struct prompt_object *list)
{
    for (size_t i = 0; i < m->child_count; i++) {
        if (!prompt_module_parameters(p, m->children[i], list))
            return false;
    }
    return add_parameter(p, m->weight, list) && add_parameter(p, m->bias, list);
}

/* The new one is created before the old one is dropped. */
static larder_result move_parameter(lab_tensor **t, lab_place place)
{
    lab_tensor *moved, *leaf;
    larder_result r;

    if (*t == NULL || lab_place_of(*t) == place)
        return LARDER_OK;
    r = lab_to(*t, place, &moved);
    if (r != LARDER_OK)
        return r;
    r = lab_detach(moved, &leaf);
    lab_unref(moved);
    if (r != LARDER_OK)
        return r;
    r = lab_set_requires_grad(leaf, lab_requires_grad(*t));
    if (r != LARDER_OK) {
        lab_unref(leaf);
        return r;
    }
    lab_unref(*t);
    *t = leaf;
    return LARDER_OK;
}

bool prompt_module_to(struct prompt *p, module *m, lab_place place)
{
    bool was = lab_set_grad_enabled(p->lab, false);
    bool ok = true;

    for (size_t i = 0; ok && i < m->child_count; i++)
        ok = prompt_module_to(p, m->children[i], place);
    ok = ok && prompt_check(p, move_parameter(&m->weight, place)) &&
         prompt_check(p, move_parameter(&m->bias, place));
    lab_set_grad_enabled(p->lab, was);
    return ok;
}

void prompt_module_train(module *m, bool on)
{
    m->training = on;
    for (size_t i = 0; i < m->child_count; i++)
        prompt_module_train(m->children[i], on);
}

/* ---- writing ----------------------------------------------------------------------- */

static void write_numbers(const module *m, struct prompt_text *out)
{
    const int64_t *n = m->numbers;

    switch (m->kind) {
    case MODULE_LINEAR:
        prompt_text_put(
            out, "in_features=%" PRId64 ", out_features=%" PRId64 ", bias=%s",
            n[0], n[1], m->bias != NULL ? "True" : "False");
        break;
    case MODULE_SOFTMAX:
        prompt_text_put(out, "dim=%" PRId64, n[0]);
        break;
    case MODULE_DROPOUT:
        prompt_text_put(out, "p=%g", m->rate);
        break;
    case MODULE_LAYER_NORM:
        prompt_text_put(out, "(%" PRId64 ",), eps=%g", n[0], m->rate);
        break;
    case MODULE_EMBEDDING:
        prompt_text_put(out, "%" PRId64 ", %" PRId64, n[0], n[1]);
        break;
    case MODULE_CONV2D:
        prompt_text_put(out, "%" PRId64 ", %" PRId64, n[2], n[3]);
        prompt_text_put(out, ", stride=%" PRId64 ", padding=%" PRId64, n[0],
                        n[1]);
        break;
    case MODULE_MAX_POOL2D:
        prompt_text_put(out, "kernel_size=%" PRId64 ", stride=%" PRId64, n[0],
                        n[1]);
        break;
    default:
        break;
    }
}

void prompt_module_write(const module *m, int indent, struct prompt_text *out)
{
    prompt_text_put(out, "%s(", m->name);
    write_numbers(m, out);
    for (size_t i = 0; i < m->child_count && !out->full; i++) {
        prompt_text_put(out, "\n%*s(%zu): ", indent + 2, "", i);
        prompt_module_write(m->children[i], indent + 2, out);
    }
    if (m->child_count > 0)
        prompt_text_put(out, "\n%*s", indent, "");
    prompt_text_put(out, ")");
}
